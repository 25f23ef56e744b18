"""Snapshots of committed records: their ids, their first records, and which ones are kept.

A snapshot ends where a batch ends, since nothing could be appended to a log that begins within a
batch (KAFKA-14619). To take one, a state machine asks for the id, writes the records of
`begin_snapshot`, its own and a footer, has the store finish the file, and reports `SnapshotTaken`.
A replica keeps `Config.retained_snapshots` of them, and the log from the first one on, so that
slow followers can still fetch from there.
"""

from __future__ import annotations

from kraftwire.log.writers.snapshot_writer import SnapshotWriter
from kraftwire.raft.core.core import Core
from kraftwire.raft.core.effects import Clean
from kraftwire.raft.metadata_log.batches import ControlRecord
from kraftwire.raft.metadata_log.log_state import OffsetAndEpoch
from kraftwire_messages.kafka import SnapshotHeaderRecord
from kraftwire_wire.records import ControlType


def snapshot_id(core: Core, end: int) -> OffsetAndEpoch | None:
    """Return the id of a snapshot of all records before an offset.

    Return None if the offset is not committed, if no batch ends there, or if the latest snapshot
    is as new.
    """
    latest = core.log.latest_snapshot
    if end > core.committed or (latest is not None and end <= latest.offset):
        return None
    return core.log.id_of(end)


def begin_snapshot(core: Core, snapshot: OffsetAndEpoch, last_timestamp: int) -> SnapshotWriter:
    """Return a writer with the header, and with kraft.version and voters at the snapshot's offset.

    `last_timestamp` is that of the last batch before the offset, in ms. The caller appends the
    records of the state machine and finishes the snapshot.
    """
    voters = core.control.voters.before(snapshot.offset)
    kraft_version = core.control.kraft_version.before(snapshot.offset)
    header = SnapshotHeaderRecord(last_contained_log_timestamp=last_timestamp)
    records = core.policy.snapshot_records(voters, kraft_version)
    writer = SnapshotWriter(snapshot.epoch)
    writer.control([ControlRecord(ControlType.SNAPSHOT_HEADER, header), *records], core.now)
    return writer


def note_taken(core: Core, snapshot: OffsetAndEpoch, size: int) -> None:
    """Add a finished snapshot, unless a newer one was installed meanwhile."""
    if snapshot_id(core, snapshot.offset) == snapshot:
        core.log.add_snapshot(snapshot, size)
        core.control.forget_before(snapshot.offset)


def clean(core: Core) -> None:
    """Remove surplus snapshots and the log before the first kept one, once they are due."""
    surplus = len(core.log.snapshots) - core.config.retained_snapshots
    if surplus <= 0:
        core.clean_deadline = None
    elif core.clean_deadline is None:
        core.clean_deadline = core.now + core.config.clean_interval_ms
    if core.clean_deadline is not None and core.now >= core.clean_deadline:
        first_kept = core.log.snapshots[surplus]
        core.log.clean(first_kept)
        core.effects.append(Clean(first_kept))
        core.clean_deadline = None
