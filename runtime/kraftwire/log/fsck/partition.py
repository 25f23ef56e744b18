"""All checks of one partition: its segments in order, and the files beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise

from kraftwire.log.batches.batch import Batch
from kraftwire.log.batches.header import BatchHeader
from kraftwire.log.directories.file_names import FileKind
from kraftwire.log.directories.partition import LogFile, Partition
from kraftwire.log.errors import CorruptBatch
from kraftwire.log.fsck.batches import BatchChecks
from kraftwire.log.fsck.finding import Finding, error, info, warning
from kraftwire.log.fsck.indexes import OffsetIndexCheck, TimeIndexCheck, check_transaction_index
from kraftwire.log.fsck.producers import ProducerStates
from kraftwire.log.queries.transactions import PartitionTransactions
from kraftwire.log.segments.batch_order import BatchOrder, with_following
from kraftwire.log.segments.segment import Damage, DamageKind, scan_batches
from kraftwire.log.small_files.checkpoints import EpochEntry, decode_leader_epochs, epoch_at
from kraftwire_wire.errors import KraftwireError

_EPOCHS = "leader epochs"
_MAX_EPOCH_FINDINGS = 10


class PartitionCheck:
    """Checks one partition; `log_end` is known after `run`."""

    def __init__(self, partition: Partition, limit: int) -> None:
        self._partition = partition
        self._limit = limit
        self._batches = BatchChecks()
        self._producers = ProducerStates()
        self._transactions = PartitionTransactions()
        self._snapshots = partition.of_kind(FileKind.PRODUCER_SNAPSHOT)
        self._epochs: list[EpochEntry] | None = None
        self._wrong_epochs = 0
        self._is_damaged = False
        self._order: BatchOrder | None = None

    @property
    def log_end(self) -> int:
        segments = self._partition.segments
        reached = self._order.next_offset if self._order is not None else 0
        return max(reached, segments[-1].base_offset if segments else 0)

    def run(self, done: Callable[[int], None] = lambda _: None) -> Iterator[Finding]:
        """Yield all findings; call `done` with the size of each segment that was read."""
        yield from self._read_epochs()
        for segment in self._partition.segments:
            yield from self._segment(segment)
            done(segment.size)
        yield from self._snapshots_up_to(None)
        for snapshot in self._partition.of_kind(FileKind.SNAPSHOT):
            yield from self._metadata_snapshot(snapshot)
        yield from _indexes_without_segments(self._partition)
        yield from _segments_without_indexes(self._partition)

    # -- segments --------------------------------------------------------------------------

    def _segment(self, segment: LogFile) -> Iterator[Finding]:
        yield from self._snapshots_up_to(segment.base_offset)
        offsets, times = self._index_checks(segment)
        transactions = self._transactions
        before = len(transactions.aborted), len(transactions.abort_markers)
        last_offset = segment.base_offset - 1
        order = self._partition.order(segment)
        yield from self._hole(segment, order)
        self._order = order
        with segment.open() as source:
            items = with_following(scan_batches(source, limit=self._limit))
            for item, following in items:
                if isinstance(item, Damage):
                    self._is_damaged = True
                    order.skip_damage()
                    yield _damage(source.name, item)
                    continue
                yield from self._batch(item, order, following)
                last_offset = item.header.last_offset
                for check in (offsets, times):
                    if check is not None:
                        check.batch(item.header)
        if offsets is not None:
            yield from offsets.finish(last_offset)
        if times is not None:
            yield from times.finish()
        if not self._is_damaged:
            index = self._partition.beside(segment, FileKind.TRANSACTION_INDEX)
            aborted = transactions.aborted[before[0] :]
            markers = transactions.abort_markers[before[1] :]
            yield from check_transaction_index(index, segment, aborted, markers)

    def _hole(self, segment: LogFile, order: BatchOrder) -> Iterator[Finding]:
        """Report missing offsets between two segments of a log that is never compacted."""
        before = self._order
        if before is None or order.has_gaps or not before.is_next_known:
            return
        if before.next_offset < order.base:
            missing = f"offsets {before.next_offset} to {order.base - 1}"
            reason = f"{missing} are missing before this segment, and this log has no gaps"
            yield error("batch", str(segment.path), None, reason)

    def _index_checks(
        self, segment: LogFile
    ) -> tuple[OffsetIndexCheck | None, TimeIndexCheck | None]:
        offsets = self._partition.beside(segment, FileKind.OFFSET_INDEX)
        times = self._partition.beside(segment, FileKind.TIME_INDEX)
        return (
            OffsetIndexCheck(offsets) if offsets else None,
            TimeIndexCheck(times) if times else None,
        )

    def _batch(
        self, batch: Batch, order: BatchOrder, following: BatchHeader | None
    ) -> Iterator[Finding]:
        header = batch.header
        yield from self._snapshots_up_to(header.base_offset)
        yield from self._batches.check(batch, order, following)
        yield from self._epoch(batch)
        self._producers.batch(header)
        with suppress(KraftwireError):  # a marker that cannot be read is a finding already
            self._transactions.apply(batch)

    def _snapshots_up_to(self, offset: int | None) -> Iterator[Finding]:
        """Check the producer snapshots up to an offset, or all of the rest."""
        while self._snapshots and (offset is None or self._snapshots[0].base_offset <= offset):
            snapshot = self._snapshots.pop(0)
            # After damage the producers' states are unknown, but the file must still be readable.
            yield from self._producers.check(snapshot, compare=not self._is_damaged)

    # -- leader epochs ---------------------------------------------------------------------

    def _read_epochs(self) -> Iterator[Finding]:
        for file in self._partition.of_kind(FileKind.LEADER_EPOCHS):
            try:
                epochs = decode_leader_epochs(file.read(), str(file.path))
            except CorruptBatch as problem:
                yield error(_EPOCHS, problem.file, problem.position, problem.reason)
                continue
            for before, after in pairwise(epochs):
                if after.epoch <= before.epoch or after.start_offset <= before.start_offset:
                    reason = (
                        f"epoch {after.epoch} from offset {after.start_offset} does not follow "
                        f"epoch {before.epoch} from offset {before.start_offset}"
                    )
                    yield error(_EPOCHS, str(file.path), None, reason)
            self._epochs = epochs

    def _epoch(self, batch: Batch) -> Iterator[Finding]:
        header = batch.header
        epochs, epoch = self._epochs, header.partition_leader_epoch
        if epochs is None or epoch < 0 or self._wrong_epochs >= _MAX_EPOCH_FINDINGS:
            return
        known = epoch_at(epochs, header.base_offset)
        # None before the first entry: the records are deleted, but their bytes still exist.
        if known is not None and known != epoch:
            self._wrong_epochs += 1
            reason = f"leader epoch {epoch}, but leader-epoch-checkpoint has {known}"
            yield error(_EPOCHS, batch.file, header.position, reason)

    # -- snapshots of metadata -------------------------------------------------------------

    def _metadata_snapshot(self, file: LogFile) -> Iterator[Finding]:
        checks = BatchChecks()
        order = self._partition.order(file)
        with file.open() as source:
            items = with_following(scan_batches(source, limit=self._limit))
            for item, following in items:
                if isinstance(item, Damage):
                    order.skip_damage()
                    yield _damage(source.name, item)
                else:
                    yield from checks.check(item, order, following)
                    epoch = item.header.partition_leader_epoch
                    if file.name.epoch is not None and epoch != file.name.epoch:
                        reason = f"leader epoch {epoch} in a snapshot of epoch {file.name.epoch}"
                        yield error("snapshot", source.name, item.header.position, reason)


def _damage(file: str, damage: Damage) -> Finding:
    reason = f"{damage.kind.value}, {damage.size} bytes: {damage.reason}"
    make = warning if damage.kind is DamageKind.ZEROS else error
    return make("batch", file, damage.start, reason)


def _indexes_without_segments(partition: Partition) -> Iterator[Finding]:
    bases = {segment.base_offset for segment in partition.segments}
    kinds = (FileKind.OFFSET_INDEX, FileKind.TIME_INDEX, FileKind.TRANSACTION_INDEX)
    for kind in kinds:
        for file in partition.of_kind(kind):
            if file.base_offset not in bases:
                yield warning(kind.value, str(file.path), None, "it has no segment")


def _segments_without_indexes(partition: Partition) -> Iterator[Finding]:
    """Report the segments that have no index: Kafka rebuilds it when it starts."""
    segments = [segment for segment in partition.segments if not segment.is_alone]
    kind, beside = FileKind.OFFSET_INDEX, partition.beside
    missing = [one for one in segments if beside(one, kind) is None]
    if len(missing) > 1 and len(missing) == len(segments):
        reason = f"none of the {len(segments)} segments has an .index; Kafka rebuilds them all"
        yield info(kind.value, str(partition.directory), reason)
        return
    for segment in missing:
        yield info(kind.value, str(segment.path), "it has no .index; Kafka rebuilds it")
    for segment in segments:
        if segment not in missing and beside(segment, FileKind.TIME_INDEX) is None:
            reason = "it has no .timeindex; Kafka starts with an empty one"
            yield info(FileKind.TIME_INDEX.value, str(segment.path), reason)
