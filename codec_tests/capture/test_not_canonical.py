"""Frames that do not encode back to the same bytes, marked by every command that shows them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kraftwire.capture.decoding.decoder import decode_frames
from kraftwire.capture.frame import Frame
from kraftwire_messages.kafka import FetchRequest, FetchResponse, registry

from codec_tests.capture.sample_frames import cassette_of, metadata_request, request, response
from codec_tests.cli.running import run

DEFAULTS = (
    b"\x00\x0d" + b"\xff" * 12 + b"\0",  # diverging_epoch
    b"\x01\x09" + b"\xff" * 8 + b"\0",  # current_leader
)


def fetch(*tags: bytes) -> Frame:
    """A Fetch response whose one partition has the defaults of tags written out."""
    partition = FetchResponse.PartitionData(unknown_tagged_fields=[(900, b"mark")])
    topic = FetchResponse.FetchableTopicResponse(partitions=[partition])
    frame = response(FetchResponse(responses=[topic]), 16, 7)
    section = b"\x01\x84\x07\x04mark"
    assert frame.data.count(section) == 1
    longer = bytes([1 + len(tags)]) + b"".join(tags) + section[1:]
    return Frame(1, "response", 1.0, frame.data.replace(section, longer))


def asked() -> Frame:
    return request(FetchRequest(), 16, 7)


MARK = "not canonical: 15 bytes of defaults in tag 0, 11 bytes of defaults in tag 1"


def test_capture_decode_marks_a_frame_that_would_shrink() -> None:
    data = cassette_of(asked(), fetch(*DEFAULTS))
    result = run("capture", "decode", "-", stdin=data)
    assert result.exit_code == 1
    good, odd = (json.loads(line) for line in result.stdout.splitlines())
    assert "note" not in good
    assert "notCanonical" not in good
    assert odd["note"] == MARK
    assert odd["error"] == "does not encode back to the same bytes"
    offset = fetch(*DEFAULTS).data.index(DEFAULTS[0])
    assert odd["notCanonical"][0] == {
        "path": "responses[0].partitions[0].diverging_epoch",
        "offset": offset,
        "bytes": 15,
        "reason": "15 bytes of defaults in tag 0, which encoding leaves out",
    }
    assert "not canonical, so that encoding writes other bytes: 1" in result.stderr
    table = run("capture", "decode", "-", "-o", "table", stdin=data)
    assert table.stdout.splitlines()[2].endswith(MARK)
    one = run("capture", "decode", "-", "--frame", 2, "-o", "table", stdin=data)
    assert MARK in one.stdout


def test_a_header_that_is_not_canonical_is_marked() -> None:
    """Its tag section in two bytes."""
    sound = metadata_request(5).data
    at = sound.index(b"tester") + 6
    frame = Frame(1, "request", 0.0, sound[:at] + b"\x80\0" + sound[at + 1 :])
    (decoded,) = decode_frames([frame], registry)
    assert [(one.path, one.offset, one.size) for one in decoded.deviations()] == [("tags", at, 2)]


def test_a_leniently_read_frame_has_both_marks(tmp_path: Path) -> None:
    sound = metadata_request(5).data
    path = tmp_path / "odd.bin"
    path.write_bytes(sound[:-1] + b"\x80\0" + b"????")
    result = run("decode", "--request", path, "--lenient")
    assert result.exit_code == 0
    shown: dict[str, Any] = json.loads(result.stdout)
    assert [one["offset"] for one in shown["notCanonical"]] == [len(sound) - 1, len(sound) + 1]
    assert "not canonical: varint 8000, which encoding writes as 00, 4 bytes follow" in (
        result.stderr
    )


def test_decode_marks_a_frame_and_encode_reads_its_output(tmp_path: Path) -> None:
    path = tmp_path / "fetch.bin"
    path.write_bytes(fetch(*DEFAULTS).data)
    result = run("decode", "--response", path, "--name", "Fetch", "--version", 16)
    assert result.exit_code == 0
    assert f"FetchResponse: {MARK}; first: responses[0].partitions[0].diverging_epoch" in (
        result.stderr
    )
    shown = json.loads(result.stdout)
    assert [one["bytes"] for one in shown["notCanonical"]] == [15, 11]
    again = run("encode", stdin=result.stdout.encode())
    assert again.exit_code == 0
    assert bytes.fromhex(again.stdout) == fetch().data
    canonical = tmp_path / "canonical.bin"
    canonical.write_bytes(fetch().data)
    quiet = run("decode", "--response", canonical, "--name", "Fetch", "--version", 16)
    assert quiet.stderr == ""
    assert "notCanonical" not in json.loads(quiet.stdout)


@pytest.mark.parametrize("prefixed", [True, False])
def test_decode_counts_offsets_from_the_start_of_the_input(prefixed: bool, tmp_path: Path) -> None:
    sound = metadata_request(5).data
    odd = sound[:-1] + b"\x80\0"
    prefix = len(odd).to_bytes(4) if prefixed else b""
    path = tmp_path / "odd.bin"
    path.write_bytes(prefix + odd)
    result = run("decode", "--request", path)
    (found,) = json.loads(result.stdout)["notCanonical"]
    assert found["offset"] == len(prefix) + len(sound) - 1


def test_explain_marks_the_bytes_themselves(tmp_path: Path) -> None:
    path = tmp_path / "fetch.bin"
    path.write_bytes(fetch(*DEFAULTS).data)
    args = ("explain", "--response", path, "--name", "Fetch", "--version", 16)
    result = run(*args)
    assert result.exit_code == 0
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    marked = [row for row in rows if "not canonical" in row.get("note", "")]
    offset = fetch(*DEFAULTS).data.index(DEFAULTS[0])
    assert [(row["start"], row["part"], row["note"]) for row in marked] == [
        (offset, "tag", "not canonical: 15 bytes of defaults in tag 0, which encoding leaves out"),
        (
            offset + 15,
            "tag",
            "not canonical: 11 bytes of defaults in tag 1, which encoding leaves out",
        ),
    ]
    assert run(*args, "-o", "text").stdout.count("not canonical") == 2
    page = tmp_path / "page.html"
    assert run(*args, "-o", "html", "--out", page).exit_code == 0
    assert page.read_text().count("not canonical: ") >= 2


def test_explain_marks_a_varint_a_boolean_and_a_null(tmp_path: Path) -> None:
    """Each on the row that has the bytes."""
    path = tmp_path / "odd.bin"
    path.write_bytes(b"\xff\xff\xff\xf0\x05")
    result = run("explain", "--message", "MetadataRequest", "--version", 4, path)
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(row["part"], row["note"]) for row in rows if "not can" in row.get("note", "")] == [
        ("count", "not canonical: null fffffff0, which encoding writes as ffffffff"),
        ("value", "not canonical: boolean 05, which encoding writes as 01"),
    ]
