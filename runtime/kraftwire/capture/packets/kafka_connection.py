"""One connection of a capture: which side is the client, and the frames of both.

The side that opened a connection is the client. If the beginning was not captured, the client is
the side whose bytes contain a whole request; the bytes of both sides wait until one is found.
Connections that begin with a TLS record, or have no request, are refused. Port numbers are ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from kraftwire.capture.frame import Direction
from kraftwire.capture.packets.boundaries import (
    RequestProbe,
    ResponseProbe,
    StreamStart,
    UnansweredRequests,
    classify_start,
    looks_like_tls,
)
from kraftwire.capture.packets.frame_cutter import CutFrame, FrameCutter
from kraftwire.capture.packets.reassembly import StreamPiece
from kraftwire_wire.registry import Registry

TLS: Final = "TLS, which cannot be read"
NOT_KAFKA: Final = "not Kafka"
NO_REQUEST: Final = "no request was found in it"
JOINED_LATE: Final = "bytes before the first frame of a connection begun before the capture"

MAX_UNDECIDED_BYTES = 1 << 20
"""How much of a connection is searched for a request before it counts as not Kafka's."""

_PIECE_BYTES = 128
"""The memory that a piece takes besides its data."""

DirectedPieces = list[tuple[int, StreamPiece]]

ReportConnectionLoss = Callable[[str, int, int, int, int], None]
"""Takes a reason, the number of bytes, the direction, their offset, and the packet."""


class DirectedFrame(NamedTuple):
    """A frame, and its direction."""

    direction: Direction
    frame: CutFrame


