"""`capture proxy` as a person runs it, in a process of its own; and the file it writes."""

from __future__ import annotations

import json
import resource
import signal
import socket
import ssl
import subprocess
import sys
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from kraftwire.capture.cassette import (
    CassetteError,
    CassetteHeader,
    CassetteReader,
    frame_line,
)
from kraftwire.capture.cassette_file import CassetteExists, CassetteFile, CassetteInUse
from kraftwire.capture.frame import Frame
from kraftwire_messages.kafka import ApiVersionsRequest, ApiVersionsResponse, registry
from kraftwire_wire.framing import add_size

from codec_tests.cli.running import run
from codec_tests.net.certificates import Authority

HOST = "127.0.0.1"
COMMAND = [sys.executable, "-c", "from kraftwire.cli import main; main()", "capture", "proxy"]
HEADER = CassetteHeader("a test", "4.4.0")
SECONDS = 20


@pytest.fixture
def broker() -> Iterator[int]:
    """The port of a broker that knows ApiVersions version 0."""
    with socket.create_server((HOST, 0)) as listener:
        threading.Thread(target=_serve, args=(listener,), daemon=True).start()
        yield listener.getsockname()[1]


def _serve(listener: socket.socket) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except ssl.SSLError:
            continue
        except OSError:
            return
        with connection, suppress(OSError), connection.makefile("rb") as stream:
            while size := stream.read(4):
                header, _ = registry.decode_request_header(stream.read(int.from_bytes(size)))
                answer = registry.encode_response(header, ApiVersionsResponse())
                connection.sendall(add_size(answer))


