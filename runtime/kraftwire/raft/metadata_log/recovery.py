"""From bytes to what a replica knows of its log: after a start, and to check a running one.

A batch at the end that a crash tore was never flushed, and is left out. Damage with batches
behind it is no crash: what is missing there may have been committed with this replica's help,
so the replica must not go on as if it had never had it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, Protocol

from kraftwire.log.batch import Batch
from kraftwire.log.errors import CorruptBatch
from kraftwire.log.header import CONTROL, BatchHeader
from kraftwire.log.segment import Damage, read_batches, scan_batches
from kraftwire.log.source import Source
from kraftwire.raft.metadata_log.control_state import ControlState
from kraftwire.raft.metadata_log.log_state import LogState, OffsetAndEpoch
from kraftwire.raft.state.bounds import MAX_EPOCH, MAX_OFFSET, is_epoch, is_offset

MEND = "give the replica an empty directory, and so a new directory id, and add it again"
"""What to do about a log that lacks what it had."""


class StoredBatches(Protocol):
    """The batches of a stored log, read once from its first to its last."""

    @property
    def file(self) -> str:
        """What errors call the file that the last header came from."""
        ...

    def headers(self) -> Iterator[BatchHeader]:
        """Those of all batches that are whole; `CorruptBatch` where more than the end is torn."""
        ...

    def read_batch(self, header: BatchHeader) -> Batch:
        """The batch whose header came last."""
        ...


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
    """`recover_batches` of a log that begins at offset `start` in one source."""
    stored = _OneSource(source)
    log = recover_batches(stored, start, snapshots, control)
    batches = stored.batches if log.start < log.end else []
    return RecoveredLog(log, control, batches, batches[-1].header.end if batches else 0)


def recover_batches(
    stored: StoredBatches,
    start: int,
    snapshots: Mapping[OffsetAndEpoch, Source],
    control: ControlState,
) -> LogState:
    """What is known of a log that begins at offset `start`, and its finished snapshots.

    Batches before `start`, in a segment that has others too, are passed over. `control` has
    what the configuration says, and takes in the rest. Where the latest snapshot is ahead of
    the log, its installation was cut off, and is done now. A log that has no records from
    `start` on must begin anew there, whatever is stored.
    """
    _check_snapshots(snapshots)
    log = _begin(start, snapshots)
    latest = max(snapshots, default=None)
    if latest is not None:
        control.load(latest, read_batches(snapshots[latest]))
    for header in stored.headers():
        last_offset = header.base_offset + header.last_offset_delta
        if last_offset < start:
            continue
        try:
            log.append(header.base_offset, last_offset, header.partition_leader_epoch)
        except ValueError as error:
            raise CorruptBatch(stored.file, header.position, f"{error}; {MEND}") from None
        if latest is not None and header.base_offset < latest.offset:
            continue  # the snapshot has what it says
        if header.attributes & CONTROL or control.first_data is None:
            control.apply(stored.read_batch(header))
    if latest is not None and log.is_behind(latest):
        control.load(latest, read_batches(snapshots[latest]))
        log.install(latest, snapshots[latest].size)
        return log
    for snapshot, content in snapshots.items():
        if snapshot.offset > log.end:
            reason = f"it ends at {log.end}, before snapshot {snapshot}; {MEND}"
            raise CorruptBatch(stored.file, 0, reason)
        if snapshot.offset >= start:  # others were left when it was cleaned
            log.add_snapshot(snapshot, content.size)
    return log


def _check_snapshots(snapshots: Mapping[OffsetAndEpoch, Source]) -> None:
    """Raise `CorruptBatch` if a snapshot has an id that no leader can have given it."""
    for snapshot, content in snapshots.items():
        if not is_offset(snapshot.offset) or not is_epoch(snapshot.epoch):
            reason = f"snapshot {snapshot} is past offset {MAX_OFFSET} or epoch {MAX_EPOCH}"
            raise CorruptBatch(content.name, 0, f"{reason}; {MEND}")


def _begin(start: int, snapshots: Mapping[OffsetAndEpoch, Source]) -> LogState:
    log = LogState()
    if start:
        at_start = [snapshot for snapshot in snapshots if snapshot.offset == start]
        if not at_start:
            raise CorruptBatch("log", 0, f"it begins at offset {start}, where no snapshot is")
        log.install(max(at_start), snapshots[max(at_start)].size)
    return log


class _OneSource:
    """All batches in one source."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.batches: list[Batch] = []

    @property
    def file(self) -> str:
        return self._source.name

    def headers(self) -> Iterator[BatchHeader]:
        torn: Damage | None = None
        for item in scan_batches(self._source):
            if isinstance(item, Damage):
                torn = torn or item
            elif torn is not None:
                raise damaged(self.file, torn)
            else:
                self.batches.append(item)
                yield item.header

    def read_batch(self, header: BatchHeader) -> Batch:
        assert header is self.batches[-1].header
        return self.batches[-1]


def damaged(file: str, torn: Damage) -> CorruptBatch:
    """The error for damage that no crash has left."""
    reason = f"{torn.reason}, and there are batches behind it; {MEND}"
    return CorruptBatch(file, torn.start, reason)
