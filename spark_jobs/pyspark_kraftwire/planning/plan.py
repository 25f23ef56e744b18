"""Plans which bytes of which files a read covers, as splits that tasks read in parallel.

A split is a part of one segment that begins and ends between two batches. Options exclude topics
and partitions by the names of directories, segments by the offsets in their names and the times in
their headers, and the start of a segment by its offset index.

Splits are cut where the offset index points, but only at a batch with a matching CRC to which the
batches before it lead. Their offsets go with the split, so that the order of batches is checked
across splits. A large segment without an index is scanned by its headers on this machine; in an
object store it is one split, since a scan would read all of it.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from kraftwire.log.batches.header import HEADER, BatchHeader, parse_sound_header
from kraftwire.log.directories.file_names import FileKind, FileName, PartitionName
from kraftwire.log.directories.partition import METADATA_TOPIC, LogFile, Partition, find_partitions
from kraftwire.log.queries.selection import (
    Selection,
    batch_at,
    indexed_start,
    open_index,
    select_segments,
)
from kraftwire.log.queries.transactions import PartitionTransactions, indexed_transactions
from kraftwire.log.queries.typed_records import LOGS, log_of_topic
from kraftwire.log.segments.batch_order import BatchOrder, with_following
from kraftwire.log.segments.segment import ZEROS_REASON, Damage, scan_headers
from kraftwire.log.small_files.indexes import TIME_ENTRY, OffsetIndex
from kraftwire.log.sources.source import Source
from kraftwire.log.sources.storage import LOCAL
from kraftwire_wire.errors import KraftwireError
from pyspark_kraftwire.columns.filters import PushedFilters, narrow_options, narrow_selection
from pyspark_kraftwire.options import AUTO, EARLIEST, LATEST, MEBIBYTE, Mode, Options
from pyspark_kraftwire.planning.paths import resolve
from pyspark_kraftwire.split import Split

T = TypeVar("T")

MAX_SPLIT = 128 * MEBIBYTE
MIN_SPLIT = 16 * MEBIBYTE
"""Bounds of a task's bytes if no option sets them: a task takes about 50 ms to start."""
_TASKS = 8
"""The number of tasks of a small read, within these bounds."""
_LOOKBACK = 2
"""The number of batches, or index entries, to read before a split to know the order there."""

Task = tuple[Split, ...]
"""The splits that one task reads."""

_log = logging.getLogger(__name__)


def requested_partitions(options: Options) -> list[Partition]:
    """Return the partitions below the paths that the options select.

    Raise `KraftwireError` if two directories have the same partition, since its records would be
    read twice. With FAILFAST, raise also if a log file is a FIFO or another special file.
    """

    def report(problem: KraftwireError) -> None:
        if options.mode is Mode.FAILFAST:
            raise KraftwireError(f"{problem}; mode=PERMISSIVE reads the other files")
        _log.warning("left out: %s", problem)

    if not options.paths:
        raise KraftwireError('no path: .load("/var/lib/kafka/data") names what to read')
    found = [
        part
        for place in resolve(options.paths, options.file_system)
        for partition in find_partitions(
            place.paths, place.storage, matched=place.matched, report=report
        )
        for part in _parts(partition, place.explicit)
    ]
    selected = [one for one in found if one.segments and _is_selected(one, options)]
    places: dict[tuple[str, int], Partition] = {}
    for partition in selected:
        is_snapshot = partition.segments[0].path.suffix == ".checkpoint"
        if partition.name is not None and not is_snapshot:
            other = places.setdefault(partition.name[:2], partition)
            if other is not partition:
                where = f"{other.directory} and {partition.directory}"
                reason = "read them separately, or name the paths of one replica"
                raise KraftwireError(f"{partition.label} is in two places, {where}: {reason}")
    return selected


