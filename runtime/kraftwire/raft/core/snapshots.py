"""Snapshots of what is committed: which there may be, what they begin with, which are kept.

A state machine takes one where a batch ends, since a log that begins within a batch could not
be appended to (KAFKA-14619): it asks for the id, writes header and voters, its own records and
a footer, has the store finish the file, and tells. What is kept is as many snapshots as
configured, and the log from the first of them on, from which followers go on that are behind.
"""

from __future__ import annotations

from kraftwire.log.snapshot_writer import SnapshotWriter
from kraftwire.raft.core.core import Core
from kraftwire.raft.core.effects import Clean
from kraftwire.raft.membership import policy_of
from kraftwire.raft.metadata_log.batches import Control
from kraftwire.raft.metadata_log.log_state import OffsetAndEpoch
from kraftwire_messages.kafka import SnapshotHeaderRecord
from kraftwire_wire.records import ControlType


def snapshot_id(core: Core, end: int) -> OffsetAndEpoch | None:
    """The id of a snapshot of all before an offset.

    None where that is not committed, where no batch ends, and up to the latest snapshot.
    """
    latest = core.log.latest_snapshot
    if end > core.committed or (latest is not None and end <= latest.offset):
        return None
    return core.log.id_of(end)


def begin_snapshot(core: Core, snapshot: OffsetAndEpoch, last_timestamp: int) -> SnapshotWriter:
    """A snapshot that says so far what control records before its offset do.

    `last_timestamp` is that of the last batch before it, in ms. What remains is to append
    the records of the state machine, and to finish it.
    """
    voters = core.control.voters.before(snapshot.offset)
    kraft_version = core.control.kraft_version.before(snapshot.offset)
    header = SnapshotHeaderRecord(last_contained_log_timestamp=last_timestamp)
    said = policy_of(core.config).snapshot_records(voters, kraft_version)
    writer = SnapshotWriter(snapshot.epoch)
    writer.control([Control(ControlType.SNAPSHOT_HEADER, header), *said], core.now)
    return writer


def note_taken(core: Core, snapshot: OffsetAndEpoch, size: int) -> None:
    """Count a snapshot that is finished; one that came too late is of no use."""
    if snapshot_id(core, snapshot.offset) == snapshot:
        core.log.add_snapshot(snapshot, size)
        core.control.forget_before(snapshot.offset)


def clean(core: Core) -> None:
    """Remove what is not kept, once it has stayed for a while."""
    beyond = len(core.log.snapshots) - core.config.retained_snapshots
    if beyond <= 0:
        core.clean_deadline = None
    elif core.clean_deadline is None:
        core.clean_deadline = core.now + core.config.clean_interval_ms
    if core.clean_deadline is not None and core.now >= core.clean_deadline:
        first_kept = core.log.snapshots[beyond]
        core.log.clean(first_kept)
        core.effects.append(Clean(first_kept))
        core.clean_deadline = None