class Running:
    """A proxy in a process, ready for clients."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert process.stdout is not None
        self.first_line = process.stdout.readline()

    def ask(self, count: int = 1) -> None:
        """Ask through the proxy, over a connection of its own, until it has none any more."""
        port = int(json.loads(self.first_line)["bootstrap"].rpartition(":")[2])
        connection = socket.create_connection((HOST, port), SECONDS)
        with connection, suppress(ConnectionError):
            for number in range(count):
                request = ApiVersionsRequest()
                header = registry.request_header(request, 0, correlation_id=number)
                connection.sendall(add_size(registry.encode_request(header, request)))
                size = connection.recv(4, socket.MSG_WAITALL)
                if len(size) < 4:
                    return
                connection.recv(int.from_bytes(size), socket.MSG_WAITALL)

    def end(self, number: int = signal.SIGINT) -> tuple[int, str]:
        """Interrupt it; the exit code and standard error."""
        self.process.send_signal(number)
        return self.wait()

    def wait(self) -> tuple[int, str]:
        _, errors = self.process.communicate(timeout=SECONDS)
        return self.process.returncode, errors


@contextmanager
def running(
    broker: int, out: Path, *options: str, prepare: Callable[[], None] | None = None
) -> Iterator[Running]:
    command = [*COMMAND, "--upstream", f"{HOST}:{broker}", "--out", str(out), *options]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=prepare,
    )
    try:
        yield Running(process)
    finally:
        process.kill()
        process.communicate()


def frames_of(path: Path) -> list[Frame]:
    with path.open("rb") as stream:
        return list(CassetteReader(stream, str(path)))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_proxy_with_every_frame_in_the_file(
    broker: int, tmp_path: Path, number: int
) -> None:
    out = tmp_path / "session.jsonl"
    with running(broker, out) as proxy:
        proxy.ask(3)
        proxy.ask(2)
        code, errors = proxy.end(number)
    assert code == 0, errors
    assert "10 frames of 2 connections" in errors
    frames = frames_of(out)
    assert [frame.connection for frame in frames] == [1] * 6 + [2] * 4
    assert {frame.broker for frame in frames} == {f"{HOST}:{broker}"}
    decoded = run("capture", "decode", str(out))
    assert decoded.exit_code == 0, decoded.stderr


@pytest.mark.slow
def test_the_proxy_appends_to_a_cassette_on_request(broker: int, tmp_path: Path) -> None:
    out = tmp_path / "session.jsonl"
    for options in ((), ("--append",)):
        with running(broker, out, *options) as proxy:
            proxy.ask()
            assert proxy.end()[0] == 0
    frames = frames_of(out)
    assert [frame.connection for frame in frames] == [1, 1, 2, 2]
    times = [frame.time for frame in frames]
    assert times == sorted(times)
    with running(broker, out) as proxy:
        code, errors = proxy.wait()
    assert code == 2
    assert "exists: --append adds to it, --force replaces it" in errors
    with running(broker, out, "--force") as proxy:
        proxy.ask()
        assert proxy.end()[0] == 0
    assert len(frames_of(out)) == 2


def test_client_settings_make_the_proxy_use_tls(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(authority.issue("broker"))
    config, out = tmp_path / "client.properties", tmp_path / "session.jsonl"
    config.write_text(f"security.protocol=SSL\nssl.truststore.location={authority.file}\n")
    with (
        socket.create_server((HOST, 0)) as plain,
        context.wrap_socket(plain, server_side=True) as listener,
    ):
        port: int = listener.getsockname()[1]
        threading.Thread(target=_serve, args=(listener,), daemon=True).start()
        with running(port, out, "--upstream-config", str(config)) as proxy:
            proxy.ask()
            code, errors = proxy.end()
    assert code == 0, errors
    assert len(frames_of(out)) == 2


def test_unusable_settings_are_named(tmp_path: Path) -> None:
    config = tmp_path / "client.properties"
    config.write_text("security.protocol=SECRET\n")
    options = ("--upstream", "b:1", "--out", str(tmp_path / "x"), "--upstream-config", str(config))
    result = run("capture", "proxy", *options)
    assert result.exit_code == 2
    assert "security.protocol: 'SECRET' is not one of PLAINTEXT" in result.stderr


def test_risky_settings_cause_a_warning(broker: int, tmp_path: Path) -> None:
    options = ("--no-redact", "--listen", "0.0.0.0:0")
    with running(broker, tmp_path / "session.jsonl", *options) as proxy:
        proxy.ask()
        code, errors = proxy.end()
    assert code == 0, errors
    assert "warning: secrets are recorded (--no-redact)" in errors
    assert "warning: 0.0.0.0 is not loopback" in errors


def test_standard_output_may_be_the_cassette(broker: int, tmp_path: Path) -> None:
    with running(broker, Path("-")) as proxy:
        assert json.loads(proxy.first_line)["format"] == "kraftwire-cassette"
        assert proxy.process.stderr is not None
        port = int(proxy.process.stderr.readline().partition(" ")[0].rpartition(":")[2])
        proxy.first_line = json.dumps({"bootstrap": f"{HOST}:{port}"})
        proxy.ask()
        assert proxy.process.stdout is not None
        line = proxy.process.stdout.readline()
        assert json.loads(line)["direction"] == "request"
        proxy.process.stdout.close()
        proxy.ask(2)
        assert proxy.process.wait(SECONDS) == 141


def test_a_full_disk_ends_the_proxy_and_leaves_a_cassette(broker: int, tmp_path: Path) -> None:
    out = tmp_path / "session.jsonl"
    limit = 2000

    def bound() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    with running(broker, out, prepare=bound) as proxy:
        proxy.ask(100)
        code, errors = proxy.wait()
    assert code == 2
    assert "File too large; the recording ended there" in errors
    assert 5 < len(frames_of(out)) < 20
    assert out.read_bytes().endswith(b"\n")


def test_problems_are_printed_immediately_and_are_findings(tmp_path: Path) -> None:
    with socket.create_server((HOST, 0)) as listener:
        port: int = listener.getsockname()[1]
    with running(port, tmp_path / "session.jsonl") as proxy:
        proxy.ask()
        code, errors = proxy.end()
    assert code == 1
    assert f"{HOST}:{port}: no connection: " in errors


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ((), "Missing option '--upstream'"),
        (("--upstream", "nowhere", "--out", "x"), "is not an address: write host:port"),
        (("--upstream", ":9092", "--out", "x"), "has no host"),
        (("--upstream", "b:9092"), "Missing option '--out'"),
        (("--upstream", "b:1", "--out", "x", "--ports", "9-5"), "write FROM-TO"),
        (("--upstream", "b:1", "--out", "x", "--append", "--force"), "exclude each other"),
        (("--upstream", "b:1", "--out", "-", "--append"), "needs a file"),
        (("--upstream", "b:1", "--out", "."), "is a directory"),
        (("--upstream", "b:1", "--out", "x", "--listen", "nohost.invalid:0"), "nohost.invalid:0: "),
        (("--upstream", "b:1", "--out", "x", "--listen", "a..b:0"), "is not a host name"),
        (("--upstream", f"{'b' * 300}:1", "--out", "x"), "is not a host name"),
        (("--upstream", "b:1", "--out", "x", "--upstream-config", "nowhere"), "No such file"),
    ],
)
def test_impossible_requests_are_errors_and_create_no_file(
    options: tuple[str, ...], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("capture", "proxy", *options)
    assert result.exit_code == 2
    assert told in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_port_in_use_replaces_no_file(tmp_path: Path) -> None:
    out = tmp_path / "session.jsonl"
    out.write_text("precious")
    with socket.create_server((HOST, 0)) as listener:
        where = f"{HOST}:{listener.getsockname()[1]}"
        options = ("--upstream", "b:1", "--out", str(out), "--force", "--listen", where)
        result = run("capture", "proxy", *options)
    assert result.exit_code == 2
    assert "address already in use" in result.stderr.lower()
    assert out.read_text() == "precious"


# -- the file ------------------------------------------------------------------------------


def test_appended_frames_follow_the_existing_ones(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    frame = Frame(3, "request", 1.5, b"ab", broker="b:1", redacted=("x",))
    with CassetteFile.create(path, HEADER) as file:
        file.write(frame)
    with CassetteFile.append(path) as file:
        file.write(frame)
        assert file.count == 1
    later = Frame(6, "request", 3.0, b"ab", broker="b:1", redacted=("x",))
    assert frames_of(path) == [frame, later]


@pytest.mark.parametrize("data", [b"", b"a", bytes(range(256))])
@pytest.mark.parametrize("known", [{}, {"broker": 'b"\\:1'}, {"redacted": ("x", "y[0].\u00e9")}])
def test_a_line_is_json_of_the_format(data: bytes, known: dict[str, Any]) -> None:
    line = frame_line(Frame(1, "request", 0.25, data, **known))
    assert line.endswith(b"}\n")
    assert json.loads(line) == {
        "connection": 1,
        "direction": "request",
        "time": 0.25,
        "frame": b64encode(data).decode(),
    } | {key: list(value) if isinstance(value, tuple) else value for key, value in known.items()}


@pytest.mark.parametrize("torn", [b"", b'{"connection": 1, "dir', b"no cassette\n"])
def test_nothing_is_appended_to_another_file(tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "c.jsonl"
    with CassetteFile.create(path, HEADER) as file:
        file.write(Frame(1, "request", 0.0, b"ab"))
    before = path.read_bytes() + torn if torn else b""
    path.write_bytes(before)
    with pytest.raises(CassetteError):
        CassetteFile.append(path)
    assert path.read_bytes() == before


def test_an_existing_file_is_replaced_only_on_request(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_bytes(b"precious")
    with pytest.raises(CassetteExists):
        CassetteFile.create(path, HEADER)
    assert path.read_bytes() == b"precious"


@pytest.mark.parametrize("wrong", ['"broker": 5', '"redacted": "x"', '"redacted": [1]'])
def test_optional_keys_of_a_wrong_type_are_refused(tmp_path: Path, wrong: str) -> None:
    path = tmp_path / "c.jsonl"
    with CassetteFile.create(path, HEADER) as file:
        file.write(Frame(1, "request", 0.0, b"ab"))
    path.write_text(path.read_text().replace('"time"', f'{wrong}, "time"'))
    with pytest.raises(CassetteError, match=wrong[1:7]):
        frames_of(path)


def test_two_proxies_cannot_write_to_one_cassette(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    with CassetteFile.create(path, HEADER) as file:
        before = path.read_bytes()
        in_use = "is being written by another process"
        with pytest.raises(CassetteInUse, match=in_use):
            CassetteFile.append(path)
        with pytest.raises(CassetteInUse, match=in_use):
            CassetteFile.create(path, HEADER, force=True)
        assert path.read_bytes() == before
        file.write(Frame(1, "request", 0.5, b"frame"))
    with CassetteFile.append(path) as file:
        assert file.count == 0
    assert len(frames_of(path)) == 1
