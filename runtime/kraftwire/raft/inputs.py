"""What can happen to a replica: `Replica.step` takes one of these at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kraftwire.raft.log_state import OffsetAndEpoch
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
class Response:
    """The response to the request that was sent with a number."""

    number: int
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
    """The state machine has finished a snapshot of what is committed."""

    snapshot: OffsetAndEpoch


@dataclass(slots=True)
class SnapshotInstalled:
    """A fetched snapshot is finished, and the log begins behind it: what the store has now."""

    snapshot: OffsetAndEpoch


@dataclass(slots=True)
class Resign:
    """Give up the leadership, and say who may be next."""


@dataclass(slots=True)
class ShutDown:
    """Give up the leadership, and answer nothing more."""


Input = (
    Request
    | Response
    | RequestFailed
    | Tick
    | Propose
    | Flushed
    | SnapshotTaken
    | SnapshotInstalled
    | Resign
    | ShutDown
)
