"""`kraftwire capture decode` of packet captures."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kraftwire.capture.cassette import CassetteReader
from kraftwire_wire.framing import add_size

from codec_tests.capture.commands import capture_decode, rows_of
from codec_tests.capture.packets import Talk, pcap
from codec_tests.capture.sample_frames import CAPTURE, metadata_request, metadata_response

Write = Callable[[bytes], Path]


def exchange(count: int = 2) -> Talk:
    talk = Talk().open()
    for number in range(1, count + 1):
        talk.say(0, add_size(metadata_request(number).data))
        talk.say(1, add_size(metadata_response(number).data))
    return talk


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_file(data: bytes) -> Path:
        path = tmp_path / "lo.pcap"
        path.write_bytes(data)
        return path

    return write_file


def test_frames_have_times_and_addresses(write: Write) -> None:
    result = capture_decode(write(pcap(exchange().timed())))
    assert result.exit_code == 0, result.stderr
    first, second, *_ = rows_of(result)
    expected = {
        "time": 0.03,
        "timestamp": "2026-09-21T14:13:20.030000Z",
        "source": "10.0.0.1:50000",
        "destination": "10.0.0.2:9092",
        "packet": 4,
        "offset": 0,
        "api": "Metadata",
    }
    assert first | expected == first
    assert (second["source"], second["answers"]) == ("10.0.0.2:9092", 1)
    assert "7 packets, 1 TCP connection with data, 1 of Kafka" in result.stderr


def test_a_capture_is_read_through_a_pipe() -> None:
    result = capture_decode("-", "-o", "table", stdin=pcap(exchange().timed()))
    assert result.exit_code == 0
    assert len(result.stdout.splitlines()) == 5


def test_missing_packets_are_a_finding_with_their_position(write: Write) -> None:
    timed = exchange(4).timed()
    result = capture_decode(write(pcap(timed[:5] + timed[6:])))
    assert result.exit_code == 1
    assert len(rows_of(result)) == 7
    place = "first: packet 6, 10.0.0.1:50000 to 10.0.0.2:9092, byte 25"
    assert f"lost: bytes that are not in the capture: 1 place, 25 bytes; {place}" in result.stderr


def test_a_truncated_file_is_a_finding(write: Write) -> None:
    path = write(pcap(exchange().timed())[:-3])
    result = capture_decode(path)
    assert result.exit_code == 1
    assert len(rows_of(result)) == 3
    assert f"{path}: packet 7: " in result.stderr


def test_a_capture_without_kafka_is_a_finding(write: Write) -> None:
    result = capture_decode(write(pcap(Talk().open().say(0, b"\x16\x03\x01\x00\x05hello").timed())))
    assert result.exit_code == 1
    assert "TLS, which cannot be read: 1 connection, 10 bytes" in result.stderr
    assert "no Kafka connection was found" in result.stderr


def test_decoded_frames_can_be_saved_as_a_cassette(write: Write, tmp_path: Path) -> None:
    saved = tmp_path / "session.jsonl"
    path = write(pcap(exchange().timed()))
    assert capture_decode(path, "--save", saved).exit_code == 0
    with saved.open("rb") as stream:
        frames = list(CassetteReader(stream, "saved"))
    assert [frame.data for frame in frames[::2]] == [metadata_request(n).data for n in (1, 2)]
    again = capture_decode(path, "--save", saved)
    assert (again.exit_code, again.stdout) == (2, "")
    assert f"{saved}: File exists" in again.stderr


def test_filters_work_on_cassettes() -> None:
    found = rows_of(capture_decode(CAPTURE, "--client-id", "rdkafka", "--api", "Metadata"))
    assert found
    assert {row["clientId"] for row in found if row["direction"] == "request"} == {"rdkafka"}
    assert {row["direction"] for row in found} == {"request", "response"}
    assert rows_of(capture_decode(CAPTURE, "--topic", "no such topic")) == []


def test_gzip_is_named_with_a_remedy(write: Write) -> None:
    result = capture_decode(write(b"\x1f\x8b\x08\x00"))
    assert result.exit_code == 2
    assert "| kraftwire capture decode -" in result.stderr


@pytest.mark.parametrize("data", [b"", b"\xd4\xc3\xb2\xa1\x02", b"\n\r\r\n" + bytes(40)])
def test_other_files_are_refused(write: Write, data: bytes) -> None:
    result = capture_decode(write(data))
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Traceback" not in result.stderr


def test_a_directory_is_refused(tmp_path: Path) -> None:
    result = capture_decode(tmp_path)
    assert result.exit_code == 2
    assert "is a directory" in result.stderr


def test_help_does_not_need_the_library() -> None:
    code = "import sys; from kraftwire.cli import main; main(['capture', 'decode', '--help'], "
    code += "standalone_mode=False); sys.exit('pcapy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


@pytest.mark.parametrize(
    ("data", "said"),
    [(b"", "is empty"), (b"\x00\x04\x00\x01", "neither a packet capture"), (b"hi", "neither")],
)
def test_a_file_of_another_format_is_not_called_bad_json(
    write: Write, data: bytes, said: str
) -> None:
    result = capture_decode(write(data))
    assert result.exit_code == 2
    assert said in result.stderr
    assert "JSON" not in result.stderr


def test_one_frame_is_counted_in_the_singular(write: Write) -> None:
    result = capture_decode(write(pcap(exchange(1).timed())))
    assert "2 frames of 1 connection: 1 request, 1 response\n" in result.stderr
    assert "1 API, 1 version of them\n" in result.stderr
