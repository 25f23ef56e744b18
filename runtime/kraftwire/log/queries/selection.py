"""Reading a part of a partition: by offset, by time, as a transactional reader sees it.

A selection does not read what it leaves out: it skips segments by the names of those that follow,
the start of a segment by its offset index, and batches by their headers. An index is only a hint:
if there is no whole batch at its position, reading starts at the beginning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kraftwire.log.batches.batch import Batch
from kraftwire.log.batches.compression import DEFAULT_LIMIT
from kraftwire.log.batches.header import HEADER, BatchHeader, parse_sound_header
from kraftwire.log.batches.record import Record
from kraftwire.log.directories.partition import LogFile, Partition
from kraftwire.log.errors import CorruptBatch
from kraftwire.log.queries.transactions import PartitionTransactions
from kraftwire.log.segments.batch_order import BatchOrder, in_order
from kraftwire.log.segments.segment import Damage, scan_batches
from kraftwire.log.small_files.indexes import OffsetIndex
from kraftwire.log.sources.source import Source


@dataclass(frozen=True, slots=True)
class Selection:
    """Which records to read; None means no bound.

    Offsets from `from_offset` to before `to_offset`; timestamps, in ms, from `since` to
    before `until`; with `committed`, only what a read_committed reader sees.
    """

    from_offset: int | None = None
    to_offset: int | None = None
    since: int | None = None
    until: int | None = None
    committed: PartitionTransactions | None = None

    def may_have(self, header: BatchHeader) -> bool:
        """Whether a batch can contain selected records, by its header."""
        if self.from_offset is not None and header.last_offset < self.from_offset:
            return False
        if _is_past(header, self.to_offset):
            return False
        if self.since is not None and header.max_timestamp < self.since:
            return False
        too_late = self.until is not None and header.max_timestamp >= self.until
        if too_late and _has_one_timestamp(header):
            return False
        return self.committed is None or self.committed.is_visible(header)

    def has(self, record: Record) -> bool:
        """Whether a record is selected, except for `committed`, which depends on its batch."""
        if self.from_offset is not None and record.offset < self.from_offset:
            return False
        if self.to_offset is not None and record.offset >= self.to_offset:
            return False
        if self.since is not None and record.timestamp < self.since:
            return False
        return self.until is None or record.timestamp < self.until

    def records(self, batch: Batch) -> Iterable[Record]:
        return filter(self.has, batch.records)


def select_segments(partition: Partition, selection: Selection) -> list[LogFile]:
    """Return the segments that can have selected offsets."""
    chosen = []
    for segment in partition.segments:
        following = partition.end_of(segment)
        start, stop = selection.from_offset, selection.to_offset
        if start is not None and following is not None and following <= start:
            continue
        if stop is not None and segment.base_offset >= stop:
            continue
        chosen.append(segment)
    return chosen


def select_batches(
    source: Source,
    selection: Selection,
    start: int = 0,
    *,
    order: BatchOrder | None = None,
    limit: int = DEFAULT_LIMIT,
) -> Iterator[Batch | Damage]:
    """Yield the batches of a file that can have selected records, and all damage.

    `order` has the offsets of the batches before `start`.
    """
    for item in in_order(scan_batches(source, start, limit=limit), order or BatchOrder()):
        if isinstance(item, Damage) or selection.may_have(item.header):
            yield item
        elif _is_past(item.header, selection.to_offset):
            return


def _has_one_timestamp(header: BatchHeader) -> bool:
    """Whether all records have the header's largest timestamp."""
    return header.has_log_append_time or (header.magic >= 2 and header.record_count == 1)


def _is_past(header: BatchHeader, to_offset: int | None) -> bool:
    """Whether a batch begins after the last selected offset.

    Never true for magic 0 and 1: such a batch can begin before the offset in its header.
    """
    return to_offset is not None and header.magic >= 2 and header.base_offset >= to_offset


def start_position(source: Source, index: LogFile | None, from_offset: int | None) -> int:
    """Return the position in a segment to read an offset from: that of a batch, or 0."""
    return 0 if from_offset is None else indexed_start(source, open_index(index), from_offset)


def indexed_start(source: Source, index: OffsetIndex | None, from_offset: int) -> int:
    """Do the same as `start_position`, with the result of `open_index`."""
    entry = index.at_offset(from_offset) if index is not None else None
    if entry is None or batch_at(source, entry.position, from_offset) is None:
        return 0
    return entry.position


def open_index(index: LogFile | None) -> OffsetIndex | None:
    """Return the offset index of a segment; None if it cannot be read."""
    if index is None:
        return None
    try:
        return OffsetIndex(index.read(), index.base_offset)
    except (CorruptBatch, OSError):
        return None


def batch_at(source: Source, position: int, offset: int) -> BatchHeader | None:
    """Return the header of the batch to which an index points for an offset.

    Return None if no batch starts there, its CRC does not match, or it begins after the offset.
    """
    if position < 0:
        return None
    header = parse_sound_header(source.read_at(position, HEADER.size), 0, position, source.size)
    if header is None or header.base_offset > offset:
        return None
    batch = Batch(header, source.read_at(position, header.size), source.name)
    return header if batch.has_valid_crc else None
