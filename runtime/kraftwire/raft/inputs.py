"""What can happen to a replica: `Replica.step` takes one of these at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kraftwire.raft.log_state import OffsetAndEpoch
from kraftwire_wire.message import Message


class Request(NamedTuple):
    """A request of another node or of a client, and the name of the listener that it came to.

    The reply names the token.
    """

    token: object
    message: Message
    version: int
    listener: str


class Response(NamedTuple):
    """The response to the request that was sent with a number, in its version."""

    number: int
    message: Message


class RequestFailed(NamedTuple):
    """There will be no response: no connection, or it was closed."""

    number: int


class Tick(NamedTuple):
    """Nothing but that time has passed: a deadline came."""


class Propose(NamedTuple):
    """Records that the state machine wants in the log, all in one batch."""

    token: object
    values: Sequence[bytes]


class Flushed(NamedTuple):
    """The log is durable up to an offset."""

    end: int


class SnapshotTaken(NamedTuple):
    """The state machine has finished a snapshot of what is committed."""

    snapshot: OffsetAndEpoch


class SnapshotInstalled(NamedTuple):
    """A fetched snapshot is finished, and the log begins behind it: what the store has now."""

    snapshot: OffsetAndEpoch


class Resign(NamedTuple):
    """Give up the leadership, and say who may be next."""


class ShutDown(NamedTuple):
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