def logs_of(partitions: Iterable[Partition]) -> list[str]:
    """Return the logs with typed records among some partitions."""
    found = {log_of_topic(one.segments[0].topic) for one in partitions}
    return [log for log in LOGS if log in found]


def _parts(partition: Partition, explicit: set[Path]) -> Iterator[Partition]:
    """Yield a partition with its explicitly named files, and each named snapshot separately.

    A file that is named is read even if it is marked for deletion. A snapshot is read only if it is
    named; it has its own offsets, from 0 on.
    """
    files = []
    for file in partition.files:
        if file.path in explicit and file.kind is FileKind.SNAPSHOT:
            name = partition.name or PartitionName(METADATA_TOPIC, 0)
            segment = replace(file, name=FileName(FileKind.SEGMENT, 0), partition=name)
            yield Partition(file.path, name, [segment])
        elif file.path in explicit:
            file = replace(file, name=file.name._replace(state=""))
        files.append(file)
    yield Partition(partition.directory, partition.name, files)


def _is_selected(partition: Partition, options: Options) -> bool:
    name = partition.name
    if name is not None and name.state:
        return False
    if options.decode not in (None, AUTO):
        known = partition.segments[0].topic
        if known is not None and log_of_topic(known) != options.decode:
            return False
    if options.topics is not None and (name is None or name.topic not in options.topics):
        return False
    return options.partitions is None or (name is not None and name.partition in options.partitions)


def plan(options: Options, filters: PushedFilters | None = None) -> list[Task]:
    """Return the tasks of a read, all of about the same size.

    Raise `KraftwireError` if the options leave nothing to read, but not if the filters do.
    """
    filters = filters or PushedFilters()
    partitions = requested_partitions(narrow_options(options, filters))
    if not partitions and filters.all and requested_partitions(options):
        return []
    return plan_partitions(partitions, options, filters)


def plan_partitions(
    partitions: Iterable[Partition], options: Options, filters: PushedFilters | None = None
) -> list[Task]:
    """Return the tasks for some partitions; raise `KraftwireError` if there are none."""
    partitions = list(partitions)
    if not partitions:
        raise KraftwireError(
            f"nothing to read in {', '.join(options.paths)}: {_no_segments(options)}"
        )
    total = sum(segment.size for one in partitions for segment in one.segments)
    size = split_size(total, options)
    splits: list[Split] = []
    for partition in partitions:
        selection = narrow_selection(selection_of(partition, options), filters or PushedFilters())
        splits += plan_partition(partition, selection, options, size)
    return pack_tasks(splits, size)


def _no_segments(options: Options) -> str:
    """Say that there are no segments that the options select."""
    asked = []
    if options.topics is not None:
        asked.append(f"topics {', '.join(sorted(options.topics))}")
    if options.partitions is not None:
        asked.append(f"partitions {', '.join(map(str, sorted(options.partitions)))}")
    if options.decode not in (None, AUTO):
        asked.append(f"a topic of the log {options.decode}")
    return f"there are no segments of {' and '.join(asked)}" if asked else "there are no segments"


