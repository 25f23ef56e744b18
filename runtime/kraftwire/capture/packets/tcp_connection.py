"""One TCP connection: both directions in order, and when to stop waiting for missing bytes.

A receiver acknowledges what it has. Acknowledged bytes that the capture does not have yet are lost,
or come later in the file. They are given up after a number of packets of the connection, or after a
time. Bytes that were not acknowledged are given up only if too many bytes are held after them.

The bytes of one side may be the answer to what it had received before, so they are withheld until
all of that is released. So a response never comes before its request, whatever the order of the
packets.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from kraftwire.capture.packets.reassembly import MAX_WINDOW, StreamAssembler, StreamPiece
from kraftwire.capture.packets.tcp_segments import ACK, FIN, RST, SYN, TcpSegment

PATIENCE_PACKETS = 256
PATIENCE_SECONDS = 1.0
MAX_HELD_BYTES = 16 << 20
"""How much of one direction may wait for earlier bytes."""


@dataclass(slots=True)
class TcpSide:
    """The state of one direction.

    Fields:
        assembler: puts its segments in order.
        has_start: whether its SYN was seen, so that offset 0 is its first byte.
        acknowledged: the offset up to which the other side has acknowledged it.
        end: the offset of its FIN; None before.
        ended_by: the packet of the FIN, and its time.
        missed_at: the expected offset when acknowledged bytes were found missing.
        missed_since: how many packets of the connection had come then, and the time.
        missed_by: the packet that acknowledged them.
        missed_until: the offset up to which it acknowledged.
        withheld: pieces in order that wait for the other direction.
        withheld_bytes: about how much memory they take.
        released: the offset up to which pieces have been released.
    """

    assembler: StreamAssembler = field(default_factory=StreamAssembler)
    has_start: bool = False
    acknowledged: int = 0
    end: int | None = None
    ended_by: tuple[int, float] = (0, 0.0)
    missed_at: int = -1
    missed_since: tuple[int, float] = (0, 0.0)
    missed_by: int = 0
    missed_until: int = 0
    withheld: deque[StreamPiece] = field(default_factory=deque)
    withheld_bytes: int = 0
    released: int = 0

    @property
    def lacks_bytes(self) -> bool:
        """Whether acknowledged bytes are missing."""
        return self.acknowledged > self.assembler.expected

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is missing, held or withheld."""
        assembler = self.assembler
        return (
            self.acknowledged <= assembler.expected and not assembler.has_hole and not self.withheld
        )

    def withhold(self, pieces: list[StreamPiece]) -> None:
        """Keep pieces until `release` is called for them."""
        self.withheld += pieces
        self.withheld_bytes += sum(piece.memory_bytes for piece in pieces)

    def release(self) -> StreamPiece:
        """Return the first withheld piece."""
        piece = self.withheld.popleft()
        self.withheld_bytes -= piece.memory_bytes
        self.released = piece.end
        return piece

    def give_up(self) -> None:
        """Stop waiting for missing acknowledged bytes.

        One missing byte at the end counts as a FIN, which has a sequence number but no byte.
        """
        if self.acknowledged == self.assembler.expected + 1 and not self.assembler.has_hole:
            self.acknowledged -= 1
        else:
            shown_by = self.missed_by, self.missed_since[1]
            self.withhold(self.assembler.give_up(*shown_by, self.acknowledged))

    @property
    def is_over(self) -> bool:
        """Whether everything up to its end has come."""
        return self.end is not None and self.assembler.expected >= self.end


