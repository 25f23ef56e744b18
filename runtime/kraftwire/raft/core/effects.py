"""What a replica wants done, in the order in which it has to be done.

Whoever runs a replica does each effect to its end before the next: no request or reply may
go out before all that stands before it is durable (Raft's rule that a vote or an
acknowledgement outlives a crash). Nobody changes an effect; that they are not frozen makes them
cheaper, and unlike tuples those of two kinds are never equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from kraftwire.address import Address
from kraftwire.log.batch import Batch
from kraftwire.raft.metadata_log.log_state import OffsetAndEpoch
from kraftwire.raft.state.election_state import Election
from kraftwire_wire.message import Message
from kraftwire_wire.numbers import ErrorCode


@dataclass(slots=True)
class SaveElection:
    """Keep an election (`Store.save_election`)."""

    election: Election
    kraft_version: int
    voter_ids: tuple[int, ...] = ()
    """The voters of the newest set, which the file has under kraft.version 0."""


@dataclass(slots=True)
class Append:
    """Put a batch at the end of the log (`Store.append`)."""

    batch: Batch


@dataclass(slots=True)
class Flush:
    """Make the log durable (`Store.flush`), then tell with `Flushed` up to where."""

    end: int


@dataclass(slots=True)
class Truncate:
    """Remove the log from an offset on (`Store.truncate`)."""

    offset: int


@dataclass(slots=True)
class WriteSnapshot:
    """Put bytes at the end of an unfinished snapshot (`Store.write_snapshot`)."""

    snapshot: OffsetAndEpoch
    position: int
    data: bytes


@dataclass(slots=True)
class InstallSnapshot:
    """Finish a snapshot and begin the log anew behind it (`Store.finish_snapshot`, `install`).

    State machines begin anew with it too, before what is committed behind it.
    """

    snapshot: OffsetAndEpoch


@dataclass(slots=True)
class Clean:
    """Remove what a snapshot has (`Store.clean`)."""

    snapshot: OffsetAndEpoch


@dataclass(slots=True)
class Send:
    """Send a request in the newest version that both ends have and that has room for it.

    Its response, or that there is none, comes with the same number.
    """

    number: int
    address: Address
    message: Message


class LogSlice(NamedTuple):
    """Records for a Fetch response: whole batches from an offset on (`Store.read`)."""

    offset: int
    max_bytes: int


class SnapshotSlice(NamedTuple):
    """Bytes for a FetchSnapshot response (`Store.read_snapshot`)."""

    snapshot: OffsetAndEpoch
    position: int
    max_bytes: int


@dataclass(slots=True)
class Reply:
    """Answer the request that came with a token; `content` is read when the reply goes out."""

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
    """This replica leads an epoch, and state machines may propose records in it."""

    epoch: int


@dataclass(slots=True)
class StoppedLeading:
    """This replica does not lead any more; what was proposed may or may not be committed."""

    epoch: int


@dataclass(slots=True)
class Settled:
    """What became of a proposal: the offset behind its last record, or None where it is lost."""

    token: object
    end: int | None


@dataclass(slots=True)
class Upgraded:
    """What became of an `UpgradeKRaftVersion`; the reason is for people."""

    token: object
    error: ErrorCode = ErrorCode.NONE
    reason: str | None = None


@dataclass(slots=True)
class Refused:
    """A node has announced an epoch or offset that cannot be; to be logged at a bounded rate."""

    peer: object
    """The token of its request, or the address that was asked."""
    reason: str


@dataclass(slots=True)
class Disconnect:
    """There is no answer to the request that came with a token: close its connection."""

    token: object


@dataclass(slots=True)
class Stopped:
    """Nothing is left to do behind a `ShutDown`; the replica is not stepped any more."""

    is_clean: bool
    """Whether nobody waits for it: else it was given no more time."""


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
    | Settled
    | Upgraded
    | Refused
    | Disconnect
    | Stopped
)
