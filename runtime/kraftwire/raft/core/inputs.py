"""The events that `Replica.step` handles, one at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kraftwire.address import Address
from kraftwire.raft.metadata_log.log_state import OffsetAndEpoch
from kraftwire_wire.message import Message


@dataclass(slots=True)
class Request:
    """A request from another node or a client, and the listener that received it.

    `Reply` repeats the token.
    """

    token: object
    message: Message
    version: int
    listener: str


@dataclass(slots=True)
class RequestLost:
    """The client that sent the request with a token has disconnected."""

    token: object


@dataclass(slots=True)
class Response:
    """The response to the `Send` with a number."""

    number: int
    message: Message


@dataclass(slots=True)
class AddressedResponse:
    """A response with the address that was asked: while handled, the source of its claims."""

    address: Address | None
    message: Message


@dataclass(slots=True)
class RequestFailed:
    """The `Send` with a number failed: no response will come."""

    number: int
    is_unsupported: bool = False
    """Whether the other end supports no version that can express the request."""


@dataclass(slots=True)
class Tick:
    """A deadline has come (`Replica.next_deadline`)."""


@dataclass(slots=True)
class Propose:
    """Records that the state machine wants to append, in one batch."""

    token: object
    values: Sequence[bytes]


@dataclass(slots=True)
class Flushed:
    """The log is durable up to an offset (the `Flush` with this end is done)."""

    end: int


@dataclass(slots=True)
class SnapshotTaken:
    """The state machine has finished a snapshot with an id from `Replica.snapshot_id`."""

    snapshot: OffsetAndEpoch
    size: int


@dataclass(slots=True)
class Resign:
    """Resign as leader, and announce who should be next."""

    epoch: int | None = None
    """Resign only from this epoch; None for any."""


@dataclass(slots=True)
class ShutDown:
    """Resign as leader, become no candidate, and report `Stopped` when the quorum can go on."""


@dataclass(slots=True)
class UpgradeKRaftVersion:
    """Raise kraft.version as the leader of an epoch, or only check whether that is possible."""

    token: object
    epoch: int
    version: int
    validate_only: bool = False


Input = (
    Request
    | RequestLost
    | Response
    | RequestFailed
    | Tick
    | Propose
    | Flushed
    | SnapshotTaken
    | Resign
    | ShutDown
    | UpgradeKRaftVersion
)
