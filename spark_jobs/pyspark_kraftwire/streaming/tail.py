"""How far a log reaches while a broker may be writing to it, and where in it an offset is.

Unfinished bytes are the end for now: a torn batch, preallocated zeros, a last batch whose CRC does
not match yet. Damage followed by batches is not: the log continues there, and the loss is reported
when those bytes are read.

The base offset of a batch is not under its CRC, so a header is believed only if it is in order
(`kraftwire.log.segments.batch_order`).

A position that was found is kept as a `LogPosition`, so that nothing is scanned twice. It is
verified before use, since logs are truncated and compacted. Otherwise the offset index is used.
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
        """In bytes from the start of the segment."""
        return self.last.end if self.last is not None else 0

    @property
    def next_offset(self) -> int:
        """The first offset that the next batch may have."""
        return self.last.last_offset + 1 if self.last is not None else self.base

    def holds(self, source: Source) -> bool:
        """Whether the last batch still stands there in the segment."""
        if self.last is None:
            return True
        at = self.last.position
        there = parse_header(source.read_at(at, HEADER.size), 0, at)
        return there == self.last and self.last.end <= source.size


class _Stop(NamedTuple):
    """A fruitless search after the end of a log; it is repeated only if one of these changes."""

    position: int
    size: int
    head: bytes


class Tail:
    """The known positions in the log of one partition."""

    def __init__(self) -> None:
        self._places: dict[int, LogPosition] = {}
        self._end: LogPosition | None = None
        self._stop: _Stop | None = None

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
        for item in in_order(self._live(source, position), order):
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
            if last is None:  # an index may lead too far
                last = self._last_before(partition, segment, source, 0, offset)
            place = LogPosition(segment.base_offset, last)
        self.remember(offset, place)
        return place

    def _last_before(
        self, partition: Partition, segment: LogFile, source: Source, position: int, offset: int
    ) -> BatchHeader | None:
        """The last batch before an offset, from a position on."""
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
        """The batches from an offset on that begin before another one, each with its file.

        A place has its batch as the last. Files are open only while the iterator is in them.
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
        """Forget the places before an offset, which is the next that is read."""
        self._places = {at: place for at, place in self._places.items() if at >= offset}

    def _headers(
        self, partition: Partition, segment: LogFile, source: Source, position: int
    ) -> Iterator[BatchHeader]:
        if partition.end_of(segment) is None:
            yield from self._live(source, position)
            return
        for item in scan_headers(source, position):
            if isinstance(item, BatchHeader):
                yield item

    def _live(self, source: Source, position: int) -> Iterator[BatchHeader]:
        """The headers of complete batches; each is withheld until something follows it."""
        window = Window(source, _WINDOW)
        held: BatchHeader | None = None
        while position < source.size:
            header = _whole_header(window, position, source.size)
            if header is None:
                behind = self._behind(source, position, held)
                if behind is None:
                    break
                position = behind
                continue
            if held is not None:
                yield held
            held = header
            position = header.end
        if held is not None and _has_valid_crc(source, held):
            yield held

    def _behind(self, source: Source, position: int, good: BatchHeader | None) -> int | None:
        """The position of the next batch after damage; None if the log ends here for now."""
        head = source.read_at(position, HEADER.size)
        header = parse_header(head, 0, position)
        if header is None:
            return None
        if problem_of(header) is None:  # and so not all of it is there
            return None
        stop = _Stop(position, source.size, head)
        if stop == self._stop:
            return None
        # A batch that was begun has its header, or the first bytes of that and then zeros.
        rest = source.read_at(position, _ALLOCATED)
        found = None
        if any(rest[HEADER.size :]):
            found = Resync(source).find(position, None, good)
        if found is None:
            self._stop = stop
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
    """The headers that can be where they are, from the one that has `next_offset` on."""
    for header in in_order(headers, order):
        if isinstance(header, BatchHeader) and header.last_offset >= next_offset:
            yield header
