"""Plans the tasks of one trigger: exactly the bytes between two offsets of a stream.

The bytes of a trigger begin right after the last batch before its start, and end right after its
last batch. So damage between two triggers belongs to the later one, and unfinished bytes to none.
A file that is compacted before it is read is an error (`split`); the stream then reads the same
offsets from the new file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from kraftwire.log.directories.file_names import FileKind
from kraftwire.log.directories.partition import Partition
from kraftwire.log.queries.selection import Selection
from kraftwire.log.segments.batch_order import BatchOrder
from pyspark_kraftwire.options import Options
from pyspark_kraftwire.planning.plan import (
    Task,
    largest_part,
    mark_at,
    pack_tasks,
    plan_partition,
    split_size,
)
from pyspark_kraftwire.split import Split
from pyspark_kraftwire.streaming.tail import LogPosition, Tail

_UNCUT = 1 << 62


@dataclass(frozen=True)
class TriggerSpan:
    """The bytes of one partition that a trigger reads, by the base offset of each segment."""

    partition: Partition
    selection: Selection
    begin: LogPosition
    """The position after the last batch before the trigger's first."""
    bytes: dict[int, tuple[int, int]]

    @property
    def size(self) -> int:
        return sum(end - start for start, end in self.bytes.values())


def span_of(
    tail: Tail, partition: Partition, start: int, stop: int, selection: Selection
) -> TriggerSpan:
    """Return the bytes of a partition from `start` to before `stop`."""
    first, last = tail.locate(partition, start), tail.locate(partition, stop)
    found = {}
    for segment in partition.segments:
        base = segment.base_offset
        if first.base <= base <= last.base:
            begin = first.position if base == first.base else 0
            end = last.position if base == last.base else segment.size
            if begin < end:
                found[base] = begin, end
    # The end is a position: as an offset, a damaged batch could end the read too early.
    return TriggerSpan(
        partition, replace(selection, from_offset=start, to_offset=None), first, found
    )


def plan_spans(spans: Iterable[TriggerSpan], options: Options) -> list[Task]:
    """Return the tasks of a trigger."""
    spans = list(spans)
    total = sum(span.size for span in spans)
    size = split_size(total, options)
    return pack_tasks((split for span in spans for split in _splits(span, options, size)), size)


def _splits(span: TriggerSpan, options: Options, size: int) -> Iterator[Split]:
    partition = span.partition
    files = [
        file
        for file in partition.files
        if file.kind is not FileKind.SEGMENT or file.base_offset in span.bytes
    ]
    inside = Partition(partition.directory, partition.name, files)
    if not inside.segments:
        return
    # Cutting a segment reads its whole index, which a small trigger is not worth.
    is_small = max(end - start for start, end in span.bytes.values()) <= largest_part(size)
    whole = replace(span.selection, from_offset=None, committed=None)
    for split in plan_partition(inside, whole, options, _UNCUT if is_small else size):
        low, high = span.bytes[split.file.base_offset]
        start, end = max(split.start, low), min(split.end, high)
        if start < end:
            with split.file.open() as source:
                mark = mark_at(source, start)[: end - start]
            order = _order(span, split, start)
            yield replace(
                split, start=start, end=end, selection=span.selection, mark=mark, order=order
            )


def _order(span: TriggerSpan, split: Split, start: int) -> BatchOrder:
    """Return what is known about the batches before a position in a split."""
    begin, file = span.begin, split.file
    if (file.base_offset, start) == (begin.base, begin.position):
        return span.partition.order(file, start, begin.next_offset)
    if start != split.start:
        return span.partition.order(file, start)
    # The split was planned without the segments that the trigger does not read.
    split.order.bound = min(split.order.bound, span.partition.order(file).bound)
    return split.order
