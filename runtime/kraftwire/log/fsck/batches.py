"""Checks of one batch after the other: offsets and epochs go up, records are as announced."""

from __future__ import annotations

from collections.abc import Iterator

from kraftwire.log.batch import Batch
from kraftwire.log.errors import CorruptBatch
from kraftwire.log.fsck.finding import Finding, error
from kraftwire.log.header import BatchHeader
from kraftwire.log.order import jump_of
from kraftwire.log.record import Record

_CHECK = "batch"
_MAX_DELTA = 0x7FFFFFFF


class BatchChecks:
    """Looks at the batches of one partition, in the order of its segments."""

    def __init__(self) -> None:
        """Nothing seen yet."""
        self._last_offset = -1
        self._epoch = -1

    @property
    def next_offset(self) -> int:
        """The offset behind the last batch: the log's end."""
        return self._last_offset + 1

    def check(
        self,
        batch: Batch,
        segment_base: int,
        following: BatchHeader | None = None,
        segment_end: int | None = None,
    ) -> Iterator[Finding]:
        """A batch of the segment whose name says `segment_base`; see `order.jump_of`."""
        header = batch.header
        for reason in self._problems(header, segment_base):
            yield error(_CHECK, batch.file, header.position, reason)
        jump = jump_of(
            header,
            following,
            next_offset=self.next_offset,
            epoch=self._epoch,
            segment_end=segment_end,
        )
        if jump is not None:
            yield error(_CHECK, batch.file, header.position, jump)
        else:
            self._last_offset = max(self._last_offset, header.last_offset)
            self._epoch = max(self._epoch, header.partition_leader_epoch)
        try:
            records = batch.records
        except CorruptBatch as problem:
            yield error("record", batch.file, header.position, problem.reason)
            return
        for reason in _record_problems(header, records):
            yield error("record", batch.file, header.position, reason)

    def _problems(self, header: BatchHeader, segment_base: int) -> Iterator[str]:
        first = header.base_offset
        if first <= self._last_offset:
            yield f"base offset {first} behind offset {self._last_offset}, which came before"
        if first < segment_base:
            yield f"base offset {first} in a segment that begins with {segment_base}"
        if header.last_offset - segment_base > _MAX_DELTA:
            yield f"offset {header.last_offset} is too far from the segment's first, {segment_base}"
        if 0 <= header.partition_leader_epoch < self._epoch:
            yield f"leader epoch {header.partition_leader_epoch} behind epoch {self._epoch}"


def _record_problems(header: BatchHeader, records: list[Record]) -> Iterator[str]:
    if header.magic < 2:
        return
    previous = header.base_offset - 1
    for record in records:
        if not previous < record.offset <= header.last_offset:
            yield (
                f"offset {record.offset} behind {previous}, "
                f"in a batch of offsets {header.base_offset} to {header.last_offset}"
            )
            return
        previous = record.offset
    largest = max((record.timestamp for record in records), default=header.max_timestamp)
    if largest > header.max_timestamp:
        yield f"a record has timestamp {largest}, above the batch's largest {header.max_timestamp}"