class KafkaConnection:
    """Cuts the pieces of both directions of a connection into frames."""

    def __init__(
        self, registry: Registry, probe: RequestProbe, report: ReportConnectionLoss
    ) -> None:
        """`probe` is shared by all connections.

        Bytes before the first frame of a connection whose beginning was not captured are reported
        as `JOINED_LATE`.
        """
        self.client: int | None = None
        """The direction of the client; None while it is unknown."""
        self.refused: str | None = None
        """Why the connection is not read; None while it may be."""
        self._registry = registry
        self._probe = probe
        self._report = report
        self._unanswered = UnansweredRequests()
        self._undecided: DirectedPieces = []
        self._undecided_bytes = 0
        self._head = bytearray()
        self._trials: list[FrameCutter] = []
        self._cutters: list[FrameCutter] = []
        self._has_frame = [True, True]
        self._has_start = True

    @property
    def memory_bytes(self) -> int:
        """About how much memory the waiting bytes take."""
        waiting = self._cutters or self._trials
        return self._undecided_bytes + sum(cutter.memory_bytes for cutter in waiting)

    def receive(self, pieces: DirectedPieces, opened_by: int | None) -> Iterator[DirectedFrame]:
        """Add pieces; `opened_by` is the direction that opened the connection, if known."""
        self._has_start = self._has_start and opened_by is not None
        for direction, piece in pieces:
            yield from self._add(direction, piece, opened_by)

    def _add(
        self, direction: int, piece: StreamPiece, opened_by: int | None
    ) -> Iterator[DirectedFrame]:
        if self.refused is not None:
            return
        if self._cutters:
            yield from self._cut(direction, self._cutters[direction].feed(piece))
        elif opened_by is None or self._trials:
            yield from self._try(direction, piece)
        else:
            yield from self._check_start(direction, piece, opened_by)

    def close(self, packet: int, time: float) -> Iterator[DirectedFrame]:
        """End the connection; yield its last frames."""
        if self.refused is not None:
            return
        if not self._cutters:
            yield from self._decide_at_end(packet, time)
        for direction, cutter in enumerate(self._cutters):
            yield from self._cut(direction, cutter.close(packet, time))
        if not self._cutters and self._undecided:
            self.refuse(NO_REQUEST)

    def refuse(self, reason: str) -> None:
        """Read nothing more of this connection."""
        self.refused = reason
        self._undecided, self._cutters, self._trials = [], [], []
        self._undecided_bytes = 0

    # -- connections whose beginning was captured ------------------------------------------

    def _check_start(
        self, direction: int, piece: StreamPiece, client: int
    ) -> Iterator[DirectedFrame]:
        """Keep a piece, and decide whether the client's first bytes are Kafka."""
        self._keep(direction, piece)
        if direction == client:
            if piece.data is None:
                self._trials = self._new_trials()
                for kept_direction, kept in self._take_kept():
                    yield from self._add(kept_direction, kept, None)
                return
            self._head += piece.data
        start = classify_start(self._head, self._registry)
        if start is StreamStart.TOO_FEW and self._undecided_bytes <= MAX_UNDECIDED_BYTES:
            return
        if start is StreamStart.KAFKA:
            self.client = client
            yield from self._begin([self._cutter(end, at_boundary=True) for end in (0, 1)])
        else:
            self.refuse(TLS if start is StreamStart.TLS else NOT_KAFKA)

    # -- connections that began before the capture -----------------------------------------

    def _new_trials(self) -> list[FrameCutter]:
        return [FrameCutter(self._probe, _ignore, at_boundary=False) for _ in (0, 1)]

    def _try(self, direction: int, piece: StreamPiece) -> Iterator[DirectedFrame]:
        """Search both sides for requests."""
        if not self._trials:
            if piece.data is not None and looks_like_tls(piece.data):
                self.refuse(TLS)
                return
            self._trials = self._new_trials()
        self._keep(direction, piece)
        first = next(self._trials[direction].feed(piece), None)
        if first is not None:
            yield from self._decide(direction, first)
        elif self._undecided_bytes > MAX_UNDECIDED_BYTES:
            yield from self._decide_at_end(piece.packet, piece.time)
            if not self._cutters:
                self.refuse(NO_REQUEST)

    def _decide_at_end(self, packet: int, time: float) -> Iterator[DirectedFrame]:
        """Search both sides to the end, since no more bytes will come."""
        for direction, trial in enumerate(self._trials):
            first = next(trial.close(packet, time), None)
            if first is not None:
                yield from self._decide(direction, first)
                return

    def _decide(self, client: int, first: CutFrame) -> Iterator[DirectedFrame]:
        """Set the side that sent a request as the client, and read the kept pieces again."""
        self.client = client
        self._has_frame = [self._has_start] * 2
        cutters = []
        for end in (0, 1):
            is_at_first = end == client and not self._has_start
            begins_at = first.offset if is_at_first else 0
            at_boundary = self._has_start or is_at_first
            cutters.append(self._cutter(end, at_boundary=at_boundary, begins_at=begins_at))
        self._trials = []
        yield from self._begin(cutters)

    # -- both ------------------------------------------------------------------------------

    def _begin(self, cutters: list[FrameCutter]) -> Iterator[DirectedFrame]:
        self._cutters = cutters
        for direction, piece in self._take_kept():
            yield from self._cut(direction, cutters[direction].feed(piece))

    def _keep(self, direction: int, piece: StreamPiece) -> None:
        self._undecided.append((direction, piece))
        self._undecided_bytes += len(piece.data or b"") + _PIECE_BYTES

    def _take_kept(self) -> DirectedPieces:
        kept, self._undecided, self._undecided_bytes = self._undecided, [], 0
        self._head = bytearray()
        return kept

    def _cutter(self, direction: int, *, at_boundary: bool, begins_at: int = 0) -> FrameCutter:
        is_client = direction == self.client
        probe = self._probe if is_client else ResponseProbe(self._registry, self._unanswered)

        def report(reason: str, size: int, offset: int, packet: int) -> None:
            reason = reason if self._has_frame[direction] else JOINED_LATE
            self._report(reason, size, direction, offset, packet)

        return FrameCutter(probe, report, at_boundary=at_boundary, begins_at=begins_at)

    def _cut(self, direction: int, frames: Iterator[CutFrame]) -> Iterator[DirectedFrame]:
        name: Direction = "request" if direction == self.client else "response"
        note = self._unanswered.add if name == "request" else self._unanswered.answer
        for frame in frames:
            self._has_frame[direction] = True
            note(frame.data)
            yield DirectedFrame(name, frame)


def _ignore(reason: str, size: int, offset: int, packet: int) -> None:
    """Report nothing: `_decide` reads the bytes that a trial skips again."""
