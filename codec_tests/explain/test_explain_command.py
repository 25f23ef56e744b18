"""The command `explain`, as people call it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kraftwire.log import Record
from kraftwire.log.batches.compression import Compression
from kraftwire.log.batches.encoding import BatchSettings, encode_batch
from kraftwire_messages.kafka import registry

from codec_tests.cli.running import done, run
from codec_tests.stored_files import BROKER, batches_of, segment_of

COMMAND = [sys.executable, "-c", "from kraftwire.cli import main; main()"]


def _request() -> bytes:
    cls: Any = registry.message("VoteRequest")
    message = cls(cluster_id="tea")
    header = registry.request_header(message, 0, correlation_id=7, client_id="me")
    return registry.encode_request(header, message)


def _lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def _framed(data: bytes) -> bytes:
    return len(data).to_bytes(4) + data


@pytest.mark.parametrize("form", ["hex", "binary"])
def test_a_request_is_read_in_any_form(form: str) -> None:
    data = _request()
    stdin = data.hex() if form == "hex" else data
    rows = _lines(done("explain", "--request", "-", "--input", form, stdin=stdin).stdout)
    assert "".join(row.get("hex", "") for row in rows) == data.hex()
    assert [row["type"] for row in rows if row["part"] == "message"] == [
        "RequestHeader",
        "VoteRequest",
    ]
    (key,) = (row for row in rows if row["path"] == "request_api_key")
    assert (key["value"], key["name"]) == (52, "Vote")


def test_several_requests_with_length_prefixes_are_read() -> None:
    data = _framed(_request()) * 3
    rows = _lines(done("explain", "--request", "-", stdin=data).stdout)
    assert "".join(row.get("hex", "") for row in rows) == data.hex()
    assert [row["value"] for row in rows if row["path"] == "frame_size"] == [len(_request())] * 3


def test_an_error_is_on_both_streams_and_the_exit_code_is_1() -> None:
    data = _request()[:-3]
    result = run("explain", "--request", "-", stdin=data)
    assert result.exit_code == 1
    last = _lines(result.stdout)[-1]
    assert last["part"] == "error"
    assert f"(at byte {last['at']})" in result.stderr
    decoded = run("decode", "--request", "-", stdin=data)
    assert decoded.exit_code == 1
    assert f"(at byte {last['at']})" in decoded.stderr


def test_errors_count_from_the_start_of_the_input() -> None:
    data = _framed(_request()[:-3])
    result = run("explain", "--request", "-", "--prefix", stdin=data)
    bare = run("explain", "--request", "-", stdin=data[4:])
    assert _lines(result.stdout)[-1]["at"] == _lines(bare.stdout)[-1]["at"] + 4


def test_a_response_and_a_message_are_explained() -> None:
    response: Any = registry.message("VoteResponse")()
    header = registry.request_header(response, 1, correlation_id=7)
    data = registry.encode_response(header, response)
    rows = _lines(done("explain", "--response", "-", "--name", "52", "--version", "1",
                       stdin=data.hex()).stdout)  # fmt: skip
    assert rows[-1]["end"] == len(data)
    bare = response.encode(1)
    rows = _lines(done("explain", "--message", "vote_response", "--version", "1", "-",
                       stdin=bare.hex()).stdout)  # fmt: skip
    assert rows[-1]["end"] == len(bare)


def test_records_of_coordinators_and_of_metadata_are_explained(tmp_path: Path) -> None:
    value = bytes.fromhex("0117000000")[:4]
    rows = _lines(done("explain", "--record", "cluster-metadata", "-", stdin=value.hex()).stdout)
    assert "BeginTransactionRecord" in [row["type"] for row in rows]
    key = tmp_path / "key"
    key.write_text("0002 0003 746561")
    rows = _lines(done("explain", "--record", "group", "--key", str(key)).stdout)
    assert [(row["path"], row["value"]) for row in rows if "hex" in row] == [
        ("key.record_id", 2),
        ("key.group", 3),
        ("key.group", "tea"),
    ]


def test_a_batch_with_a_wrong_crc_is_a_finding() -> None:
    data = bytearray(batches_of(segment_of("codec-none"))[0].data)
    data[43] ^= 1
    result = run("explain", "--batch", "-", "--input", "binary", stdin=bytes(data))
    assert result.exit_code == 1
    (crc,) = (row for row in _lines(result.stdout) if row["path"].endswith(".crc"))
    assert (crc["start"], crc["end"], crc["at"]) == (17, 21, 17)


def test_the_text_form_has_a_line_for_each_value() -> None:
    lines = done("explain", "--request", "-", "-o", "text", stdin=_request()).stdout.splitlines()
    assert lines[2].split() == ["0-1", "00", "34", "request_api_key", "int16", "52", "Vote"]
    assert not any(line.endswith(" ") for line in lines)


def test_rows_are_limited_and_errors_are_not() -> None:
    data = _request()[:-1]
    result = run("explain", "--request", "-", "-o", "text", "--most", "3", stdin=data)
    assert "rows left out; --most 0 shows all" in result.stderr
    assert "ERROR at byte" in result.stdout.splitlines()[-1]
    assert len(result.stdout.splitlines()) == 5


def test_a_page_is_written_to_a_file(tmp_path: Path) -> None:
    out = tmp_path / "vote.html"
    result = done("explain", "--request", "-", "-o", "html", "--out", str(out), stdin=_request())
    assert result.stdout == ""
    assert out.read_text().startswith("<!DOCTYPE html>")
    whole = done("explain", "--request", "-", "-o", "html", stdin=_request()).stdout
    assert whole == out.read_text()


def test_a_page_does_not_overwrite_its_input(tmp_path: Path) -> None:
    copy = tmp_path / "00000000000000000000.log"
    shutil.copy(segment_of("codec-none"), copy)
    before = copy.read_bytes()
    result = run("explain", str(copy), "-o", "html", "--out", str(copy))
    assert result.exit_code == 2
    assert "is an input" in result.stderr
    assert copy.read_bytes() == before


def test_a_page_does_not_overwrite_a_request(tmp_path: Path) -> None:
    path = tmp_path / "vote.bin"
    path.write_bytes(_request())
    result = run("explain", "--request", str(path), "-o", "html", "--out", str(path))
    assert result.exit_code == 2
    assert path.read_bytes() == _request()


def test_a_stored_file_is_explained_from_any_place() -> None:
    path = str(segment_of("codec-none"))
    second = batches_of(Path(path))[1].header
    rows = _lines(done("explain", path, "--offset", str(second.base_offset)).stdout)
    assert rows[0]["start"] == second.position
    again = _lines(done("explain", path, "--position", str(second.end - 1)).stdout)
    assert again == rows


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "give one of FILE"),
        (["--request", "-", "--batch", "-"], "give one of FILE"),
        (["--message", "VoteRequest", "-"], "needs --version"),
        (["--request", "-", "--offset", "3"], "--offset does not go with --request"),
        (["--request", "-", "-o", "json", "--out", "x"], "goes with -o html"),
        (["--record", "group", "-"], "have keys"),
        (["--record", "nothing", "-"], "knows no records"),
        (["-"], "name the stored file"),
        ([str(BROKER)], "is a directory"),
        ([str(BROKER / "meta.properties")], "is text"),
        (["there-is-no-such-file.log"], "No such file"),
        ([str(segment_of("codec-none")), "--position", "99999999"], "has no byte"),
        ([str(segment_of("codec-none")), "--offset", "99999999"], "no batch with offset"),
        (["--batch", "-"], "the input is empty"),
        (["--message", "VoteRequest", "--version", "99", "-"], "has no version 99"),
        (["--response", "-", "--name", "ApiVersions", "--version", "99"], "has no version 99"),
    ],
)
def test_impossible_requests_are_errors(arguments: list[str], said: str) -> None:
    result = run("explain", *arguments, stdin=b"")
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stdout == ""


def test_an_empty_file_is_reported_as_empty(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(b"")
    result = run("explain", str(path))
    assert (result.exit_code, result.stdout) == (0, "")
    assert f"{path} is empty" in result.stderr


def test_a_closed_pipe_ends_the_command_quietly() -> None:
    path = str(segment_of("codec-none"))
    read_end, write_end = os.pipe()
    os.close(read_end)
    try:
        result = subprocess.run(
            [*COMMAND, "explain", path], stdout=write_end, stderr=subprocess.PIPE, timeout=60
        )
    finally:
        os.close(write_end)
    assert (result.returncode, result.stderr) == (141, b"")


def test_a_decompression_bomb_is_not_unpacked(tmp_path: Path) -> None:
    """A row with all its bytes as text takes many times the memory of what it explains."""
    bomb = encode_batch([Record(0, 1, None, bytes(17 << 20), ())], BatchSettings(Compression.ZSTD))
    file = tmp_path / "bomb.bin"
    file.write_bytes(bomb)
    result = run("explain", "--batch", str(file))
    assert result.exit_code == 1
    assert "decompresses to more than the limit of 16777216 bytes" in result.stderr
