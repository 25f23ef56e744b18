"""Checks of batches, one by one: offsets and epochs go up, records fit their header."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kraftwire.log.batches.batch import Batch
from kraftwire.log.batches.header import BatchHeader
from kraftwire.log.batches.record import Record
from kraftwire.log.errors import CorruptBatch
from kraftwire.log.fsck.finding import Finding, error
from kraftwire.log.segments.batch_order import BatchOrder, EpochOrder

_CHECK = "batch"


class BatchChecks:
    """Checks the batches of one partition, in order."""

    def __init__(self) -> None:
        self._epochs = EpochOrder()

    def check(
        self, batch: Batch, order: BatchOrder, following: BatchHeader | None = None
    ) -> Iterator[Finding]:
        """Yield what is wrong with the next batch of a file, and advance the file's `order`."""
        header = batch.header
        reason = order.problem(header, following)
        if reason is None:
            order.accept(header)
        else:
            order.refuse(header, following)
            yield error(_CHECK, batch.file, header.position, reason)
        reason = self._epochs.problem(header, following)
        if reason is None:
            self._epochs.accept(header)
        else:
            yield error(_CHECK, batch.file, header.position, reason)
        try:
            records = batch.records
        except CorruptBatch as problem:
            yield error("record", batch.file, header.position, problem.reason)
            return
        for reason in _record_problems(header, records):
            yield error("record", batch.file, header.position, reason)


def _record_problems(header: BatchHeader, records: Iterable[Record]) -> Iterator[str]:
    """Yield how the records of a batch contradict its header."""
    if header.magic < 2:
        return
    previous, largest = header.base_offset - 1, header.max_timestamp
    for record in records:
        if not previous < record.offset <= header.last_offset:
            yield (
                f"offset {record.offset} after {previous}, "
                f"in a batch of offsets {header.base_offset} to {header.last_offset}"
            )
            return
        previous = record.offset
        if record.timestamp > largest:
            largest = record.timestamp
    if largest > header.max_timestamp:
        yield f"a record has timestamp {largest}, above the batch's largest {header.max_timestamp}"
