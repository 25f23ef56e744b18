"""From bytes to what a replica knows of its log: after a start, and to check a running one.

A batch at the end that a crash tore was never flushed, and is left out. Damage with batches
behind it is no crash: what is missing there may have been committed with this replica's help,
so the replica must not go on as if it had never had it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kraftwire.log.batch import Batch
from kraftwire.log.errors import CorruptBatch
from kraftwire.log.segment import Damage, read_batches, scan_batches
from kraftwire.log.source import Source
from kraftwire.raft.control_state import ControlState
from kraftwire.raft.log_state import LogState, OffsetAndEpoch

_MEND = "give the replica an empty directory, and so a new directory id, and add it again"


class RecoveredLog(NamedTuple):
    """A log, what its control records say, and the batches of it that are whole."""

    log: LogState
    control: ControlState
    batches: list[Batch]
    size: int
    """Bytes of these batches; what follows is torn."""


def recover_log(
    source: Source, start: int, snapshots: Mapping[OffsetAndEpoch, Source], control: ControlState
) -> RecoveredLog:
    """Read a log that begins at offset `start` in one source, and its finished snapshots.

    `control` has what the configuration says, and takes in the rest. Where the latest
    snapshot is ahead of the log, its installation was cut off, and is done now.
    """
    log = _begin(start, snapshots)
    batches = _whole_batches(source)
    for batch in batches:
        header = batch.header
        try:
            log.append(header.base_offset, header.last_offset, header.partition_leader_epoch)
        except ValueError as error:
            raise CorruptBatch(source.name, header.position, f"{error}; {_MEND}") from None
    latest = max(snapshots, default=None)
    if latest is not None:
        control.load(latest, read_batches(snapshots[latest]))
        if log.is_behind(latest):
            log.install(latest, snapshots[latest].size)
            return RecoveredLog(log, control, [], 0)
    for snapshot, content in snapshots.items():
        if snapshot.offset > log.end:
            reason = f"it ends at {log.end}, before snapshot {snapshot}; {_MEND}"
            raise CorruptBatch(source.name, 0, reason)
        if snapshot.offset >= start:  # others were left when it was cleaned
            log.add_snapshot(snapshot, content.size)
    for batch in batches:
        if latest is None or batch.header.base_offset >= latest.offset:
            control.apply(batch)
    size = batches[-1].header.end if batches else 0
    return RecoveredLog(log, control, batches, size)


def _begin(start: int, snapshots: Mapping[OffsetAndEpoch, Source]) -> LogState:
    log = LogState()
    if start:
        at_start = [snapshot for snapshot in snapshots if snapshot.offset == start]
        if not at_start:
            raise CorruptBatch("log", 0, f"it begins at offset {start}, where no snapshot is")
        log.install(max(at_start), snapshots[max(at_start)].size)
    return log


def _whole_batches(source: Source) -> list[Batch]:
    found: list[Batch] = []
    torn: Damage | None = None
    for item in scan_batches(source):
        if isinstance(item, Damage):
            torn = torn or item
        elif torn is not None:
            reason = f"{torn.reason}, and there are batches behind it; {_MEND}"
            raise CorruptBatch(source.name, torn.start, reason)
        else:
            found.append(item)
    return found
