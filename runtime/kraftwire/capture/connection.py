"""One connection of a capture: which side is the client, and the frames of both.

Who opened a connection is its client. Where that was not captured, the side in whose bytes
a whole request is found is the client; the bytes of both sides wait until then. What begins
with a record of TLS, or in which no request is found, is not read.

Ports play no part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from kraftwire.capture.boundaries import (
    RequestProbe,
    ResponseProbe,
    Start,
    WaitingRequests,
    looks_like_tls,
    recognise,
)
from kraftwire.capture.cutting import CutFrame, FrameCutter
from kraftwire.capture.frame import Direction
from kraftwire.capture.reassembly import Piece
from kraftwire_wire.registry import Registry

TLS: Final = "TLS, which cannot be read"
NOT_KAFKA: Final = "not Kafka"
NO_REQUEST: Final = "no request was found in it"

MAX_UNDECIDED_BYTES = 1 << 20
"""How much of a connection is looked at before it is not Kafka's."""

_PIECE_BYTES = 128
"""What a piece takes beside its data."""

Pieces = list[tuple[int, Piece]]


class Found(NamedTuple):
    """A frame, and its direction."""

    direction: Direction
    frame: CutFrame


class Reports(NamedTuple):
    """What a connection tells about what it does not read.

    lost: a reason, the number of bytes, the direction, their offset, the packet.
    joined_late: as `lost`, for what came before the first frame where the beginning of the
        connection was not captured.
    """

    lost: Callable[[str, int, int, int, int], None]
    joined_late: Callable[[str, int, int, int, int], None]


class KafkaConnection:
    """Takes the pieces of both directions of a connection, gives its frames."""

    def __init__(self, registry: Registry, probe: RequestProbe, reports: Reports) -> None:
        """`probe` is shared by all connections."""
        self.client: int | None = None
        """The direction of the client; None while it is unknown."""
        self.refused: str | None = None
        """Why the connection is not read; None while it may be."""
        self._registry = registry
        self._probe = probe
        self._reports = reports
        self._waiting = WaitingRequests()
        self._undecided: Pieces = []
        self._undecided_bytes = 0
        self._head = bytearray()
        self._trials: list[FrameCutter] = []
        self._cutters: list[FrameCutter] = []
        self._has_frame = [True, True]
        self._has_start = True

    @property
    def memory_bytes(self) -> int:
        """About how much memory what waits here takes."""
        waiting = self._cutters or self._trials
        return self._undecided_bytes + sum(cutter.memory_bytes for cutter in waiting)

    def receive(self, pieces: Pieces, opened_by: int | None) -> Iterator[Found]:
        """Take pieces; `opened_by` is the direction that opened the connection, if known."""
        self._has_start = self._has_start and opened_by is not None
        for direction, piece in pieces:
            yield from self._take(direction, piece, opened_by)

    def _take(self, direction: int, piece: Piece, opened_by: int | None) -> Iterator[Found]:
        if self.refused is not None:
            return
        if self._cutters:
            yield from self._cut(direction, self._cutters[direction].feed(piece))
        elif opened_by is None or self._trials:
            yield from self._try(direction, piece)
        else:
            yield from self._look_at_start(direction, piece, opened_by)

    def close(self, packet: int, time: float) -> Iterator[Found]:
        """The connection ends."""
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

    # -- connections whose beginning is there ----------------------------------------------

    def _look_at_start(self, direction: int, piece: Piece, client: int) -> Iterator[Found]:
        """See whether what the client says first is Kafka."""
        self._keep(direction, piece)
        if direction == client:
            if piece.data is None:
                yield from self._try_all()
                return
            self._head += piece.data
        start = recognise(self._head, self._registry)
        if start is Start.TOO_FEW and self._undecided_bytes <= MAX_UNDECIDED_BYTES:
            return
        if start is Start.KAFKA:
            yield from self._begin(client)
        else:
            self.refuse(TLS if start is Start.TLS else NOT_KAFKA)

    def _begin(self, client: int) -> Iterator[Found]:
        self.client = client
        request, response = self._cutter(client, True), self._cutter(1 - client, True)
        self._cutters = [request, response] if client == 0 else [response, request]
        kept, self._undecided, self._undecided_bytes = self._undecided, [], 0
        self._head = bytearray()
        for direction, piece in kept:
            yield from self._cut(direction, self._cutters[direction].feed(piece))

    # -- connections that had begun before the capture ----------------------------------------

    def _try_all(self) -> Iterator[Found]:
        """Try with what was kept so far."""
        kept, self._undecided, self._undecided_bytes = self._undecided, [], 0
        self._head = bytearray()
        self._trials = self._new_trials()
        for direction, piece in kept:
            yield from self._take(direction, piece, None)

    def _new_trials(self) -> list[FrameCutter]:
        return [FrameCutter(self._probe, _ignore, at_boundary=False) for _ in (0, 1)]

    def _try(self, direction: int, piece: Piece) -> Iterator[Found]:
        """Look for requests in what both sides say."""
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

    def _decide_at_end(self, packet: int, time: float) -> Iterator[Found]:
        """Search what both sides have said to its end, as nothing more is waited for."""
        for direction, trial in enumerate(self._trials):
            first = next(trial.close(packet, time), None)
            if first is not None:
                yield from self._decide(direction, first)
                return

    def _decide(self, client: int, first: CutFrame) -> Iterator[Found]:
        """A side has sent a request: read all that was kept again, now knowing who is who."""
        self.client = client
        self._has_frame = [self._has_start] * 2
        self._cutters = [
            (
                self._cutter(end, True, first.offset)
                if end == client and not self._has_start
                else self._cutter(end, self._has_start)
            )
            for end in (0, 1)
        ]
        self._trials = []
        kept, self._undecided, self._undecided_bytes = self._undecided, [], 0
        for direction, piece in kept:
            yield from self._cut(direction, self._cutters[direction].feed(piece))

    # -- both ----------------------------------------------------------------------------------

    def _keep(self, direction: int, piece: Piece) -> None:
        self._undecided.append((direction, piece))
        self._undecided_bytes += len(piece.data or b"") + _PIECE_BYTES

    def _cutter(self, direction: int, at_boundary: bool, begins_at: int = 0) -> FrameCutter:
        is_client = direction == self.client
        probe = self._probe if is_client else ResponseProbe(self._registry, self._waiting)

        def report(reason: str, size: int, offset: int, packet: int) -> None:
            tell = self._reports.lost if self._has_frame[direction] else self._reports.joined_late
            tell(reason, size, direction, offset, packet)

        return FrameCutter(probe, report, at_boundary=at_boundary, begins_at=begins_at)

    def _cut(self, direction: int, frames: Iterator[CutFrame]) -> Iterator[Found]:
        name: Direction = "request" if direction == self.client else "response"
        for frame in frames:
            self._has_frame[direction] = True
            if name == "request":
                self._waiting.note_request(frame.data)
            else:
                self._waiting.note_response(frame.data)
            yield Found(name, frame)


def _ignore(reason: str, size: int, offset: int, packet: int) -> None:
    """A trial loses nothing: all is read again."""
