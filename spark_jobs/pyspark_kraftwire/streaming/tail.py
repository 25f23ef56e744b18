"""Finds the end of a log while a broker may be writing to it, and the positions of offsets.

Unfinished bytes are the end for now: a torn batch, preallocated zeros, a last batch whose CRC does
not match yet. Damage followed by batches is not: the log continues there, and the loss is reported
when those bytes are read.

The base offset of a batch is not under its CRC, so a header is believed only if it is in order
(`kraftwire.log.segments.batch_order`).

Known positions are kept as a `LogPosition`, so that nothing is scanned twice. They are verified
before use, since logs are truncated and compacted. Unknown ones are found by the offset index.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Generator, Iterable, Iterator
from typing import NamedTuple

from kraftwire.log.batches.batch import Batch
from kraftwire.log.batches.header import HEADER, BatchHeader, parse_header, problem_of
from kraftwire.log.directories.file_names import FileKind
from kraftwire.log.directories.partition import LogFile, Partition
from kraftwire.log.queries.selection import start_position
from kraftwire.log.segments.batch_order import MAX_RELATIVE_OFFSET, BatchOrder, in_order
from kraftwire.log.segments.resync import Resync
from kraftwire.log.segments.segment import scan_headers
from kraftwire.log.sources.source import Source
from kraftwire.log.sources.window import Window

_WINDOW = 64 << 10
_ALLOCATED = 1 << 20
"""This many zeros count as preallocated space; nothing is searched for after them."""


class LogPosition(NamedTuple):
    """Where a log continues: in the segment with a base offset, after its last batch, if any."""

    base: int
    last: BatchHeader | None = None

    @property
    def position(self) -> int:
        """The byte in the segment."""
        return self.last.end if self.last is not None else 0

    @property
    def next_offset(self) -> int:
        """The first offset that the next batch may have."""
        return self.last.last_offset + 1 if self.last is not None else self.base

    def holds(self, source: Source) -> bool:
        """Whether the last batch is still at its position in the segment."""
        if self.last is None:
            return True
        at = self.last.position
        header = parse_header(source.read_at(at, HEADER.size), 0, at)
        return header == self.last and self.last.end <= source.size


class _FailedSearch(NamedTuple):
    """A search that found no batch after damage; it is repeated only if a field changes."""

    position: int
    size: int
    head: bytes


class Tail:
    """The known positions in the log of one partition."""

    def __init__(self) -> None:
        self._places: dict[int, LogPosition] = {}
        self._end: LogPosition | None = None
        self._failed_search: _FailedSearch | None = None

    def end(self, partition: Partition) -> int:
        """Return the offset after the last complete batch."""
        segment = partition.segments[-1]
        base, place = segment.base_offset, self._end
        if place is None or place.base != base:
            place = None
        elif place.position == segment.size:
            return place.next_offset
        with segment.open() as source:
            if place is not None and place.holds(source):
                place = self._last(partition, segment, source, place)
            else:
                place = None
            if place is None:
                place = self._last(partition, segment, source, None) or LogPosition(base)
        self._end = place
        self.remember(place.next_offset, place)
        return place.next_offset

    def _last(
        self, partition: Partition, segment: LogFile, source: Source, known: LogPosition | None
    ) -> LogPosition | None:
        """Return the position after the last batch; None if a batch contradicts `known`."""
        place = known
        if known is not None:
            position, next_offset = known.position, known.next_offset
        else:
            index = partition.beside(segment, FileKind.OFFSET_INDEX)
            far = segment.base_offset + MAX_RELATIVE_OFFSET
            position, next_offset = start_position(source, index, far), None
        order = partition.order(segment, position, next_offset)
        for item in in_order(self._live_headers(source, position), order):
            if isinstance(item, BatchHeader):
                place = LogPosition(segment.base_offset, item)
            elif known is not None and place is known:
                return None
        return place

    def locate(self, partition: Partition, offset: int) -> LogPosition:
        """Return the position after the last batch before an offset, or the start of the log."""
        segments = partition.segments
        at = bisect_right([segment.base_offset for segment in segments], offset) - 1
        segment = segments[max(at, 0)]
        place = LogPosition(segment.base_offset)
        if offset <= segment.base_offset:
            return place
        with segment.open() as source:
            known = self._places.get(offset)
            if known is not None and known.base == place.base and known.holds(source):
                return known
            index = partition.beside(segment, FileKind.OFFSET_INDEX)
            last = self._last_before(
                partition, segment, source, start_position(source, index, offset - 1), offset
            )
            if last is None:  # an index may point after the offset
                last = self._last_before(partition, segment, source, 0, offset)
            place = LogPosition(segment.base_offset, last)
        self.remember(offset, place)
        return place

    def _last_before(
        self, partition: Partition, segment: LogFile, source: Source, position: int, offset: int
    ) -> BatchHeader | None:
        """Return the last batch before an offset, scanning from a position on."""
        last: BatchHeader | None = None
        headers = self._headers(partition, segment, source, position)
        order = partition.order(segment, position)
        for header in _in_order(headers, order, segment.base_offset):
            if header.last_offset >= offset:
                break
            last = header
        return last

    def batches(
        self, partition: Partition, offset: int, stop: int
    ) -> Generator[tuple[Source, LogPosition], None, None]:
        """Yield the positions after the batches from an offset to before another, with their file.

        `LogPosition.last` is the batch. A file is open only while its batches are yielded.
        """
        begin = self.locate(partition, offset)
        for segment in partition.segments:
            base = segment.base_offset
            if base < begin.base:
                continue
            if base >= stop:
                return
            with segment.open() as source:
                position = begin.position if base == begin.base else 0
                headers = self._headers(partition, segment, source, position)
                order = partition.order(segment, position, begin.next_offset)
                for header in _in_order(headers, order, max(offset, base)):
                    if header.base_offset >= stop:
                        return
                    yield source, LogPosition(base, header)

    def remember(self, offset: int, place: LogPosition) -> None:
        """Remember the position of an offset."""
        self._places[offset] = place

    def forget(self, offset: int) -> None:
        """Forget the positions before the next offset to read."""
        self._places = {at: place for at, place in self._places.items() if at >= offset}

    def _headers(
        self, partition: Partition, segment: LogFile, source: Source, position: int
    ) -> Iterator[BatchHeader]:
        if partition.end_of(segment) is None:
            yield from self._live_headers(source, position)
            return
        for item in scan_headers(source, position):
            if isinstance(item, BatchHeader):
                yield item

    def _live_headers(self, source: Source, position: int) -> Iterator[BatchHeader]:
        """Yield the headers of complete batches, the last one only if its CRC matches."""
        window = Window(source, _WINDOW)
        held: BatchHeader | None = None
        while position < source.size:
            header = _whole_header(window, position, source.size)
            if header is None:
                following = self._find_next(source, position, held)
                if following is None:
                    break
                position = following
                continue
            if held is not None:
                yield held
            held = header
            position = header.end
        if held is not None and _has_valid_crc(source, held):
            yield held

    def _find_next(self, source: Source, position: int, good: BatchHeader | None) -> int | None:
        """Return the position of the next batch after damage; None if the log ends here for now."""
        head = source.read_at(position, HEADER.size)
        header = parse_header(head, 0, position)
        if header is None:
            return None
        if problem_of(header) is None:  # so the batch is incomplete
            return None
        search = _FailedSearch(position, source.size, head)
        if search == self._failed_search:
            return None
        # A torn batch has its header, or the first bytes of it and then zeros.
        rest = source.read_at(position, _ALLOCATED)
        found = None
        if any(rest[HEADER.size :]):
            found = Resync(source).find(position, None, good)
        if found is None:
            self._failed_search = search
        return found


def _whole_header(window: Window, position: int, size: int) -> BatchHeader | None:
    data, at = window.at(position, HEADER.size)
    header = parse_header(data, at, position)
    if header is None or problem_of(header) is not None or header.end > size:
        return None
    return header


def _has_valid_crc(source: Source, header: BatchHeader) -> bool:
    data = source.read_at(header.position, header.size)
    return len(data) == header.size and Batch(header, data, source.name).has_valid_crc


def _in_order(
    headers: Iterable[BatchHeader], order: BatchOrder, next_offset: int
) -> Iterator[BatchHeader]:
    """Yield the headers that are in order, from the batch with `next_offset` on."""
    for header in in_order(headers, order):
        if isinstance(header, BatchHeader) and header.last_offset >= next_offset:
            yield header