class TcpConnection:
    """Orders the segments of one connection into the pieces of both directions.

    A direction is 0 (from the endpoint that was seen first) or 1.
    """

    def __init__(self, first: bytes) -> None:
        """`first` is the endpoint of direction 0."""
        self.first = first
        self.sides = (TcpSide(), TcpSide())
        self.client: int | None = None
        """The direction of the side that opened the connection; None if that is unknown."""
        self.is_over = False
        self._packets = 0

    @property
    def memory_bytes(self) -> int:
        """About how much memory the waiting bytes take."""
        if self.sides[0].is_quiet and self.sides[1].is_quiet:
            return 0
        return sum(side.assembler.memory_bytes + side.withheld_bytes for side in self.sides)

    def is_reopened_by(self, segment: TcpSegment) -> bool:
        """Whether a segment begins a new connection between the same endpoints."""
        if segment.flags & (SYN | ACK) != SYN:
            return False
        side = self.sides[segment.source != self.first]
        if not side.assembler.is_started:
            return False
        begins = side.assembler.offset_of((segment.sequence + 1) % (1 << 32))
        return not side.has_start or begins != 0

    def receive(
        self, segment: TcpSegment, packet: int, time: float
    ) -> list[tuple[int, StreamPiece]]:
        """Add a segment; return pieces with their directions, answers after what they answer."""
        self._packets += 1
        direction = int(segment.source != self.first)
        side, other = self.sides[direction], self.sides[1 - direction]
        sequence, flags = segment.sequence, segment.flags
        if flags & SYN:
            sequence += 1
            self._open(direction, sequence, flags)
        answers = _acknowledge(other, segment.acknowledged) if flags & ACK else 0
        pieces: list[StreamPiece] = []
        if segment.data or segment.cut:
            pieces = side.assembler.add(sequence, segment.data, segment.cut, packet, time, answers)
        if flags & FIN and side.assembler.is_started:
            end = side.assembler.offset_of(sequence) + len(segment.data) + segment.cut
            if side.end is None:
                side.end, side.ended_by = end, (packet, time)
        is_reset = flags & RST and side.assembler.is_in_window(sequence)
        self.is_over = bool(is_reset) or (side.is_over and other.is_over)
        if side.is_quiet and other.is_quiet:  # nearly always
            side.released = side.assembler.expected
            return [(direction, piece) for piece in pieces]
        side.withhold(pieces)
        for each in self.sides:
            self._give_up_if_hopeless(each, packet, time)
        return self._release()

    def close(self) -> list[tuple[int, StreamPiece]]:
        """Return the remaining pieces, since no more segments will come."""
        for side in self.sides:
            while side.lacks_bytes and side.assembler.has_hole:
                side.give_up()
            while given_up := side.assembler.give_up():
                side.withhold(given_up)
            if side.end is not None and side.end > side.assembler.expected:
                side.withhold(side.assembler.give_up(*side.ended_by, side.end))
            side.give_up()
            side.acknowledged = 0
        return self._release()

    def _open(self, direction: int, sequence: int, flags: int) -> None:
        side = self.sides[direction]
        if not side.assembler.is_started:
            side.assembler.start(sequence)
            side.has_start = True
        if self.client is None:
            self.client = 1 - direction if flags & ACK else direction

    def _give_up_if_hopeless(self, side: TcpSide, packet: int, time: float) -> None:
        assembler = side.assembler
        while assembler.memory_bytes > MAX_HELD_BYTES:
            side.withhold(assembler.give_up())
        if not side.lacks_bytes:
            side.missed_at = -1
        elif side.missed_at != assembler.expected:
            side.missed_at, side.missed_since = assembler.expected, (self._packets, time)
            side.missed_by = packet
            side.missed_until = side.acknowledged
        else:
            packets, since = side.missed_since
            if self._packets - packets >= PATIENCE_PACKETS or time - since >= PATIENCE_SECONDS:
                # Give up all holes of that time together: one per timeout would let them pile up.
                while side.lacks_bytes and assembler.expected < side.missed_until:
                    side.give_up()

    def _release(self) -> list[tuple[int, StreamPiece]]:
        """Return the pieces that need not wait any longer."""
        released: list[tuple[int, StreamPiece]] = []
        first = self.client or 0
        while True:
            before = len(released)
            for direction in (first, 1 - first):
                side, other = self.sides[direction], self.sides[1 - direction]
                while side.withheld and side.withheld[0].answers <= other.released:
                    released.append((direction, side.release()))
            if len(released) > before:
                continue
            # The awaited bytes may not exist: a FIN, which is not a byte, or a wrong number.
            stuck = [one for one in (first, 1 - first) if self._is_stuck(one)]
            if not stuck:
                return released
            released.append((stuck[0], self.sides[stuck[0]].release()))

    def _is_stuck(self, direction: int) -> bool:
        """Whether pieces are withheld for bytes that will not come."""
        side, other = self.sides[direction], self.sides[1 - direction]
        if not side.withheld or other.lacks_bytes:
            return False
        return not other.withheld or not side.lacks_bytes


def _acknowledge(side: TcpSide, sequence: int) -> int:
    """Set the sequence number up to which the other side has received; return its offset."""
    if not side.assembler.is_started:
        side.assembler.start(sequence)
    offset = side.assembler.offset_of(sequence)
    if side.end is not None:
        offset = min(offset, side.end)  # a FIN has a sequence number, but no byte
    if side.acknowledged < offset < side.assembler.expected + MAX_WINDOW:
        side.acknowledged = offset
    return offset
