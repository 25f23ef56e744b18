"""Where frames begin in bytes whose beginning is missing, and whose bytes they are.

A boundary is searched for by what must follow it. For requests that is the key of a known API
with a version, a header, and a message that is read to its last byte; for responses the
correlation id of a request that waits for one, and a message likewise. A request of which only
the header can be read (its version is not known, or bytes follow its message) is `UNREAD`: it
counts only if another frame follows it, and is named otherwise.

Candidates are found without a loop over bytes, so that a search runs at the speed of memory, and
each candidate says how much work it was, so that the caller can bound it.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from enum import Enum, auto
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple, Protocol

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
_FIRST_LOOK_AHEAD = 1 << 8
_LOOK_AHEAD = 1 << 16
_MAX_HEADER_SIZE = 1 << 16
_ENOUGH_FOR_HEADER = 512
"""Longer headers have client ids that nobody has."""
_HIGHEST_VERSION = 0x1F
"""Versions above it are not looked for; no API is near it."""
_SIZE_PATTERN = (  # from 8, so that a run of zeros is no candidate, up to about 100 MiB
    rb"(?:\x00(?:\x00(?:\x00[\x08-\xff]|[\x01-\xff].)|[\x01-\xff]..)|[\x01-\x06]...)"
)
_WORK_OF_A_CHECK = 256
"""What looking at a candidate costs at least, as bytes that are read."""
_BYTES_COPIED = 64
"""How many bytes are copied in the time in which one is read."""


class Match(Enum):
    """What a candidate turned out to be."""

    FRAME = auto()
    UNREAD = auto()
    INCOMPLETE = auto()
    NOTHING = auto()


class Candidate(NamedTuple):
    """A place where a frame may begin.

    Fields:
        match: what it turned out to be.
        end: where the frame would end.
        work: what it took to find out, as a number of bytes that were read.
    """

    match: Match
    end: int
    work: int


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
        """Return the next place from `start` on where a frame may begin; None if there is none."""

    def may_stand(self, data: bytearray, at: int) -> bool:
        """Whether `find` would give this place."""

    def read(self, frame: bytes) -> tuple[Match, int]:
        """Say what bytes without their length prefix are, and how many of them were read."""

    def may_begin(self, head: bytes) -> bool:
        """Whether the first bytes after a length prefix may begin a frame."""

    def name(self, head: bytes) -> str | None:
        """Return what a frame that cannot be read is, by its first bytes; None if unknown."""


class RequestProbe:
    """Finds requests."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    @cached_property
    def _pattern(self) -> re.Pattern[bytes]:
        keys = b"|".join(re.escape(key.to_bytes(2)) for key in self._registry.api_keys)
        version = rb"\x00[\x00-" + re.escape(bytes([_HIGHEST_VERSION])) + rb"]"
        return re.compile(_SIZE_PATTERN + rb"(?:" + keys + rb")" + version, re.DOTALL)

    def find(self, data: bytearray, start: int) -> int | None:
        """See `Probe`."""
        found = self._pattern.search(data, start)
        return None if found is None else found.start()

    def may_stand(self, data: bytearray, at: int) -> bool:
        """See `Probe`."""
        return self._pattern.match(data, at) is not None

    def read(self, frame: bytes) -> tuple[Match, int]:
        """See `Probe`."""
        try:
            self._registry.decode_request(frame)
        except KraftwireError as error:
            is_named = self.name(frame[:_ENOUGH_FOR_HEADER]) is not None
            return Match.UNREAD if is_named else Match.NOTHING, _bytes_read(error)
        return Match.FRAME, len(frame)

    def may_begin(self, head: bytes) -> bool:
        """See `Probe`: a header must be there, with a client id that people can read."""
        try:
            header, _ = self._registry.decode_request_header(head)
        except KraftwireError:
            return len(head) < _ENOUGH_FOR_HEADER
        if not header.client_id:
            return header.request_api_version in self._versions(header)
        return bool(header.client_id.isprintable())

    def name(self, head: bytes) -> str | None:
        """See `Probe`; only what has a client id is taken for a request."""
        try:
            header, _ = self._registry.decode_request_header(head)
        except KraftwireError:
            return None
        if not header.client_id or not header.client_id.isprintable():
            return None
        api = self._registry.request(header.request_api_key).__name__.removesuffix("Request")
        return f"{api} version {header.request_api_version}"

    def _versions(self, header: Any) -> range:
        return self._registry.request(header.request_api_key).VALID_VERSIONS


class ResponseProbe:
    """Finds responses to the requests that wait for one."""

    def __init__(self, registry: Registry, waiting: WaitingRequests) -> None:
        self._registry = registry
        self._waiting = waiting

    def find(self, data: bytearray, start: int) -> int | None:
        """See `Probe`."""
        newest = islice(reversed(self._waiting.by_id), _MAX_SOUGHT)
        sought = [number.to_bytes(_HEAD_SIZE, signed=True) for number in newest]
        # In pieces that grow, or each candidate would cost a look at all that follows.
        begin, size = start + SIZE_SIZE, _FIRST_LOOK_AHEAD
        while sought and begin < len(data):
            end = begin + size + _HEAD_SIZE - 1
            found = (data.find(head, begin, end) for head in sought)
            places = [at - SIZE_SIZE for at in found if at >= 0]
            if places:
                return min(places)
            begin, size = begin + size, min(2 * size, _LOOK_AHEAD)
        return None

    def may_stand(self, data: bytearray, at: int) -> bool:
        """See `Probe`."""
        head = data[at + SIZE_SIZE : at + SIZE_SIZE + _HEAD_SIZE]
        return int.from_bytes(head, signed=True) in self._waiting.by_id

    def read(self, frame: bytes) -> tuple[Match, int]:
        """See `Probe`."""
        number = int.from_bytes(frame[:_HEAD_SIZE], signed=True)
        request = self._waiting.by_id.get(number)
        if request is None:
            return Match.NOTHING, 0
        try:
            self._registry.decode_response(frame, request)
        except KraftwireError as error:
            return Match.NOTHING, _bytes_read(error)
        return Match.FRAME, len(frame)

    def may_begin(self, head: bytes) -> bool:
        """See `Probe`; the correlation id is all there is."""
        return True

    def name(self, head: bytes) -> str | None:
        """See `Probe`; a response does not say what it is."""
        return None


def _bytes_read(error: KraftwireError) -> int:
    return getattr(error, "offset", None) or 0


def check(probe: Probe, data: bytearray, at: int) -> Candidate:
    """Say what stands at a place that a probe has found."""
    size = frame_size(data, at)
    start = at + SIZE_SIZE
    end = start + size
    if not 0 < size <= DEFAULT_MAX_FRAME_SIZE:
        return Candidate(Match.NOTHING, at, _WORK_OF_A_CHECK)
    if end > len(data):
        head = bytes(data[start : start + _ENOUGH_FOR_HEADER])
        match = Match.INCOMPLETE if probe.may_begin(head) else Match.NOTHING
        return Candidate(match, end, _WORK_OF_A_CHECK)
    match, read = probe.read(bytes(data[start:end]))
    return Candidate(match, end, _WORK_OF_A_CHECK + size // _BYTES_COPIED + read)


def name_at(probe: Probe, data: bytearray, at: int) -> str | None:
    """Return what the frame at a place is that cannot be read; None if unknown."""
    start = at + SIZE_SIZE
    return probe.name(bytes(data[start : start + _ENOUGH_FOR_HEADER]))


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
