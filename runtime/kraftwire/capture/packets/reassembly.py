"""One direction of a TCP connection: orders segments into a stream of bytes.

Rules:

- Sequence numbers count modulo 2^32. A segment more than 2^30 away from the expected number (no
  window is larger) does not belong to the stream and is left out. But if several such segments
  follow one another, the stream continues there, and the bytes between are missing.
- If segments overlap, the bytes that came first are kept.
- Segments that come early are held. The caller decides when to stop waiting for missing bytes, and
  calls `give_up`.
- A piece has the time of the packet that made it available: its own, or that of the packet that
  filled the hole before it.
- A hole has the packet that reveals it, however much later it is given up: the one whose bytes
  follow it, or an earlier one that acknowledged bytes which were not captured.

The result is a sequence of pieces without gaps; missing bytes are a piece without data.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

_MODULUS = 1 << 32
_HALF = 1 << 31
MAX_WINDOW = 1 << 30
_SEGMENTS_TO_CONTINUE = 3
"""After this many consecutive segments outside of the window, the stream continues there."""


class _FarSegments(NamedTuple):
    """Consecutive segments outside of the window: the next sequence number, the first packet."""

    following: int = -1
    segments: int = 0
    size_bytes: int = 0
    packet: int = 0
    time: float = 0.0


_NONE_FAR = _FarSegments()
_PIECE_BYTES = 200
"""The memory that a piece takes besides its data."""


class StreamPiece(NamedTuple):
    """Bytes of a stream.

    Fields:
        offset: their position in the stream; its first byte is 0.
        data: the bytes; None if they are missing.
        size: how many there are.
        packet, time: the packet that made them available, or revealed that they are missing.
        answers: up to which offset their sender had received the other direction.
    """

    offset: int
    data: bytes | None
    size: int
    packet: int
    time: float
    answers: int = 0

    @property
    def end(self) -> int:
        return self.offset + self.size

    @property
    def memory_bytes(self) -> int:
        return _PIECE_BYTES + len(self.data or b"")


class StreamAssembler:
    """Puts the segments of one direction in order."""

    def __init__(self) -> None:
        self.expected = 0
        """The offset of the next byte in order."""
        self.held_bytes = 0
        """How many bytes wait for earlier ones."""
        self.out_of_window = 0
        """How many segments were left out."""
        self.out_of_window_bytes = 0
        self._sequence: int | None = None
        self._held: list[StreamPiece] = []
        self._far = _NONE_FAR

    @property
    def is_started(self) -> bool:
        """Whether the sequence number of the first byte is known."""
        return self._sequence is not None

    @property
    def has_hole(self) -> bool:
        return bool(self._held)

    @property
    def memory_bytes(self) -> int:
        """About how much memory the held pieces take."""
        return self.held_bytes + _PIECE_BYTES * len(self._held)

    def start(self, sequence: int) -> None:
        """Set the sequence number of the first byte."""
        self._sequence = sequence

    def offset_of(self, sequence: int) -> int:
        """Return the offset of a sequence number, the one nearest to the expected offset."""
        assert self._sequence is not None, "start comes first"
        expected = self._sequence + self.expected
        return self.expected + (sequence - expected + _HALF) % _MODULUS - _HALF

    def is_in_window(self, sequence: int) -> bool:
        """Whether a sequence number may belong to this stream."""
        return not self.is_started or abs(self.offset_of(sequence) - self.expected) < MAX_WINDOW

    def add(
        self, sequence: int, data: bytes, cut: int, packet: int, time: float, answers: int = 0
    ) -> list[StreamPiece]:
        """Add a segment and return the pieces that are now in order.

        `cut` is the number of bytes lost to the snap length.
        """
        if self._sequence is None:
            self._sequence = sequence
        offset = self.offset_of(sequence)
        if abs(offset - self.expected) >= MAX_WINDOW:
            size = len(data) + cut
            if not self._continues_at(sequence, size, packet, time):
                self.out_of_window += 1
                self.out_of_window_bytes += size
                return []
            hole = self._skip_to(sequence)
            return [*hole, *self.add(sequence, data, cut, packet, time, answers)]
        self._far = _NONE_FAR
        if not self._held and not cut and offset == self.expected:  # nearly all segments
            self.expected += len(data)
            return [StreamPiece(offset, data, len(data), packet, time, answers)] if data else []
        if data:
            self._hold(StreamPiece(offset, data, len(data), packet, time, answers))
        if cut:
            self._hold(StreamPiece(offset + len(data), None, cut, packet, time))
        return self._release(packet, time)

    def give_up(
        self, packet: int = 0, time: float = 0.0, offset: int | None = None
    ) -> list[StreamPiece]:
        """Stop waiting for the next missing bytes; return the pieces that are then in order.

        The hole ends where the next held piece begins, or at `offset` if that comes before;
        `packet` is the one that revealed the bytes up to `offset`, and `time` its time.
        """
        end = offset
        if self._held and (offset is None or self._held[0].offset <= offset):
            held = self._held[0]
            end = held.offset
            if offset is None or held.packet < packet:
                packet, time = held.packet, held.time
        if end is None or end <= self.expected:
            return []
        size = end - self.expected
        hole = StreamPiece(self.expected, None, size, packet, time)
        self.expected += size
        return [hole, *self._release(0, 0.0)]

    def _continues_at(self, sequence: int, size: int, packet: int, time: float) -> bool:
        """Note a segment outside of the window; return whether the stream continues there."""
        before = self._far
        if sequence != before.following:
            before = _FarSegments(packet=packet, time=time)
        self._far = before._replace(
            following=(sequence + size) % _MODULUS,
            segments=before.segments + 1,
            size_bytes=before.size_bytes + size,
        )
        return bool(size) and self._far.segments >= _SEGMENTS_TO_CONTINUE

    def _skip_to(self, sequence: int) -> list[StreamPiece]:
        """Give up everything before a distant sequence number, which is taken to be ahead."""
        pieces: list[StreamPiece] = []
        while given_up := self.give_up():
            pieces += given_up
        _, segments, size_bytes, packet, time = self._far
        self._far = _NONE_FAR
        self.out_of_window -= segments - 1
        self.out_of_window_bytes -= size_bytes
        gap = (self.offset_of(sequence) - self.expected) % _MODULUS
        self.expected += gap
        return [*pieces, StreamPiece(self.expected - gap, None, gap, packet, time)]

    def _hold(self, new: StreamPiece) -> None:
        """Keep the bytes of a piece that were neither returned nor held before."""
        start, end = max(new.offset, self.expected), new.end
        at = bisect_right(self._held, start, key=lambda piece: piece.offset)
        if at and self._held[at - 1].end > start:
            start = self._held[at - 1].end
        while start < end:
            following = self._held[at].offset if at < len(self._held) else end
            if start < following:
                self._insert(at, new, start, min(end, following))
                at += 1
            if at >= len(self._held):
                return
            start = self._held[at].end
            at += 1

    def _insert(self, at: int, new: StreamPiece, start: int, end: int) -> None:
        data = new.data
        if data is not None:
            data = data[start - new.offset : end - new.offset]
            self.held_bytes += end - start
        self._held.insert(at, new._replace(offset=start, data=data, size=end - start))

    def _release(self, packet: int, time: float) -> list[StreamPiece]:
        """Remove and return the held pieces that a packet has put in order."""
        ready = 0
        for piece in self._held:
            if piece.offset != self.expected:
                break
            self.expected = piece.end
            self.held_bytes -= 0 if piece.data is None else piece.size
            ready += 1
        released = self._held[:ready]
        del self._held[:ready]
        return [
            piece if piece.packet >= packet else piece._replace(packet=packet, time=time)
            for piece in released
        ]
