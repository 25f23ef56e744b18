"""How far a log reaches that a broker may be writing to, and where in it an offset lies.

What a broker has not finished is the end for now: a torn batch, zeros allocated in advance, a
last batch whose CRC does not match yet. Damage with batches behind it is not: reading goes on
there, and says what is lost when those bytes are read.

The base offset of a batch is not under its CRC, so a header is believed only if it is in order
(`kraftwire.log.segments.batch_order`).

What was found is kept as a `Place`, so that nothing is gone over twice; it is looked at again
before it is used, since logs are cut and compacted. Without one the offset index leads there.
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
"""As many zeros as this are space that was allocated in advance; nothing is looked for behind."""


class Place(NamedTuple):
    """Where a log goes on: in the segment with a base offset, behind the last batch, if any."""

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
    """A look behind the end of a log that found nothing, and what has to change for another."""

    position: int
    size: int
    head: bytes


class Tail:
    """What is known of the log of one partition while it is followed."""

    def __init__(self) -> None:
        """Nothing known."""
        self._places: dict[int, Place] = {}
        self._end: Place | None = None
        self._stop: _Stop | None = None

    def end(self, partition: Partition) -> int:
        """The offset behind the last batch that is whole."""
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
                place = self._last(partition, segment, source, None) or Place(base)
        self._end = place
        self.remember(place.next_offset, place)
        return place.next_offset

    def _last(
        self, partition: Partition, segment: LogFile, source: Source, known: Place | None
    ) -> Place | None:
        """Behind the last batch, from a known place on; None if the next one contradicts that."""
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
                place = Place(segment.base_offset, item)
            elif known is not None and place is known:
                return None
        return place

    def locate(self, partition: Partition, offset: int) -> Place:
        """Behind the last batch before an offset; at the start of the log for one before it."""
        segments = partition.segments
        at = bisect_right([segment.base_offset for segment in segments], offset) - 1
        segment = segments[max(at, 0)]
        place = Place(segment.base_offset)
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
            place = Place(segment.base_offset, last)
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
    ) -> Generator[tuple[Source, Place], None, None]:
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
                    yield source, Place(base, header)

    def remember(self, offset: int, place: Place) -> None:
        """Note where an offset lies."""
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
        """The headers of what is whole; each is held back until there is something behind it."""
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
        """Where batches go on behind bytes that are none; None where that is the end for now."""
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
