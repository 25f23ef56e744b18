"""Cassettes: what is written is read, and nothing but `CassetteError` comes of bad files."""

from __future__ import annotations

import io
import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftwire.capture.cassette import CassetteError, CassetteHeader, CassetteReader, write_cassette
from kraftwire.capture.frame import Frame
from kraftwire_wire.errors import KraftwireError

HEADER = CassetteHeader("a test", "4.4.0")
HEADER_LINE = (
    b'{"format":"kraftwire-cassette","version":1,"recorded_by":"a test","release":"4.4.0"}\n'
)
FRAME: dict[str, Any] = {"connection": 1, "direction": "request", "time": 0.5, "frame": "AAE="}

frames = st.lists(
    st.builds(
        Frame,
        connection=st.integers(),
        direction=st.sampled_from(["request", "response"]),
        time=st.integers(0, 10**12).map(lambda microseconds: microseconds / 10**6),
        data=st.binary(max_size=64),
    ),
    max_size=5,
)


def read(data: bytes) -> list[Frame]:
    return list(CassetteReader(io.BytesIO(data), "session.jsonl"))


def line(**changes: object) -> bytes:
    obj = {key: value for key, value in (FRAME | changes).items() if value is not None}
    return json.dumps(obj).encode() + b"\n"


def error_of(data: bytes) -> CassetteError:
    with pytest.raises(CassetteError) as caught:
        read(data)
    return caught.value


@given(frames)
def test_written_frames_are_read_back(recorded: list[Frame]) -> None:
    stream = io.BytesIO()
    assert write_cassette(stream, HEADER, recorded) == len(recorded)
    stream.seek(0)
    reader = CassetteReader(stream, "session.jsonl")
    assert reader.header == HEADER
    assert list(reader) == recorded


def test_the_format_is_as_documented() -> None:
    stream = io.BytesIO()
    write_cassette(stream, HEADER, [Frame(1, "request", 0.5, b"\x00\x01")])
    header, frame = map(json.loads, stream.getvalue().splitlines())
    assert header == json.loads(HEADER_LINE)
    assert frame == FRAME


def test_frames_are_read_one_at_a_time() -> None:
    reader = iter(CassetteReader(io.BytesIO(HEADER_LINE + line() + b"garbage\n"), "session"))
    assert next(reader).data == b"\x00\x01"
    with pytest.raises(CassetteError):
        next(reader)


def test_empty_lines_and_unknown_keys_are_ignored() -> None:
    data = HEADER_LINE + b"\n" + line(comment="from a later version") + b"\r\n"
    assert [frame.data for frame in read(data)] == [b"\x00\x01"]


def test_an_error_names_file_and_line() -> None:
    error = error_of(HEADER_LINE + line() + b"\n" + line(direction="sideways"))
    assert isinstance(error, KraftwireError)
    assert str(error) == ("session.jsonl:4: direction: 'sideways' is neither request nor response")
    assert (error.file, error.line) == ("session.jsonl", 4)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not a cassette"),
        (b"\x00\xff\xfe", "not JSON"),
        (b"[1, 2]\n", "not a JSON object"),
        (b"{}\n", "not a cassette"),
        (b'{"format": "har"}\n', "not a cassette"),
        (HEADER_LINE.replace(b":1,", b":2,"), "a cassette of version 2; only version 1 is known"),
        (HEADER_LINE.replace(b'"release"', b'"no"'), "release is missing"),
        (HEADER_LINE.replace(b'"a test"', b"5"), "recorded_by: not a string"),
    ],
)
def test_other_files_are_refused(data: bytes, reason: str) -> None:
    error = error_of(data)
    assert error.reason.startswith(reason)
    assert error.line == 1


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (b"{", "not JSON"),
        (b"null\n", "not a JSON object"),
        (b"[" * 100_000, "not JSON"),
        (line()[:-2] + b', "time": 2}', "not JSON: an object has the key 'time' more than once"),
        (b'{"connection": ' + b"9" * 10_000 + b"}", "not JSON"),
        (line(connection=None), "connection is missing"),
        (line(connection=True), "connection: not a whole number"),
        (line(connection=1.5), "connection: not a whole number"),
        (line(direction=None), "direction is missing"),
        (line(direction=["request"]), "direction: not a string"),
        (line(time=None), "time: not a number of seconds"),
        (line(time=True), "time: not a number of seconds"),
        (line(time="1"), "time: not a number of seconds"),
        (line(time=-1), "time: not a number of seconds"),
        (line(time=float("nan")), "time: not a number of seconds"),
        (line(time=float("inf")), "time: not a number of seconds"),
        (line(time=10**400), "time: not a number of seconds"),
        (line(frame=None), "frame is missing"),
        (line(frame=5), "frame: not a string"),
        (line(frame="AA"), "frame: not base64"),
        (line(frame="A A="), "frame: not base64"),
        (line(frame="ä==="), "frame: not base64"),
    ],
)
def test_a_bad_line_is_refused(bad: bytes, reason: str) -> None:
    error = error_of(HEADER_LINE + line() + bad)
    assert error.reason.startswith(reason)
    assert error.line == 3


@given(st.binary(max_size=200))
def test_garbage_raises_only_cassette_errors(data: bytes) -> None:
    for start in (b"", HEADER_LINE):
        with suppress(CassetteError):
            read(start + data)


def test_an_endless_line_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kraftwire.capture.cassette._MAX_LINE_SIZE", 1000)
    assert "more than 1000 bytes" in error_of(HEADER_LINE + b" " * 5000).reason
