"""`kraftwire capture replay`, as a process that is interrupted."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from kraftwire.capture.cassette import CassetteHeader, write_cassette
from kraftwire.cli import main
from kraftwire_messages.kafka import DeleteTopicsRequest, JoinGroupRequest

from codec_tests.capture.replaying import Pair, cassette, metadata
from codec_tests.interop.kafka_connection import Connection

ASKED, ANSWERED, VERSION = metadata("tea")


def write(path: Path, *pairs: Pair) -> Path:
    with path.open("wb") as stream:
        write_cassette(stream, CassetteHeader("a test", "4.4.0"), cassette(*pairs))
    return path


@contextmanager
def running(*args: object) -> Iterator[subprocess.Popen[str]]:
    code = "from kraftwire.cli import main; main()"
    command = [sys.executable, "-c", code, "capture", "replay", *map(str, args)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def line(process: subprocess.Popen[str]) -> Any:
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


def port_of(process: subprocess.Popen[str]) -> int:
    return int(line(process)["bootstrap"].rpartition(":")[2])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_it_is_interrupted(tmp_path: Path, number: signal.Signals) -> None:
    with running(write(tmp_path / "session.jsonl", (ASKED, ANSWERED, VERSION))) as process:
        with Connection(port_of(process)) as connection:
            assert connection.ask(ASKED, VERSION).topics[0].name == "tea"
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (0, "")
    assert err.splitlines() == ["1 request answered, 0 not recorded"]


def test_an_unrecorded_request_is_a_finding(tmp_path: Path) -> None:
    recorded = DeleteTopicsRequest(topic_names=["b\x1b[2J"]), None, 5
    path = write(tmp_path / "session.jsonl", (ASKED, ANSWERED, VERSION), recorded)
    with running(path) as process:
        with Connection(port_of(process)) as connection, pytest.raises(ConnectionError):
            connection.ask(DeleteTopicsRequest(topic_names=["a"]), 5)
        miss = line(process)["miss"]
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
    assert process.returncode == 1
    assert (miss["api"], miss["version"], miss["nearest"]) == ("DeleteTopics", 5, 3)
    (found,) = miss["differences"]
    assert (found["path"], found["actual"]) == ("topic_names[0]", "'a'")
    assert "\x1b" not in found["expected"]
    assert err.splitlines() == [
        "0 requests answered, 1 not recorded",
        "recorded but not requested: 1 DeleteTopics, 1 Metadata",
    ]


def test_it_serves_even_if_nobody_reads_its_findings(tmp_path: Path) -> None:
    path = write(tmp_path / "session.jsonl", (ASKED, ANSWERED, VERSION))
    with running(path, "--on-miss", "error") as process:
        port = port_of(process)
        assert process.stdout is not None
        process.stdout.close()
        with Connection(port) as connection:
            for topic in ("a", "b"):
                join = JoinGroupRequest(group_id=topic)
                assert connection.ask(join, 9).error_code == -1
            assert connection.ask(ASKED, VERSION).topics[0].name == "tea"
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert process.stderr.readline() == "1 request answered, 2 not recorded\n"
        assert process.stderr.read() == ""
        assert process.wait(timeout=20) == 141


def test_findings_are_printed_as_a_table(tmp_path: Path) -> None:
    path = write(tmp_path / "session.jsonl", (ASKED, ANSWERED, VERSION))
    with running(path, "-o", "table") as process:
        assert process.stdout is not None
        text = process.stdout.readline()
        assert text.startswith("bootstrap.servers=127.0.0.1:")
        port = int(text.rpartition(":")[2])
        with Connection(port) as connection, pytest.raises(ConnectionError):
            connection.ask(DeleteTopicsRequest(topic_names=["a"]), 5)
        assert process.stdout.readline() == (
            "not recorded: DeleteTopics version 5: the cassette has no such request\n"
        )


def run(*args: object) -> Any:
    return CliRunner().invoke(main, ["capture", "replay", *map(str, args)])


def test_unusable_cassettes_and_options_are_refused(tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.write_bytes(b"")
    nothing = write(tmp_path / "nothing.jsonl")
    good = write(tmp_path / "good.jsonl", (ASKED, ANSWERED, VERSION))
    for args, reason in (
        ((tmp_path,), "is a directory"),
        ((tmp_path / "absent",), "does not exist"),
        ((empty,), "is empty"),
        ((nothing,), "has no response that can be replayed"),
        ((good, "--listen", "nowhere"), "is not an address"),
        ((good, "--listen", "a..b:1"), "'a..b' is not a host name"),
        ((good, "--listen", "nohost.invalid:1"), "--listen nohost.invalid:1: "),
        ((good, "--ignore", "topics"), "is not Message.path"),
        ((good, "--on-miss", "cry"), "is not one of"),
    ):
        result = run(*args)
        assert result.exit_code == 2, args
        assert reason in result.stderr
        assert result.stdout == ""


def test_the_help_has_examples_and_short_lines() -> None:
    text = run("--help").stdout
    assert "Examples:" in text
