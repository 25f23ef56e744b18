"""One direction of a connection cut into frames, also behind bytes that are missing.

A frame with missing bytes is lost, and the next one begins where its size says, unless its
size is missing too or is none that a frame has: then the next boundary is searched for (see
`boundaries`). Every byte that is not in a frame is reported as lost, with its place.

`FrameSplitter` of `kraftwire_wire.framing` does the same for streams without holes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from kraftwire.capture.boundaries import SIZE_SIZE, Match, Probe, check, frame_size
from kraftwire.capture.reassembly import Piece
from kraftwire_wire.framing import DEFAULT_MAX_FRAME_SIZE

MISSING: Final = "bytes that are not in the capture"
INCOMPLETE: Final = "frames of which bytes are missing"
BAD_SIZE: Final = "a size that no frame has"
SKIPPED: Final = "bytes before the next frame that could be found"
CUT_OFF: Final = "frames that go on behind the end of their connection"
GIVEN_UP: Final = "no frame was found any more"

_HEAD_SIZE = 8
_MAX_CHECKS = 2000
"""How many candidates are looked at closely before a search ends."""

Report = Callable[[str, int, int, int], None]
"""Takes a reason, how many bytes, their offset in the stream, and the packet."""


class CutFrame(NamedTuple):
    """A frame, its length prefix's offset in the stream, and the packet that completed it."""

    data: bytes
    offset: int
    packet: int
    time: float


class FrameCutter:
    """Takes the pieces of one direction, gives its frames."""

    def __init__(self, probe: Probe, report: Report, *, at_boundary: bool) -> None:
        """`at_boundary` says whether the first byte begins a frame."""
        self._probe = probe
        self._report = report
        self._buffer = bytearray()
        self._offset = 0
        self._searching = not at_boundary
        self._seek_from = 0
        self._checks = 0
        self._skip = 0
        self._given_up = False
        self._packet = 0

    @property
    def memory_bytes(self) -> int:
        """How many bytes wait for the rest of their frame."""
        return len(self._buffer)

    def feed(self, piece: Piece) -> Iterator[CutFrame]:
        """Take the next piece; gives the frames that it completes."""
        self._packet = piece.packet
        if piece.data is None:
            self._miss(piece)
            return
        data = piece.data
        if self._skip:
            skipped = min(self._skip, piece.size)
            self._skip -= skipped
            self._report(INCOMPLETE, skipped, piece.offset, piece.packet)
            data = data[skipped:]
        if self._given_up:
            self._report(GIVEN_UP, len(data), piece.offset, piece.packet)
            return
        if not self._buffer:
            self._offset = piece.end - len(data)
        self._buffer += data
        yield from self._cut(piece.packet, piece.time, is_end=False)

    def close(self, packet: int, time: float) -> Iterator[CutFrame]:
        """The stream ends; gives what a search still had before it."""
        self._packet = packet
        yield from self._cut(packet, time, is_end=True)
        self._drop(len(self._buffer), SKIPPED if self._searching else CUT_OFF)

    def _cut(self, packet: int, time: float, *, is_end: bool) -> Iterator[CutFrame]:
        while not self._searching or self._search(is_end=is_end):
            at = size = 0
            while len(self._buffer) - at >= SIZE_SIZE:
                size = frame_size(self._buffer, at)
                if not 0 <= size <= DEFAULT_MAX_FRAME_SIZE:
                    break
                end = at + SIZE_SIZE + size
                if end > len(self._buffer):
                    break
                yield CutFrame(
                    bytes(self._buffer[at + SIZE_SIZE : end]), self._offset + at, packet, time
                )
                at, size = end, 0
            del self._buffer[:at]
            self._offset += at
            if 0 <= size <= DEFAULT_MAX_FRAME_SIZE:
                return
            self._report(BAD_SIZE, 0, self._offset, packet)
            self._begin_search()

    def _miss(self, piece: Piece) -> None:
        """Bytes are missing here."""
        self._report(MISSING, piece.size, piece.offset, piece.packet)
        size = piece.size
        if self._skip:
            size -= min(self._skip, size)
            self._skip -= piece.size - size
            if not size:
                return
        known = not self._searching and len(self._buffer) >= SIZE_SIZE
        lacking = 0
        if known:
            lacking = SIZE_SIZE + frame_size(self._buffer, 0) - len(self._buffer)
        self._drop(len(self._buffer), SKIPPED if self._searching else INCOMPLETE)
        if known and size <= lacking:
            self._skip = lacking - size
        elif size:
            self._begin_search()

    def _begin_search(self) -> None:
        self._searching = True
        self._seek_from = self._checks = 0

    def _search(self, *, is_end: bool) -> bool:
        """Put the buffer's start at a boundary; False where there is none yet."""
        while True:
            at = self._probe.find(self._buffer, self._seek_from)
            if at is None:
                self._drop(len(self._buffer) - _HEAD_SIZE + 1, SKIPPED)
                self._seek_from = 0
                return False
            match = check(self._probe, self._buffer, at)
            if match is Match.INCOMPLETE and not is_end:
                self._drop(at, SKIPPED)
                self._seek_from = 0
                return False
            if match is Match.FRAME:
                self._drop(at, SKIPPED)
                self._searching = False
                return True
            self._seek_from = at + 1
            self._checks += 1
            if self._checks >= _MAX_CHECKS:
                self._drop(len(self._buffer), GIVEN_UP)
                self._given_up = True
                return False

    def _drop(self, size: int, reason: str) -> None:
        """Leave out the first bytes of what waits, and say so."""
        if size > 0:
            self._report(reason, size, self._offset, self._packet)
            del self._buffer[:size]
            self._offset += size
