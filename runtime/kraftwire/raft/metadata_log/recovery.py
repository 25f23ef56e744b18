"""Restores the state of a log from its bytes, when a replica starts.

An incomplete batch at the end was never flushed, so recovery drops it. Damage with batches after it
is not from a crash. The lost records may have been committed with this replica's help, so it must
not continue as if it had never had them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from kraftwire.log.batches.batch import Batch
from kraftwire.log.batches.header import CONTROL, BatchHeader
from kraftwire.log.errors import CorruptBatch
from kraftwire.log.segments.segment import Damage, read_batches, scan_batches
from kraftwire.log.sources.source import Source
from kraftwire.raft.metadata_log.control_state import ControlState
from kraftwire.raft.metadata_log.log_state import LogState, OffsetAndEpoch
from kraftwire.raft.state.bounds import MAX_EPOCH, MAX_OFFSET, is_epoch, is_offset

HOW_TO_REPLACE = "give the replica an empty directory, and so a new directory id, and add it again"
"""What an operator has to do if a log has lost records."""


class StoredBatches(Protocol):
    """The batches of a stored log, read once from first to last."""

    @property
    def file(self) -> str:
        """The file of the last header, for error messages."""

    def headers(self) -> Iterator[BatchHeader]:
        """Yield the headers of complete batches; raise `CorruptBatch` if damage precedes one."""

    def read_batch(self, header: BatchHeader) -> Batch:
        """Return the batch of the header that was yielded last."""


def recover_batches(
    stored: StoredBatches,
    start: int,
    snapshots: Mapping[OffsetAndEpoch, Source],
    control: ControlState,
) -> LogState:
    """Return the state of a log that begins at offset `start`, with its finished snapshots.

    A segment may begin with batches before `start`, which are skipped. `control` has the configured
    values, and receives those of snapshot and log. If the latest snapshot is ahead of the log, a
    crash interrupted its installation: the state is that after it, and the caller has to remove
    the old log.
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
            raise CorruptBatch(stored.file, header.position, f"{error}; {HOW_TO_REPLACE}") from None
        if latest is not None and header.base_offset < latest.offset:
            continue  # the snapshot has its records
        if header.attributes & CONTROL or control.first_data is None:
            control.apply(stored.read_batch(header))
    if latest is not None and log.is_behind(latest):
        control.load(latest, read_batches(snapshots[latest]))
        log.install(latest, snapshots[latest].size)
        return log
    for snapshot, content in snapshots.items():
        if snapshot.offset > log.end:
            reason = f"it ends at {log.end}, before snapshot {snapshot}; {HOW_TO_REPLACE}"
            raise CorruptBatch(stored.file, 0, reason)
        if snapshot.offset >= start:  # `clean` left the others
            log.add_snapshot(snapshot, content.size)
    return log


def _check_snapshots(snapshots: Mapping[OffsetAndEpoch, Source]) -> None:
    """Raise `CorruptBatch` if no leader can have made a snapshot with such an id."""
    for snapshot, content in snapshots.items():
        if not is_offset(snapshot.offset) or not is_epoch(snapshot.epoch):
            reason = f"snapshot {snapshot} is past offset {MAX_OFFSET} or epoch {MAX_EPOCH}"
            raise CorruptBatch(content.name, 0, f"{reason}; {HOW_TO_REPLACE}")


def _begin(start: int, snapshots: Mapping[OffsetAndEpoch, Source]) -> LogState:
    log = LogState()
    if start:
        at_start = [snapshot for snapshot in snapshots if snapshot.offset == start]
        if not at_start:
            raise CorruptBatch("log", 0, f"it begins at offset {start}, but no snapshot ends there")
        log.install(max(at_start), snapshots[max(at_start)].size)
    return log


class OneSource:
    """A log in one source; `batches` has the complete ones that were read."""

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
    """Return the error for damage that a crash cannot have caused."""
    reason = f"{torn.reason}, and batches follow it; {HOW_TO_REPLACE}"
    return CorruptBatch(file, torn.start, reason)
