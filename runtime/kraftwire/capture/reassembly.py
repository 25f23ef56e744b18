"""One direction of a TCP connection: segments in any order become a stream of bytes.

Rules:

- Sequence numbers count modulo 2^32; a segment lies within 2^30 of what is expected next
  (no window is larger), or it is not of this stream and left out. Where some of these join
  on to one another, the stream has gone on there: what lies between is missing.
- Where segments overlap, the bytes that came first stay.
- What comes before its turn is held. The caller decides when what is missing will not come
  any more, and says so with `give_up`.
- A piece has the time of the packet that put it in its place: its own, or that of the
  packet that filled the hole before it.
- A hole has the packet that shows it, however much later it is given up: the one whose bytes
  follow it, or the one that acknowledged bytes which nobody saw, if that came before.

The result is a sequence of pieces that join without a break; bytes that are missing are a
piece without data. No clock, no file.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

_MODULUS = 1 << 32
_HALF = 1 << 31
_WINDOW = 1 << 30
_ENOUGH_TO_GO_ON = 3
"""How many segments in a row that join show where the stream is."""


class _Elsewhere(NamedTuple):
    """Segments outside of the window that join: what follows them, and where they began."""

    following: int = -1
    segments: int = 0
    size_bytes: int = 0
    packet: int = 0
    time: float = 0.0


_NOWHERE = _Elsewhere()
_PIECE_BYTES = 200
"""What a piece takes beside its data."""


class Piece(NamedTuple):
    """Bytes of a stream.

    Fields:
        offset: where they are in the stream; its first byte is 0.
        data: the bytes; None where they are missing.
        size: how many there are.
        packet, time: which packet put them in their place, or shows that they are missing.
        answers: up to which offset their sender had the other direction then.
    """

    offset: int
    data: bytes | None
    size: int
    packet: int
    time: float
    answers: int = 0

    @property
    def end(self) -> int:
        """The offset behind it."""
        return self.offset + self.size


def piece_memory_bytes(piece: Piece) -> int:
    """About how much memory a piece takes."""
    return _PIECE_BYTES + len(piece.data or b"")


class Assembler:
    """Puts the segments of one direction in order."""

    def __init__(self) -> None:
        self.expected = 0
        """The offset of the next byte in its turn."""
        self.held_bytes = 0
        """How many bytes wait for others before them."""
        self.out_of_window = 0
        """How many segments were left out."""
        self.out_of_window_bytes = 0
        """How many bytes they had."""
        self._sequence: int | None = None
        self._held: list[Piece] = []
        self._elsewhere = _NOWHERE
        """What joined on outside of the window."""

    @property
    def is_started(self) -> bool:
        """Whether it is known where the stream begins."""
        return self._sequence is not None

    @property
    def has_hole(self) -> bool:
        """Whether something waits for bytes before it."""
        return bool(self._held)

    @property
    def memory_bytes(self) -> int:
        """About how much memory what is held takes."""
        return self.held_bytes + _PIECE_BYTES * len(self._held)

    def start(self, sequence: int) -> None:
        """Say which sequence number the first byte has."""
        self._sequence = sequence

    def offset_of(self, sequence: int) -> int:
        """The offset of a sequence number, the one nearest to what is expected next."""
        assert self._sequence is not None, "start comes first"
        expected = self._sequence + self.expected
        return self.expected + (sequence - expected + _HALF) % _MODULUS - _HALF

    def is_in_window(self, sequence: int) -> bool:
        """Whether a sequence number may be of this stream."""
        return not self.is_started or abs(self.offset_of(sequence) - self.expected) < _WINDOW

    def add(
        self, sequence: int, data: bytes, cut: int, packet: int, time: float, answers: int = 0
    ) -> list[Piece]:
        """Take a segment, of which `cut` bytes more were not captured; what has its turn now."""
        if self._sequence is None:
            self._sequence = sequence
        offset = self.offset_of(sequence)
        if abs(offset - self.expected) >= _WINDOW:
            size = len(data) + cut
            if not self._has_gone_on(sequence, size, packet, time):
                self.out_of_window += 1
                self.out_of_window_bytes += size
                return []
            hole = self._go_on(sequence)
            return [*hole, *self.add(sequence, data, cut, packet, time, answers)]
        self._elsewhere = _NOWHERE
        if not self._held and not cut and offset == self.expected:  # nearly all segments
            self.expected += len(data)
            return [Piece(offset, data, len(data), packet, time, answers)] if data else []
        if data:
            self._hold(Piece(offset, data, len(data), packet, time, answers))
        if cut:
            self._hold(Piece(offset + len(data), None, cut, packet, time))
        return self._take_turns(packet, time)

    def give_up(self, packet: int = 0, time: float = 0.0, offset: int | None = None) -> list[Piece]:
        """Stop waiting for the bytes that are missing next; return what has its turn then.

        They end where the next held piece begins, or at `offset` if that comes before; `packet`
        is the one that showed that there were bytes up to `offset`, and `time` its time.
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
        hole = Piece(self.expected, None, size, packet, time)
        self.expected += size
        return [hole, *self._take_turns(0, 0.0)]

    def _has_gone_on(self, sequence: int, size: int, packet: int, time: float) -> bool:
        """Whether a segment outside of the window shows where the stream is now."""
        before = self._elsewhere
        if sequence != before.following:
            before = _Elsewhere(packet=packet, time=time)
        self._elsewhere = before._replace(
            following=(sequence + size) % _MODULUS,
            segments=before.segments + 1,
            size_bytes=before.size_bytes + size,
        )
        return bool(size) and self._elsewhere.segments >= _ENOUGH_TO_GO_ON

    def _go_on(self, sequence: int) -> list[Piece]:
        """Give up all before a sequence number; that is far away, so it is further on."""
        pieces: list[Piece] = []
        while given_up := self.give_up():
            pieces += given_up
        _, segments, size_bytes, packet, time = self._elsewhere
        self._elsewhere = _NOWHERE
        self.out_of_window -= segments - 1
        self.out_of_window_bytes -= size_bytes
        gap = (self.offset_of(sequence) - self.expected) % _MODULUS
        self.expected += gap
        return [*pieces, Piece(self.expected - gap, None, gap, packet, time)]

    def _hold(self, new: Piece) -> None:
        """Keep those bytes of a piece that are neither past nor there already."""
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

    def _insert(self, at: int, new: Piece, start: int, end: int) -> None:
        data = new.data
        if data is not None:
            data = data[start - new.offset : end - new.offset]
            self.held_bytes += end - start
        self._held.insert(at, new._replace(offset=start, data=data, size=end - start))

    def _take_turns(self, packet: int, time: float) -> list[Piece]:
        """The held pieces that join on to what is past, put there by a packet."""
        ready = 0
        for piece in self._held:
            if piece.offset != self.expected:
                break
            self.expected = piece.end
            self.held_bytes -= 0 if piece.data is None else piece.size
            ready += 1
        taken = self._held[:ready]
        del self._held[:ready]
        return [
            piece if piece.packet >= packet else piece._replace(packet=packet, time=time)
            for piece in taken
        ]
