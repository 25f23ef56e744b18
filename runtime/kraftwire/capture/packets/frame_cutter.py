"""Cuts one direction of a connection into frames, also after missing bytes.

A frame with missing bytes is lost, and the next one begins where its size says. If its size is
missing too, or is not a size that a frame has, the cutter searches for the next boundary (see
`boundaries`). Every byte that is not in a frame is reported as lost, with its position.

A search ends at the first whole frame. It waits for the end of a candidate. If bytes are missing or
the stream ends, it searches the buffered bytes first, since a false candidate may contain whole
frames. The work of a search is proportional to the bytes it gets.

`FrameSplitter` of `kraftwire_wire.framing` does the same for streams without holes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from kraftwire.capture.packets.boundaries import (
    SIZE_SIZE,
    Candidate,
    Match,
    Probe,
    check,
    frame_size,
    name_at,
)
from kraftwire.capture.packets.reassembly import StreamPiece
from kraftwire_wire.framing import DEFAULT_MAX_FRAME_SIZE

MISSING: Final = "bytes that are not in the capture"
INCOMPLETE: Final = "frames of which bytes are missing"
BAD_SIZE: Final = "a size that no frame has"
SKIPPED: Final = "bytes before the next frame that could be found"
UNREAD: Final = "a request that cannot be read"
"""The reason continues with its API and version."""
CUT_OFF: Final = "frames that continue after the end of their connection"
GIVEN_UP: Final = "too many places that looked like the beginning of a frame"

_HEAD_SIZE = 8
_WORK_AT_START = 1 << 20
_WORK_PER_BYTE = 8
"""How much a search may do for each byte it gets; see `Candidate.work`."""
_PATIENCE_BYTES = 1 << 18
"""How many bytes to wait for the end of a candidate before searching within it."""
_MARK_BYTES = 100

ReportLoss = Callable[[str, int, int, int], None]
"""Takes a reason, the number of bytes, their offset in the stream, and the packet."""


class CutFrame(NamedTuple):
    """A frame, its length prefix's offset in the stream, and the packet that completed it."""

    data: bytes
    offset: int
    packet: int
    time: float


class _PacketMark(NamedTuple):
    """The offset from which on the buffer has the bytes of a packet."""

    offset: int
    packet: int
    time: float


class _UnreadRequest(NamedTuple):
    """The offsets of a request that cannot be read, and what it is."""

    start: int
    end: int
    name: str


