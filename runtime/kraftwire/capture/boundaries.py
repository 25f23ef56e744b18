"""Where frames begin in bytes whose beginning is missing, and whose bytes they are.

A boundary is searched for by what must stand behind it. For requests that is the key of a
known API with one of its versions, a header, and a message that is read to its last byte;
for responses the correlation id of a request that waits for one, and a message likewise.
Candidates are found without a loop over bytes, so that a search runs at the speed of memory.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from enum import Enum, auto
from itertools import islice
from typing import NamedTuple, Protocol

from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.forms import INT32
from kraftwire_wire.framing import DEFAULT_MAX_FRAME_SIZE
from kraftwire_wire.registry import Registry

SIZE_SIZE = INT32.size

_HEAD_SIZE = 4
"""What is looked at behind a size: API key and version, or a correlation id."""
_LEAST_REQUEST = 8
_MAX_WAITING = 1000
_MAX_SOUGHT = 64
_LOOK_AHEAD = 1 << 16
_MAX_HEADER_SIZE = 1 << 16
_ENOUGH_FOR_HEADER = 512
"""Longer headers have client ids that nobody has."""
_SIZE_PATTERN = rb"[\x00-\x06][\x00-\xff]{3}"  # up to 100 MiB, about


class Match(Enum):
    """What a candidate turned out to be."""

    FRAME = auto()
    NOTHING = auto()
    INCOMPLETE = auto()


class Waiting(NamedTuple):
    """What a response has to be read with; enough of a request header for that."""

    request_api_key: int
    request_api_version: int
    correlation_id: int


class WaitingRequests:
    """The newest requests of a connection, by correlation id."""

    def __init__(self) -> None:
        self.by_id: OrderedDict[int, Waiting] = OrderedDict()

    def note_request(self, frame: bytes) -> None:
        """A request was sent."""
        if len(frame) >= _LEAST_REQUEST:
            key, version = int.from_bytes(frame[:2], signed=True), int.from_bytes(frame[2:4])
            number = int.from_bytes(frame[4:8], signed=True)
            self.by_id[number] = Waiting(key, version, number)
            self.by_id.move_to_end(number)
            if len(self.by_id) > _MAX_WAITING:
                self.by_id.popitem(last=False)

    def note_response(self, frame: bytes) -> None:
        """A response was sent."""
        self.by_id.pop(int.from_bytes(frame[:_HEAD_SIZE], signed=True), None)


class Probe(Protocol):
    """Finds frames of one direction."""

    def find(self, data: bytearray, start: int) -> int | None:
        """The next place from `start` on where a frame may begin; None where there is none."""

    def is_frame(self, frame: bytes) -> bool:
        """Whether bytes without their length prefix are a frame."""

    def may_begin(self, head: bytes) -> bool:
        """Whether the first bytes behind a length prefix may begin a frame."""


class RequestProbe:
    """Finds requests."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._pattern: re.Pattern[bytes] | None = None

    def find(self, data: bytearray, start: int) -> int | None:
        """See `Probe`."""
        if self._pattern is None:
            self._pattern = self._compile()
        found = self._pattern.search(data, start)
        return None if found is None else found.start()

    def is_frame(self, frame: bytes) -> bool:
        """See `Probe`."""
        try:
            self._registry.decode_request(frame)
        except KraftwireError:
            return False
        return True

    def may_begin(self, head: bytes) -> bool:
        """See `Probe`: a header must be there, with a client id that people can read."""
        try:
            header, _ = self._registry.decode_request_header(head)
        except KraftwireError:
            return len(head) < _ENOUGH_FOR_HEADER
        return header.client_id is None or header.client_id.isprintable()

    def _compile(self) -> re.Pattern[bytes]:
        heads = []
        for key in self._registry.api_keys:
            versions = self._registry.request(key).VALID_VERSIONS
            if versions:
                last = b"[" + re.escape(bytes([versions[0]])) + b"-"
                last += re.escape(bytes([min(versions[-1], 0xFF)])) + b"]"
                heads.append(re.escape(key.to_bytes(2)) + rb"\x00" + last)
        return re.compile(_SIZE_PATTERN + b"(?:" + b"|".join(heads) + b")", re.DOTALL)


class ResponseProbe:
    """Finds responses to the requests that wait for one."""

    def __init__(self, registry: Registry, waiting: WaitingRequests) -> None:
        self._registry = registry
        self._waiting = waiting

    def find(self, data: bytearray, start: int) -> int | None:
        """See `Probe`."""
        newest = islice(reversed(self._waiting.by_id), _MAX_SOUGHT)
        sought = [number.to_bytes(_HEAD_SIZE, signed=True) for number in newest]
        # In pieces, or each candidate would cost a look at all that follows.
        for begin in range(start + SIZE_SIZE, len(data) if sought else 0, _LOOK_AHEAD):
            end = begin + _LOOK_AHEAD + _HEAD_SIZE - 1
            found = (data.find(head, begin, end) for head in sought)
            places = [at - SIZE_SIZE for at in found if at >= 0]
            if places:
                return min(places)
        return None

    def is_frame(self, frame: bytes) -> bool:
        """See `Probe`."""
        number = int.from_bytes(frame[:_HEAD_SIZE], signed=True)
        request = self._waiting.by_id.get(number)
        if request is None:
            return False
        try:
            self._registry.decode_response(frame, request)
        except KraftwireError:
            return False
        return True

    def may_begin(self, head: bytes) -> bool:
        """See `Probe`; the correlation id is all there is."""
        return True


def check(probe: Probe, data: bytearray, at: int) -> Match:
    """What a candidate is."""
    size = frame_size(data, at)
    if not 0 < size <= DEFAULT_MAX_FRAME_SIZE:
        return Match.NOTHING
    start = at + SIZE_SIZE
    if start + size > len(data):
        head = bytes(data[start : start + _ENOUGH_FOR_HEADER])
        return Match.INCOMPLETE if probe.may_begin(head) else Match.NOTHING
    return Match.FRAME if probe.is_frame(bytes(data[start : start + size])) else Match.NOTHING


def frame_size(data: bytearray, at: int) -> int:
    """What a length prefix says."""
    (size,) = INT32.unpack_from(data, at)
    return int(size)


class Start(Enum):
    """What the first bytes of a client say."""

    KAFKA = auto()
    TLS = auto()
    OTHER = auto()
    TOO_FEW = auto()


def looks_like_tls(data: bytes | bytearray) -> bool:
    """Whether bytes begin with a record of TLS: its type, and version 3."""
    return len(data) > 1 and 0x14 <= data[0] <= 0x17 and data[1] == 3


def recognise(data: bytes | bytearray, registry: Registry) -> Start:
    """Whether what a client said first is a request of Kafka, of any version."""
    if looks_like_tls(data):
        return Start.TLS
    if len(data) < SIZE_SIZE:
        return Start.TOO_FEW
    size = int.from_bytes(data[:SIZE_SIZE], signed=True)
    if not _LEAST_REQUEST <= size <= DEFAULT_MAX_FRAME_SIZE:
        return Start.OTHER
    head = bytes(data[SIZE_SIZE : SIZE_SIZE + size])
    try:
        registry.decode_request_header(head)
    except KraftwireError:
        is_whole = len(head) == size or len(head) >= _MAX_HEADER_SIZE
        known = len(head) < 2 or int.from_bytes(head[:2]) in registry.api_keys
        return Start.TOO_FEW if known and not is_whole else Start.OTHER
    return Start.KAFKA
