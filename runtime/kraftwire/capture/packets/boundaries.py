"""Finds where frames begin in a stream whose beginning is missing.

A boundary is recognized by the frame after it. A request has the key of a known API, a version, a
header, and a message that can be read to its last byte. A response has the correlation id of an
unanswered request, and such a message. If only the header of a request can be read (its version is
unknown, or bytes follow its message), it is `UNREAD`: it counts only if another frame follows it,
and is reported by name otherwise.

Candidates are found without a loop over bytes, so a search runs at the speed of memory. Each
candidate has the cost of checking it, so that the caller can limit the total.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from enum import Enum, auto
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple, Protocol

from kraftwire.capture.decoding.decoder import decode_request_body
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.forms import INT32
from kraftwire_wire.framing import DEFAULT_MAX_FRAME_SIZE
from kraftwire_wire.registry import Registry

SIZE_SIZE = INT32.size

_HEAD_SIZE = 4
"""Bytes after a size that identify a frame: API key and version, or a correlation id."""
_MIN_REQUEST_SIZE = 8
_MAX_WAITING = 1000
_MAX_SOUGHT = 64
_FIRST_LOOK_AHEAD = 1 << 8
_LOOK_AHEAD = 1 << 16
_MAX_HEADER_SIZE = 1 << 16
_USUAL_HEADER_SIZE = 512
"""Longer headers would need implausibly long client ids."""
_HIGHEST_VERSION = 0x1F
"""The search ignores higher versions; no API comes close."""
_SIZE_PATTERN = (  # from 8, so that a run of zeros is no candidate, up to about 100 MiB
    rb"(?:\x00(?:\x00(?:\x00[\x08-\xff]|[\x01-\xff].)|[\x01-\xff]..)|[\x01-\x06]...)"
)
_WORK_OF_A_CHECK = 256
"""The least cost of checking a candidate, in bytes read."""
_BYTES_COPIED = 64
"""How many bytes are copied in the time that reading one takes."""


class Match(Enum):
    """What is at a candidate's position."""

    FRAME = auto()
    UNREAD = auto()
    INCOMPLETE = auto()
    NOTHING = auto()


class Candidate(NamedTuple):
    """A position where a frame may begin.

    Fields:
        match: what is there.
        end: where the frame would end.
        work: the cost of the check, in bytes read.
    """

    match: Match
    end: int
    work: int


class UnansweredRequest(NamedTuple):
    """The part of a request header that decoding its response needs."""

    request_api_key: int
    request_api_version: int
    correlation_id: int


class UnansweredRequests:
    """The newest unanswered requests of a connection, by correlation id."""

    def __init__(self) -> None:
        self.by_id: OrderedDict[int, UnansweredRequest] = OrderedDict()

    def add(self, frame: bytes) -> None:
        """Add a request; its header is not decoded, since few searches need it."""
        if len(frame) >= _MIN_REQUEST_SIZE:
            key, version = int.from_bytes(frame[:2], signed=True), int.from_bytes(frame[2:4])
            number = int.from_bytes(frame[4:8], signed=True)
            self.by_id[number] = UnansweredRequest(key, version, number)
            self.by_id.move_to_end(number)
            if len(self.by_id) > _MAX_WAITING:
                self.by_id.popitem(last=False)

    def answer(self, frame: bytes) -> None:
        """Remove the request that a response answers."""
        self.by_id.pop(int.from_bytes(frame[:_HEAD_SIZE], signed=True), None)


class Probe(Protocol):
    """Recognizes the frames of one direction."""

    def find(self, data: bytearray, start: int) -> int | None:
        """Return the next position from `start` on where a frame may begin; None if not found."""

    def matches_at(self, data: bytearray, at: int) -> bool:
        """Whether `find` would return this position."""

    def read(self, frame: bytes) -> tuple[Match, int]:
        """Return what a frame without its length prefix is, and how many bytes were read."""

    def may_begin(self, head: bytes) -> bool:
        """Whether the first bytes after a length prefix may begin a frame."""

    def name(self, head: bytes) -> str | None:
        """Return what an unreadable frame is, by its first bytes; None if that is unknown."""