class FrameCutter:
    """Cuts the pieces of one direction into frames."""

    def __init__(
        self, probe: Probe, report: ReportLoss, *, at_boundary: bool, begins_at: int = 0
    ) -> None:
        """With `at_boundary`, a frame begins at the offset `begins_at`."""
        self._probe = probe
        self._report = report
        self._buffer = bytearray()
        self._offset = 0
        self._searching = not at_boundary or begins_at > 0
        self._begins_at = begins_at
        self._seek_from = 0
        self._complete_at = 0
        self._work_left = _WORK_AT_START
        self._unread: deque[_UnreadRequest] = deque()
        self._marks: list[_PacketMark] = []
        self._skip = 0
        self._packet = 0
        self._time = 0.0

    @property
    def memory_bytes(self) -> int:
        """About how much memory the buffered bytes take."""
        return len(self._buffer) + _MARK_BYTES * len(self._marks)

    def feed(self, piece: StreamPiece) -> Iterator[CutFrame]:
        """Add the next piece; yield the frames that it completes."""
        self._packet, self._time = piece.packet, piece.time
        if piece.data is None:
            yield from self._miss(piece)
            return
        data = piece.data
        if self._skip:
            skipped = min(self._skip, piece.size)
            self._skip -= skipped
            self._report(INCOMPLETE, skipped, piece.offset, piece.packet)
            data = data[skipped:]
        if not self._buffer:
            self._offset = piece.end - len(data)
        if self._searching or self._marks:
            self._marks.append(_PacketMark(piece.end - len(data), piece.packet, piece.time))
        self._work_left += _WORK_PER_BYTE * len(data)
        self._buffer += data
        yield from self._cut(is_end=False)

    def close(self, packet: int, time: float) -> Iterator[CutFrame]:
        """End the stream; yield the frames that a search still finds."""
        self._packet, self._time = packet, time
        yield from self._cut(is_end=True)
        self._drop(len(self._buffer), SKIPPED if self._searching else CUT_OFF)

    def _cut(self, *, is_end: bool) -> Iterator[CutFrame]:
        packet, time = self._packet, self._time
        while not self._searching or self._search(is_end=is_end):
            at = size = 0
            while len(self._buffer) - at >= SIZE_SIZE:
                size = frame_size(self._buffer, at)
                if not 0 <= size <= DEFAULT_MAX_FRAME_SIZE:
                    break
                end = at + SIZE_SIZE + size
                if end > len(self._buffer):
                    break
                if self._marks:
                    _, packet, time = self._mark_of(self._offset + end - 1)
                yield CutFrame(
                    bytes(self._buffer[at + SIZE_SIZE : end]), self._offset + at, packet, time
                )
                at, size = end, 0
            if at:
                self._remove(at)
            if 0 <= size <= DEFAULT_MAX_FRAME_SIZE:
                return
            self._report(BAD_SIZE, 0, self._offset, self._packet)
            self._begin_search()

    def _miss(self, piece: StreamPiece) -> Iterator[CutFrame]:
        """Handle missing bytes; yield the frames that a search still finds before them."""
        self._report(MISSING, piece.size, piece.offset, piece.packet)
        size = piece.size
        if self._skip:
            size -= min(self._skip, size)
            self._skip -= piece.size - size
            if not size:
                return
        if self._searching:
            yield from self._cut(is_end=True)
        known = not self._searching and len(self._buffer) >= SIZE_SIZE
        lacking = 0
        if known:
            lacking = SIZE_SIZE + frame_size(self._buffer, 0) - len(self._buffer)
        self._drop(len(self._buffer), SKIPPED if self._searching else INCOMPLETE)
        if known and size <= lacking:
            self._skip = lacking - size
        elif size:
            self._begin_search()

    # -- searching -------------------------------------------------------------------------

    def _begin_search(self) -> None:
        self._searching = True
        self._seek_from = self._complete_at = 0

    def _search(self, *, is_end: bool) -> bool:
        """Advance the buffer's start to a boundary; False if there is none yet."""
        if self._begins_at:
            return self._skip_to_begin()
        if not is_end and len(self._buffer) < self._complete_at:
            return False
        held: tuple[int, Candidate] | None = None
        seek = self._seek_from
        while (at := self._probe.find(self._buffer, seek)) is not None:
            candidate = check(self._probe, self._buffer, at)
            self._work_left -= candidate.work
            if self._is_boundary(candidate, is_end, is_inside_another=held is not None):
                self._begin_at(at)
                return True
            if held is None and not is_end and self._needs_more(candidate):
                held = at, candidate
                if len(self._buffer) - at < _PATIENCE_BYTES:
                    break
            elif candidate.match is Match.UNREAD or (
                candidate.match is Match.INCOMPLETE and is_end
            ):
                self._note_unread(at, candidate)
            seek = at + 1
            if self._work_left < 0:
                self._drop(len(self._buffer), GIVEN_UP)
                self._seek_from = self._complete_at = 0
                return False
        if not is_end:
            self._wait(held)
        return False

    def _skip_to_begin(self) -> bool:
        """Drop the bytes before the known boundary."""
        before = max(self._begins_at - self._offset, 0)
        if len(self._buffer) < before:
            self._drop(len(self._buffer), SKIPPED)
            return False
        self._begins_at = 0
        self._begin_at(before)
        return True

    def _begin_at(self, at: int) -> None:
        self._drop(at, SKIPPED)
        self._unread.clear()
        self._searching = False

    def _wait(self, held: tuple[int, Candidate] | None) -> None:
        """Wait until enough bytes of a candidate have come to check it again."""
        self._seek_from = self._complete_at = 0
        if held is None:
            self._drop(len(self._buffer) - _HEAD_SIZE + 1, SKIPPED)
            return
        at, candidate = held
        self._drop(at, SKIPPED)
        # Double it each time, so that all checks together take linear time.
        patience = max(_PATIENCE_BYTES, 2 * len(self._buffer))
        needed = candidate.end - at
        if candidate.match is not Match.INCOMPLETE:
            needed += _HEAD_SIZE
        self._complete_at = min(needed, patience)

    def _is_boundary(self, candidate: Candidate, is_end: bool, *, is_inside_another: bool) -> bool:
        """Whether a frame begins at a candidate.

        With `is_inside_another`, the candidate is within another one that is not whole yet: then a
        second frame must follow it.
        """
        if candidate.match is Match.FRAME and not is_inside_another:
            return True
        if candidate.match not in (Match.FRAME, Match.UNREAD):
            return False
        end = candidate.end
        if len(self._buffer) - end < _HEAD_SIZE:
            return is_end and len(self._buffer) == end
        if not self._probe.matches_at(self._buffer, end):
            return False
        following = check(self._probe, self._buffer, end)
        self._work_left -= following.work
        return following.match in (Match.FRAME, Match.UNREAD) or (
            following.match is Match.INCOMPLETE and not is_inside_another
        )

    def _needs_more(self, candidate: Candidate) -> bool:
        """Whether more bytes are needed to decide what a candidate is."""
        if candidate.match is Match.UNREAD:
            return len(self._buffer) - candidate.end < _HEAD_SIZE
        return candidate.match is Match.INCOMPLETE

    def _note_unread(self, at: int, candidate: Candidate) -> None:
        """Remember what a skipped request is, so that the report can name it."""
        name = name_at(self._probe, self._buffer, at)
        start = self._offset + at
        if name is not None and (not self._unread or self._unread[-1].end <= start):
            end = min(candidate.end, len(self._buffer))
            self._unread.append(_UnreadRequest(start, self._offset + end, name))

    # -- the buffer ------------------------------------------------------------------------

    def _drop(self, size: int, reason: str) -> None:
        """Remove the first bytes of the buffer, and report them."""
        if size <= 0:
            return
        end = self._offset + size
        while self._unread and self._unread[0].start < end:
            start, stop, name = self._unread.popleft()
            self._drop_to(start, reason)
            self._drop_to(min(stop, end), f"{UNREAD}, {name}")
            if stop > end:
                self._unread.appendleft(_UnreadRequest(end, stop, name))
        self._drop_to(end, reason)

    def _drop_to(self, offset: int, reason: str) -> None:
        size = offset - self._offset
        if size > 0:
            packet = self._mark_of(self._offset).packet
            self._report(reason, size, self._offset, packet)
            self._remove(size)

    def _remove(self, size: int) -> None:
        del self._buffer[:size]
        self._offset += size
        if not self._buffer:
            self._marks.clear()
        elif self._marks:
            past = bisect_right(self._marks, self._offset, key=_offset_of) - 1
            del self._marks[: max(past, 0)]

    def _mark_of(self, offset: int) -> _PacketMark:
        """Return the mark of the packet that has the byte at an offset."""
        at = bisect_right(self._marks, offset, key=_offset_of)
        return self._marks[at - 1] if at else _PacketMark(offset, self._packet, self._time)


def _offset_of(mark: _PacketMark) -> int:
    return mark.offset
