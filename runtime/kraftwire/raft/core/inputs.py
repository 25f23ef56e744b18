"""What can happen to a replica: `Replica.step` takes one of these at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kraftwire.address import Address
from kraftwire.raft.metadata_log.log_state import OffsetAndEpoch
from kraftwire_wire.message import Message


@dataclass(slots=True)
class Request:
    """A request of another node or of a client, and the name of the listener that it came to.

    The reply names the token.
    """

    token: object
    message: Message
    version: int
    listener: str


@dataclass(slots=True)
class RequestLost:
    """The client that sent the request with a token has gone: nobody waits for the reply."""

    token: object


@dataclass(slots=True)
class Response:
    """The response to the request that was sent with a number."""

    number: int
    message: Message


@dataclass(slots=True)
class Answer:
    """A response together with the address that was asked."""

    address: Address | None
    message: Message


@dataclass(slots=True)
class RequestFailed:
    """There will be no response: no connection, it was closed, or the version is lacking."""

    number: int
    is_unsupported: bool = False
    """Whether the other end has no version with room for the request."""


@dataclass(slots=True)
class Tick:
    """Nothing but that time has passed: a deadline came."""


@dataclass(slots=True)
class Propose:
    """Records that the state machine wants in the log, all in one batch."""

    token: object
    values: Sequence[bytes]


@dataclass(slots=True)
class Flushed:
    """The log is durable up to an offset."""

    end: int


@dataclass(slots=True)
class SnapshotTaken:
    """The state machine has finished a snapshot of what is committed, of so many bytes.

    Its id is one that `Replica.snapshot_id` has given.
    """

    snapshot: OffsetAndEpoch
    size: int


@dataclass(slots=True)
class Resign:
    """Give up the leadership, and say who may be next."""

    epoch: int | None = None
    """Of which epoch; a later one is not meant. None for any."""


@dataclass(slots=True)
class ShutDown:
    """Give up the leadership, stand for no other, and tell with `Stopped` when that is done."""


@dataclass(slots=True)
class UpgradeKRaftVersion:
    """Raise kraft.version as the leader of an epoch, or only see whether that could be."""

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