class RequestProbe:
    """Recognizes requests; see `Probe`."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    @cached_property
    def _pattern(self) -> re.Pattern[bytes]:
        keys = b"|".join(re.escape(key.to_bytes(2)) for key in self._registry.api_keys)
        version = rb"\x00[\x00-" + re.escape(bytes([_HIGHEST_VERSION])) + rb"]"
        return re.compile(_SIZE_PATTERN + rb"(?:" + keys + rb")" + version, re.DOTALL)

    def find(self, data: bytearray, start: int) -> int | None:
        found = self._pattern.search(data, start)
        return None if found is None else found.start()

    def matches_at(self, data: bytearray, at: int) -> bool:
        return self._pattern.match(data, at) is not None

    def read(self, frame: bytes) -> tuple[Match, int]:
        header: Any = None
        start = 0
        try:
            header, start = self._registry.decode_request_header(frame)
            decode_request_body(self._registry, header, frame, start)
        except KraftwireError as error:
            is_usual = header is not None and start <= _USUAL_HEADER_SIZE
            match = Match.UNREAD if is_usual and _has_readable_client(header) else Match.NOTHING
            return match, getattr(error, "offset", None) or 0
        return Match.FRAME, len(frame)

    def may_begin(self, head: bytes) -> bool:
        """Accept a header with a printable client id, or with none and a known version."""
        header = self._header(head)
        if header is None:
            return len(head) < _USUAL_HEADER_SIZE
        if not header.client_id:
            request = self._registry.request(header.request_api_key)
            return header.request_api_version in request.VALID_VERSIONS
        return _has_readable_client(header)

    def name(self, head: bytes) -> str | None:
        header = self._header(head)
        if header is None or not _has_readable_client(header):
            return None
        api = self._registry.request(header.request_api_key).__name__.removesuffix("Request")
        return f"{api} version {header.request_api_version}"

    def _header(self, head: bytes) -> Any:
        try:
            return self._registry.decode_request_header(head)[0]
        except KraftwireError:
            return None


def _has_readable_client(header: Any) -> bool:
    return bool(header.client_id) and bool(header.client_id.isprintable())


class ResponseProbe:
    """Recognizes responses to unanswered requests; see `Probe`."""

    def __init__(self, registry: Registry, unanswered: UnansweredRequests) -> None:
        self._registry = registry
        self._unanswered = unanswered

    def find(self, data: bytearray, start: int) -> int | None:
        newest = islice(reversed(self._unanswered.by_id), _MAX_SOUGHT)
        sought = [number.to_bytes(_HEAD_SIZE, signed=True) for number in newest]
        # Search in growing steps, or each candidate would cost a search of all bytes after it.
        begin, size = start + SIZE_SIZE, _FIRST_LOOK_AHEAD
        while sought and begin < len(data):
            end = begin + size + _HEAD_SIZE - 1
            found = (data.find(head, begin, end) for head in sought)
            places = [at - SIZE_SIZE for at in found if at >= 0]
            if places:
                return min(places)
            begin, size = begin + size, min(2 * size, _LOOK_AHEAD)
        return None

    def matches_at(self, data: bytearray, at: int) -> bool:
        head = data[at + SIZE_SIZE : at + SIZE_SIZE + _HEAD_SIZE]
        return int.from_bytes(head, signed=True) in self._unanswered.by_id

    def read(self, frame: bytes) -> tuple[Match, int]:
        request = self._unanswered.by_id.get(int.from_bytes(frame[:_HEAD_SIZE], signed=True))
        if request is None:
            return Match.NOTHING, 0
        try:
            self._registry.decode_response(frame, request)
        except KraftwireError as error:
            return Match.NOTHING, getattr(error, "offset", None) or 0
        return Match.FRAME, len(frame)

    def may_begin(self, head: bytes) -> bool:
        """Return True: only the correlation id can be checked."""
        return True

    def name(self, head: bytes) -> str | None:
        """Return None: a response does not show its API."""
        return None


def check(probe: Probe, data: bytearray, at: int) -> Candidate:
    """Check a position that a probe has found."""
    size = frame_size(data, at)
    start = at + SIZE_SIZE
    end = start + size
    if not 0 < size <= DEFAULT_MAX_FRAME_SIZE:
        return Candidate(Match.NOTHING, at, _WORK_OF_A_CHECK)
    if end > len(data):
        head = bytes(data[start : start + _USUAL_HEADER_SIZE])
        match = Match.INCOMPLETE if probe.may_begin(head) else Match.NOTHING
        return Candidate(match, end, _WORK_OF_A_CHECK)
    match, read = probe.read(bytes(data[start:end]))
    return Candidate(match, end, _WORK_OF_A_CHECK + size // _BYTES_COPIED + read)


def name_at(probe: Probe, data: bytearray, at: int) -> str | None:
    """Return what the unreadable frame at a position is; None if that is unknown."""
    start = at + SIZE_SIZE
    return probe.name(bytes(data[start : start + _USUAL_HEADER_SIZE]))


def frame_size(data: bytearray, at: int) -> int:
    """Return the size in a length prefix."""
    (size,) = INT32.unpack_from(data, at)
    return int(size)


class StreamStart(Enum):
    """The protocol of a client, by its first bytes."""

    KAFKA = auto()
    TLS = auto()
    OTHER = auto()
    TOO_FEW = auto()


def looks_like_tls(data: bytes | bytearray) -> bool:
    """Whether bytes begin with a TLS record: its type, and version 3."""
    return len(data) > 1 and 0x14 <= data[0] <= 0x17 and data[1] == 3


def classify_start(data: bytes | bytearray, registry: Registry) -> StreamStart:
    """Return the protocol of a client; a Kafka request may have any version."""
    if looks_like_tls(data):
        return StreamStart.TLS
    if len(data) < SIZE_SIZE:
        return StreamStart.TOO_FEW
    size = int.from_bytes(data[:SIZE_SIZE], signed=True)
    if not _MIN_REQUEST_SIZE <= size <= DEFAULT_MAX_FRAME_SIZE:
        return StreamStart.OTHER
    head = bytes(data[SIZE_SIZE : SIZE_SIZE + size])
    try:
        registry.decode_request_header(head)
    except KraftwireError:
        is_whole = len(head) == size or len(head) >= _MAX_HEADER_SIZE
        known = len(head) < 2 or int.from_bytes(head[:2]) in registry.api_keys
        return StreamStart.TOO_FEW if known and not is_whole else StreamStart.OTHER
    return StreamStart.KAFKA
