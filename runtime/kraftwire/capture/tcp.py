"""One TCP connection: both directions put in order, and told what will not come any more.

A receiver acknowledges what it has. Where bytes are acknowledged that the capture does not
have, they are lost or stand further on in the file: they are waited for until a number of
packets of the connection or a time has passed, and given up then. Bytes that nobody has
acknowledged are waited for as long as not too much is held behind them.

What one end says is kept back until all has been given that it had received by then: it
may be the answer. So a response never comes before its request, however the packets were
shuffled when they were captured.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from kraftwire.capture.reassembly import Assembler, Piece, piece_memory_bytes
from kraftwire.capture.segments import ACK, FIN, RST, SYN, Segment

PATIENCE_PACKETS = 256
PATIENCE_SECONDS = 1.0
MAX_HELD_BYTES = 16 << 20
"""How much of one direction may wait for bytes before it."""

_MAX_WINDOW = 1 << 30


@dataclass(slots=True)
class Side:
    """What is known of one direction.

    Fields:
        assembler: puts its segments in order.
        has_start: whether its SYN was seen, so that offset 0 is its first byte.
        acknowledged: up to which offset the other side has said that it has it.
        end: the offset of its FIN; None before.
        ended_by: the packet of the FIN, and its time.
        missed_at: what was expected next when something acknowledged was found missing.
        missed_since: how many packets of the connection had come then, and the time.
        missed_by: the packet that acknowledged it.
        missed_until: up to which offset was acknowledged then.
        kept_back: what has its turn, and waits for the other direction.
        kept_bytes: about how much memory that takes.
        given: up to which offset it has been given.
    """

    assembler: Assembler = field(default_factory=Assembler)
    has_start: bool = False
    acknowledged: int = 0
    end: int | None = None
    ended_by: tuple[int, float] = (0, 0.0)
    missed_at: int = -1
    missed_since: tuple[int, float] = (0, 0.0)
    missed_by: int = 0
    missed_until: int = 0
    kept_back: deque[Piece] = field(default_factory=deque)
    kept_bytes: int = 0
    given: int = 0

    @property
    def lacks_bytes(self) -> bool:
        """Whether something was acknowledged that is not there."""
        return self.acknowledged > self.assembler.expected

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is missing, nothing held and nothing kept back."""
        assembler = self.assembler
        return (
            self.acknowledged <= assembler.expected
            and not assembler.has_hole
            and not self.kept_back
        )

    def keep_back(self, pieces: list[Piece]) -> None:
        """What has its turn, until it is taken."""
        self.kept_back += pieces
        self.kept_bytes += sum(map(piece_memory_bytes, pieces))

    def take(self) -> Piece:
        """The first of what was kept back, which is given now."""
        piece = self.kept_back.popleft()
        self.kept_bytes -= piece_memory_bytes(piece)
        self.given = piece.end
        return piece

    def give_up(self) -> None:
        """Stop waiting for what was acknowledged and is not there.

        One byte at the end is taken for a FIN, which has a number and is no byte.
        """
        if self.acknowledged == self.assembler.expected + 1 and not self.assembler.has_hole:
            self.acknowledged -= 1
        else:
            shown_by = self.missed_by, self.missed_since[1]
            self.keep_back(self.assembler.give_up(*shown_by, self.acknowledged))

    @property
    def is_over(self) -> bool:
        """Whether all up to its end has come."""
        return self.end is not None and self.assembler.expected >= self.end


