"""What a replica asks its caller to do.

The caller completes each effect before the next. No request or reply may go out before the effects
ahead of it are durable: a vote or an acknowledgement has to survive a crash. Nobody modifies an
effect. Effects are not frozen because that would make them slower, and not tuples because those of
two kinds could be equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from kraftwire.address import Address
from kraftwire.log.batches.batch import Batch
from kraftwire.raft.metadata_log.log_state import OffsetAndEpoch
from kraftwire.raft.state.election_state import Election
from kraftwire_wire.message import Message
from kraftwire_wire.numbers import ErrorCode


@dataclass(slots=True)
class SaveElection:
    """Save an election (`Store.save_election`)."""

    election: Election
    kraft_version: int
    voter_ids: tuple[int, ...] = ()
    """The newest voter set, which the file lists under kraft.version 0."""


@dataclass(slots=True)
class Append:
    """Append a batch to the log (`Store.append`)."""

    batch: Batch


@dataclass(slots=True)
class Flush:
    """Make the log durable (`Store.flush`), then report `Flushed` with this end."""

    end: int


@dataclass(slots=True)
class Truncate:
    """Remove the log from an offset on (`Store.truncate`)."""

    offset: int


@dataclass(slots=True)
class WriteSnapshot:
    """Append bytes to an unfinished snapshot (`Store.write_snapshot`)."""

    snapshot: OffsetAndEpoch
    position: int
    data: bytes


@dataclass(slots=True)
class InstallSnapshot:
    """Finish a snapshot and restart the log after it (`Store.finish_snapshot`, `install`).

    The state machine also loads it, before it applies any later record.
    """

    snapshot: OffsetAndEpoch


@dataclass(slots=True)
class Clean:
    """Remove the log and the snapshots before a snapshot (`Store.clean`)."""

    snapshot: OffsetAndEpoch


@dataclass(slots=True)
class Send:
    """Send a request in the newest version that both ends support and that can express it.

    `Response` or `RequestFailed` reports the outcome with the same number.
    """

    number: int
    address: Address
    message: Message


class LogSlice(NamedTuple):
    """Whole batches for a Fetch response, starting at an offset (`Store.read`)."""

    offset: int
    max_bytes: int


class SnapshotSlice(NamedTuple):
    """Bytes for a FetchSnapshot response (`Store.read_snapshot`)."""

    snapshot: OffsetAndEpoch
    position: int
    max_bytes: int


@dataclass(slots=True)
class Reply:
    """Answer the request with a token; read `content` when the reply goes out."""

    token: object
    message: Message
    version: int
    content: LogSlice | SnapshotSlice | None = None


@dataclass(slots=True)
class Committed:
    """All records before the high watermark are committed; state machines may apply them."""

    high_watermark: int


@dataclass(slots=True)
class Leading:
    """This replica leads an epoch, and state machines may propose records."""

    epoch: int


@dataclass(slots=True)
class StoppedLeading:
    """This replica no longer leads; uncommitted proposals may or may not be committed later."""

    epoch: int


@dataclass(slots=True)
class ProposalOutcome:
    """The outcome of a proposal: the offset after its last record, or None if it was lost."""

    token: object
    end: int | None


@dataclass(slots=True)
class UpgradeOutcome:
    """The outcome of `UpgradeKRaftVersion`; the reason is a message for people."""

    token: object
    error: ErrorCode = ErrorCode.NONE
    reason: str | None = None


@dataclass(slots=True)
class RefusedClaim:
    """A node has announced an impossible epoch or offset; log this at a bounded rate."""

    peer: object
    """The token of its request, or the address that the replica asked."""
    reason: str


@dataclass(slots=True)
class Disconnect:
    """Close the connection of the request with a token: the replica cannot answer it."""

    token: object


@dataclass(slots=True)
class Stopped:
    """`ShutDown` is done: the replica ignores all further inputs."""

    is_clean: bool
    """False if the quorum still needed this replica at its deadline."""


Effect = (
    SaveElection
    | Append
    | Flush
    | Truncate
    | WriteSnapshot
    | InstallSnapshot
    | Clean
    | Send
    | Reply
    | Committed
    | Leading
    | StoppedLeading
    | ProposalOutcome
    | UpgradeOutcome
    | RefusedClaim
    | Disconnect
    | Stopped
)