def split_size(total: int, options: Options) -> int:
    """Return about how many of `total` bytes a task reads."""
    return options.max_split_bytes or min(max(total // _TASKS, MIN_SPLIT), MAX_SPLIT)


def selection_of(partition: Partition, options: Options) -> Selection:
    """Return the records of a partition that the options select."""
    number = partition.name.partition if partition.name else None
    start = options.starting_offsets.of(partition.topic, number)
    stop = options.ending_offsets.of(partition.topic, number)
    if start == LATEST or stop == EARLIEST:
        raise KraftwireError(
            "startingOffsets=latest or endingOffsets=earliest leaves nothing to read"
        )
    return Selection(
        from_offset=None if start == EARLIEST else start,
        to_offset=None if stop == LATEST else stop,
        since=options.starting_timestamp,
        until=options.ending_timestamp,
        committed=_transactions(partition, options) if options.read_committed else None,
    )


def _transactions(partition: Partition, options: Options) -> PartitionTransactions:
    """Read the transactions of a partition; damage may hide the marker that ends one."""
    found = indexed_transactions(partition)
    last = str(partition.segments[-1].path)
    for problem in found.problems:
        if problem.reason == ZEROS_REASON and problem.file == last:
            continue
        if options.mode is Mode.FAILFAST:
            reason = "mode=PERMISSIVE reads the records that are known to be committed"
            raise KraftwireError(f"{problem}, so transactions may stay open; {reason}")
        _log.warning("transactions may stay open: %s", problem)
    return found


def plan_partition(
    partition: Partition, selection: Selection, options: Options, size: int
) -> Iterator[Split]:
    """Yield the splits of a partition, of about `size` bytes each."""
    log = options.decode
    if log == AUTO:
        log = log_of_topic(partition.segments[0].topic)
    for segment in select_segments(partition, selection):
        is_tail = partition.end_of(segment) is None
        total = segment.size
        if total == 0 or (not is_tail and _is_before(partition, segment, selection.since)):
            continue
        order = partition.order(segment)
        whole = Split(segment, 0, total, selection, log, is_tail, file_size=total, order=order)
        if selection.from_offset is None and total <= largest_part(size):
            yield whole  # without opening the file, which costs a request in an object store
        else:
            yield from _parts_of(partition, whole, size)


def _parts_of(partition: Partition, whole: Split, size: int) -> Iterator[Split]:
    """Yield the parts of a segment that may contain selected offsets."""
    segment, selection = whole.file, whole.selection
    with segment.open() as source:
        index = partition.beside(segment, FileKind.OFFSET_INDEX)
        cutter = _SegmentCutter(partition, segment, source, open_index(index))
        for start, end, order in cutter.parts(selection.from_offset, size):
            if not _is_after_end(source, start, selection):
                mark = mark_at(source, start)
                yield replace(
                    whole, start=start, end=end, file_size=source.size, mark=mark, order=order
                )


def mark_at(source: Source, start: int) -> bytes:
    """Return the fingerprint of the batch at a split's start: its header."""
    return source.read_at(start, HEADER.size)


def largest_part(size: int) -> int:
    """Return the size up to which a part is not cut into parts of `size` bytes."""
    return size + size // 2


def _is_before(partition: Partition, segment: LogFile, since: int | None) -> bool:
    """Whether all of a segment is older than `since`.

    The headers of all batches must confirm what its time index says: an index has no checksum, and
    one that ends too early would hide records. In an object store, scanning headers would read
    the whole file, so that is left to the tasks.
    """
    if since is None or segment.storage is not LOCAL:
        return False
    if not _claims_before(partition.beside(segment, FileKind.TIME_INDEX), since):
        return False
    with segment.open() as source:
        return all(
            isinstance(item, BatchHeader) and item.max_timestamp < since
            for item in scan_headers(source)
        )


def _claims_before(index: LogFile | None, since: int) -> bool:
    """Whether the last entry of a time index is older than `since`."""
    if index is None:
        return False
    with index.open() as source:
        if source.size == 0 or source.size % TIME_ENTRY.size:
            return False
        last = source.read_at(source.size - TIME_ENTRY.size, TIME_ENTRY.size)
    if len(last) < TIME_ENTRY.size or not any(last):
        return False  # truncated since, or preallocated
    timestamp, _ = TIME_ENTRY.unpack(last)
    return bool(0 <= timestamp < since)


def _is_after_end(source: Source, start: int, selection: Selection) -> bool:
    """Whether a split begins after the last selected offset."""
    if selection.to_offset is None or start == 0:
        return False
    header = parse_sound_header(source.read_at(start, HEADER.size), 0, start, source.size)
    return header is not None and header.base_offset >= selection.to_offset


@dataclass(frozen=True, slots=True)
class _SegmentCutter:
    """Cuts a segment into parts, at the entries of its offset index if that can be read."""

    partition: Partition
    segment: LogFile
    source: Source
    entries: OffsetIndex | None

    def parts(self, from_offset: int | None, size: int) -> Iterator[tuple[int, int, BatchOrder]]:
        """Yield the start and the end of parts of about `size` bytes, and the order before each."""
        first, order = self._first(from_offset)
        at = first
        for cut, before in self._cuts(first, size):
            following = self._order_at(cut, before)
            if following is None:
                break  # the position is inside a record's value
            yield at, cut, order
            at, order = cut, following
        yield at, self.source.size, order

    def _first(self, from_offset: int | None) -> tuple[int, BatchOrder]:
        """Return where to start reading for an offset, and the order before it."""
        if from_offset is not None:
            start = indexed_start(self.source, self.entries, from_offset)
            order = self._order_at(start, self._before(start)) if start else None
            if order is not None:
                return start, order
        return 0, self.partition.order(self.segment)

    def _cuts(self, first: int, size: int) -> Iterator[tuple[int, int]]:
        """Yield positions to cut at, each with that of a batch a little before it."""
        if self.source.size - first <= largest_part(size):
            return iter(())
        if self.entries is not None and self.entries.count:
            return self._indexed_cuts(self.entries, first, size)
        return self._scanned_cuts(first, size) if self.segment.storage is LOCAL else iter(())

    def _indexed_cuts(
        self, entries: OffsetIndex, first: int, size: int
    ) -> Iterator[tuple[int, int]]:
        at, source = first, self.source
        while source.size - at > largest_part(size):
            entry = entries.at_position(at + size)
            if entry is None or entry.position <= at:
                return  # batches are larger than splits, or the index ends here
            if batch_at(source, entry.position, entry.offset) is None:
                return  # it is not the index of this file
            at = entry.position
            yield at, self._before(at)

    def _scanned_cuts(self, first: int, size: int) -> Iterator[tuple[int, int]]:
        at, source = first, self.source
        last: deque[int] = deque([first], maxlen=_LOOKBACK)
        for item in scan_headers(source, first):
            if not isinstance(item, BatchHeader):
                continue
            if item.position >= at + size:
                if source.size - item.position <= size // 2:
                    return
                if batch_at(source, item.position, item.base_offset) is not None:
                    at = item.position
                    yield at, last[0]
            last.append(item.position)

    def _before(self, start: int) -> int:
        """Return the position of the second last index entry before a position, or 0."""
        for _ in range(_LOOKBACK):
            entry = self.entries.at_position(start - 1) if self.entries and start else None
            start = entry.position if entry is not None else 0
        return start

    def _order_at(self, start: int, before: int) -> BatchOrder | None:
        """Return the order before a batch, by the headers from `before` on.

        Return None if the position is inside another batch, and so in the value of a record.
        """
        order = self.partition.order(self.segment, before)
        is_damaged = False
        for item, following in with_following(scan_headers(self.source, before, start + 1)):
            position = item.start if isinstance(item, Damage) else item.position
            if position >= start:
                return order if position == start or is_damaged else None
            is_damaged = isinstance(item, Damage)
            order.apply(item, following)
        return order if is_damaged else None


def pack_tasks(splits: Iterable[Split], size: int) -> list[Task]:
    """Return splits as tasks of about `size` bytes: many small files become one task."""
    return [tuple(some) for some in pack(splits, largest_part(size), lambda split: split.size)]


def pack(items: Iterable[T], limit: int, bytes_of: Callable[[T], int]) -> Iterator[list[T]]:
    """Yield items in their order, in lists of at most `limit` bytes; a larger item is alone."""
    packed: list[T] = []
    filled = 0
    for item in items:
        size = bytes_of(item)
        if packed and filled + size > limit:
            yield packed
            packed, filled = [], 0
        packed.append(item)
        filled += size
    if packed:
        yield packed
