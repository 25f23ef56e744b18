"""What a replica wants done, in the order in which it has to be done.

Whoever runs a replica does each effect to its end before the next: no request or reply may
go out before all that stands before it is durable (Raft's rule that a vote or an
acknowledgement outlives a crash). Calls that a store knows by the same name are the store's.
"""

from __future__ import annotations

from typing import NamedTuple

from kraftwire.log.batch import Batch
from kraftwire.raft.election import Election
from kraftwire.raft.log_state import OffsetAndEpoch
from kraftwire_wire.message import Message


class SaveElection(NamedTuple):
    """Keep an election (`Store.save_election`)."""

    election: Election
    kraft_version: int


class Append(NamedTuple):
    """Put a batch at the end of the log (`Store.append`)."""

    batch: Batch


class Flush(NamedTuple):
    """Make the log durable (`Store.flush`), then tell with `Flushed` up to where."""

    end: int


class Truncate(NamedTuple):
    """Remove the log from an offset on (`Store.truncate`)."""

    offset: int


class WriteSnapshot(NamedTuple):
    """Put bytes at the end of an unfinished snapshot (`Store.write_snapshot`)."""

    snapshot: OffsetAndEpoch
    position: int
    data: bytes


class InstallSnapshot(NamedTuple):
    """Finish a snapshot and begin the log anew behind it, then tell with `SnapshotInstalled`."""

    snapshot: OffsetAndEpoch


class Clean(NamedTuple):
    """Remove what a snapshot has (`Store.clean`)."""

    snapshot: OffsetAndEpoch


class Address(NamedTuple):
    """Where a node listens."""

    host: str
    port: int


class Send(NamedTuple):
    """Send a request; its response, or that there is none, comes with the same number."""

    number: int
    address: Address
    message: Message
    version: int


class LogSlice(NamedTuple):
    """Records for a Fetch response: whole batches from an offset on (`Store.read`)."""

    offset: int
    max_bytes: int


class SnapshotSlice(NamedTuple):
    """Bytes for a FetchSnapshot response (`Store.read_snapshot`)."""

    snapshot: OffsetAndEpoch
    position: int
    max_bytes: int


class Reply(NamedTuple):
    """Answer the request that came with a token; `content` is read when the reply goes out."""

    token: object
    message: Message
    version: int
    content: LogSlice | SnapshotSlice | None = None


class Committed(NamedTuple):
    """All records before the high watermark are committed; state machines may apply them."""

    high_watermark: int


class Leading(NamedTuple):
    """This replica leads an epoch, and state machines may propose records in it."""

    epoch: int


class StoppedLeading(NamedTuple):
    """This replica does not lead any more; what was proposed may or may not be committed."""

    epoch: int


class Settled(NamedTuple):
    """What became of a proposal: the offset behind its last record, or None where it is lost."""

    token: object
    end: int | None


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
)