class TcpConnection:
    """Takes the segments of one connection, and gives the pieces of both directions.

    A direction is 0 (from the endpoint that was seen first) or 1.
    """

    def __init__(self, first: bytes) -> None:
        """`first` is the endpoint of direction 0."""
        self.first = first
        self.sides = (Side(), Side())
        self.client: int | None = None
        """The direction of the side that opened the connection; None where that is unknown."""
        self.is_over = False
        self._packets = 0

    @property
    def memory_bytes(self) -> int:
        """About how much memory what waits here takes."""
        if self.sides[0].is_quiet and self.sides[1].is_quiet:
            return 0
        return sum(side.assembler.memory_bytes + side.kept_bytes for side in self.sides)

    def is_reopened_by(self, segment: Segment) -> bool:
        """Whether a segment begins a new connection between the same endpoints."""
        if segment.flags & (SYN | ACK) != SYN:
            return False
        side = self.sides[segment.source != self.first]
        if not side.assembler.is_started:
            return False
        begins = side.assembler.offset_of((segment.sequence + 1) % (1 << 32))
        return not side.has_start or begins != 0

    def receive(self, segment: Segment, packet: int, time: float) -> list[tuple[int, Piece]]:
        """Take a segment; returns directions and pieces, in an order that makes sense."""
        self._packets += 1
        direction = int(segment.source != self.first)
        side, other = self.sides[direction], self.sides[1 - direction]
        sequence, flags = segment.sequence, segment.flags
        if flags & SYN:
            sequence += 1
            self._open(direction, sequence, flags)
        answers = _acknowledge(other, segment.acknowledged) if flags & ACK else 0
        pieces: list[Piece] = []
        if segment.data or segment.cut:
            pieces = side.assembler.add(sequence, segment.data, segment.cut, packet, time, answers)
        if flags & FIN and side.assembler.is_started:
            end = side.assembler.offset_of(sequence) + len(segment.data) + segment.cut
            if side.end is None:
                side.end, side.ended_by = end, (packet, time)
        is_reset = flags & RST and side.assembler.is_in_window(sequence)
        self.is_over = bool(is_reset) or (side.is_over and other.is_over)
        if side.is_quiet and other.is_quiet:  # nearly always
            side.given = side.assembler.expected
            return [(direction, piece) for piece in pieces]
        side.keep_back(pieces)
        for each in (0, 1):
            self._give_up_where_hopeless(each, packet, time)
        return self._release()

    def close(self) -> list[tuple[int, Piece]]:
        """Return all that is left, as nothing more comes."""
        for side in self.sides:
            while side.lacks_bytes and side.assembler.has_hole:
                side.give_up()
            while given_up := side.assembler.give_up():
                side.keep_back(given_up)
            if side.end is not None and side.end > side.assembler.expected:
                side.keep_back(side.assembler.give_up(*side.ended_by, side.end))
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

    def _give_up_where_hopeless(self, direction: int, packet: int, time: float) -> None:
        side = self.sides[direction]
        assembler = side.assembler
        while assembler.memory_bytes > MAX_HELD_BYTES:
            side.keep_back(assembler.give_up())
        if not side.lacks_bytes:
            side.missed_at = -1
        elif side.missed_at != assembler.expected:
            side.missed_at, side.missed_since = assembler.expected, (self._packets, time)
            side.missed_by = packet
            side.missed_until = side.acknowledged
        else:
            packets, since = side.missed_since
            if self._packets - packets >= PATIENCE_PACKETS or time - since >= PATIENCE_SECONDS:
                # All holes that were there then, or they would pile up where many packets are lost.
                while side.lacks_bytes and assembler.expected < side.missed_until:
                    side.give_up()

    def _release(self) -> list[tuple[int, Piece]]:
        """What nothing keeps back any more."""
        released: list[tuple[int, Piece]] = []
        first = self.client or 0
        while True:
            before = len(released)
            for direction in (first, 1 - first):
                side, other = self.sides[direction], self.sides[1 - direction]
                while side.kept_back and side.kept_back[0].answers <= other.given:
                    released.append((direction, side.take()))
            if len(released) > before:
                continue
            # What is waited for may not be there: a FIN that is no byte, or nonsense.
            ready = [
                direction for direction in (first, 1 - first) if self._waits_in_vain(direction)
            ]
            if not ready:
                return released
            released.append((ready[0], self.sides[ready[0]].take()))

    def _waits_in_vain(self, direction: int) -> bool:
        """Whether something is kept back for bytes that will not come."""
        side, other = self.sides[direction], self.sides[1 - direction]
        if not side.kept_back or other.lacks_bytes:
            return False
        return not other.kept_back or not side.lacks_bytes


def _acknowledge(side: Side, sequence: int) -> int:
    """The other side has everything before a sequence number; its offset."""
    if not side.assembler.is_started:
        side.assembler.start(sequence)
    offset = side.assembler.offset_of(sequence)
    if side.end is not None:
        offset = min(offset, side.end)  # a FIN takes a sequence number, and is no byte
    if side.acknowledged < offset < side.assembler.expected + _MAX_WINDOW:
        side.acknowledged = offset
    return offset
