"""Cassettes: recorded frames in a file of JSON Lines.

The first line is the header, an object with these keys:

    format        "kraftwire-cassette"
    version       1
    recorded_by   what recorded the frames, for people to read
    release       the Kafka release of the specs that the recorder used, such as "4.4.0"

Every other line is one frame, in the order in which the frames were sent:

    connection    a whole number that identifies the connection
    direction     "request" (from the client) or "response" (from the broker)
    time          seconds since the recording began
    frame         the frame's bytes, without their length prefix, in base64; also those after
                  a request's message, which some clients write and no broker reads
    broker        optional: the HOST:PORT that the connection went to, as the recorder knew it
    redacted      optional: a list of the field paths that were removed from the bytes, such
                  as "auth_bytes"; "*" if all bytes of an unreadable frame were removed, and
                  "(bytes of no field)" for bytes after a message

The bytes are those that client and broker sent, even if a proxy between them changed what the
client got: a response has the brokers' own addresses, not those of the proxy, which are different
in each run. A replay replaces them with its own addresses.

A redacted frame still decodes; a secret is "(redacted)" in it. An unreadable frame that may hold
a secret has no bytes and does not decode; a SASL token without a header (KIP-43) is "(redacted)"
as a whole.

A reader skips unknown keys and empty lines, and refuses other versions. Readers and writers have
one frame in memory at a time. Reading raises only `CassetteError`, or `OSError` for the file.
"""

from __future__ import annotations

import json
import math
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Any

from kraftwire.capture.frame import Frame
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.json_text import parse_json

FORMAT = "kraftwire-cassette"
VERSION = 1

_MAX_LINE_SIZE = 256 * 1024 * 1024  # a frame of 100 MiB, Kafka's limit, has 140 MB of base64


class CassetteError(KraftwireError):
    """A file that is not a cassette, or a line in it that is not a frame."""

    def __init__(self, reason: str, file: str, line: int) -> None:
        super().__init__(reason, file, line)
        self.reason = reason
        self.file = file
        self.line = line

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}"


@dataclass(frozen=True, slots=True)
class CassetteHeader:
    """The first line of a cassette: how it was recorded."""

    recorded_by: str
    release: str


class CassetteReader:
    """Reads a cassette: the header when created, the frames while iterating."""

    def __init__(self, stream: IO[bytes], name: str) -> None:
        """`name` is what errors call the file."""
        self._stream = stream
        self._name = name
        self._line = 0
        self.header = self._read_header()

    def __iter__(self) -> Iterator[Frame]:
        while (obj := self._read_object()) is not None:
            yield self._parse_frame(obj)

    def _read_header(self) -> CassetteHeader:
        obj = self._read_object()
        if obj is None or obj.get("format") != FORMAT:
            raise self._error(f'not a cassette: the first line has no "format": "{FORMAT}"')
        if obj.get("version") != VERSION:
            found = str(obj.get("version"))[:20]
            raise self._error(f"a cassette of version {found}; only version {VERSION} is known")
        return CassetteHeader(self._take(obj, "recorded_by", str), self._take(obj, "release", str))

    def _parse_frame(self, obj: dict[str, Any]) -> Frame:
        connection = self._take(obj, "connection", int)
        direction = self._take(obj, "direction", str)
        if direction not in ("request", "response"):
            raise self._error(f"direction: {direction[:20]!r} is neither request nor response")
        try:
            data = b64decode(self._take(obj, "frame", str), validate=True)
        except ValueError as error:
            raise self._error(f"frame: not base64: {error}") from None
        time = self._take_time(obj)
        broker = self._take(obj, "broker", str) if "broker" in obj else None
        redacted = self._take_redacted(obj)
        return Frame(connection, direction, time, data, broker=broker, redacted=redacted)

    def _take_redacted(self, obj: dict[str, Any]) -> tuple[str, ...]:
        paths = obj.get("redacted", [])
        if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
            raise self._error("redacted: not a list of strings")
        return tuple(paths)

    def _take_time(self, obj: dict[str, Any]) -> float:
        value: Any = obj.get("time")
        if type(value) in (int, float):
            try:
                seconds = float(value)
            except OverflowError:
                seconds = math.inf
            if 0 <= seconds < math.inf:
                return seconds
        raise self._error("time: not a number of seconds")

    def _take(self, obj: dict[str, Any], key: str, kind: type[Any]) -> Any:
        """Return a required value of exactly one type; True is not a whole number."""
        if key not in obj:
            raise self._error(f"{key} is missing")
        if type(obj[key]) is not kind:
            raise self._error(f"{key}: not {'a whole number' if kind is int else 'a string'}")
        return obj[key]

    def _read_object(self) -> dict[str, Any] | None:
        """Return the next line that is not empty; None at the end of the file."""
        while line := self._stream.readline(_MAX_LINE_SIZE):
            self._line += 1
            if line.isspace() and len(line) < _MAX_LINE_SIZE:
                continue
            if len(line) == _MAX_LINE_SIZE:
                raise self._error(f"a line of more than {_MAX_LINE_SIZE} bytes")
            try:
                obj = parse_json(line)
            except ValueError as error:
                raise self._error(f"not JSON: {error}") from None
            if not isinstance(obj, dict):
                raise self._error("not a JSON object")
            return obj
        return None

    def _error(self, reason: str) -> CassetteError:
        return CassetteError(reason, self._name, max(self._line, 1))


def write_cassette(stream: IO[bytes], header: CassetteHeader, frames: Iterable[Frame]) -> int:
    """Write frames as a cassette; return their number."""
    stream.write(header_line(header))
    count = 0
    for count, frame in enumerate(frames, 1):  # noqa: B007
        stream.write(frame_line(frame))
    return count


def header_line(header: CassetteHeader) -> bytes:
    """Return the first line of a cassette."""
    first = {"format": FORMAT, "version": VERSION}
    return _line(first | {"recorded_by": header.recorded_by, "release": header.release})


def frame_line(frame: Frame) -> bytes:
    """Return the line of a frame. Base64 needs no escapes, so it bypasses the JSON encoder."""
    start = {
        "connection": frame.connection,
        "direction": frame.direction,
        "time": round(frame.time, 6),
    }
    line = b'%b, "frame": "%b"' % (_line(start)[: -len(b"}\n")], b64encode(frame.data))
    known: dict[str, Any] = {}
    if frame.broker is not None:
        known["broker"] = frame.broker
    if frame.redacted:
        known["redacted"] = list(frame.redacted)
    return line + (b", " + _line(known)[1:] if known else b"}\n")


def _line(obj: dict[str, Any]) -> bytes:
    return json.dumps(obj).encode() + b"\n"
