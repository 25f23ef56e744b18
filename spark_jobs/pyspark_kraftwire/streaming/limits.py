"""Decides how much of each partition a limited trigger reads.

The partitions with new batches share a limit: the partition with the fewest records or bytes so far
gets the next batch, so that the others use what a slow partition leaves. Batches are not cut. The
first batch is always read, so that the stream advances. The next trigger starts with the first
partition that got nothing, so every partition comes first at some time.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections import deque
from collections.abc import Mapping
from contextlib import closing
from itertools import islice
from typing import NamedTuple, Protocol

from kraftwire.log.batches.batch import Batch
from kraftwire.log.batches.header import UNKNOWN_COUNT
from kraftwire.log.directories.partition import Partition
from kraftwire.log.sources.source import Source
from kraftwire_wire.errors import KraftwireError
from pyspark_kraftwire.streaming.offsets import Name
from pyspark_kraftwire.streaming.tail import LogPosition, Tail

_MAX_AHEAD = 256
"""The number of batches to read ahead while a file is open."""


class BatchSize(NamedTuple):
    """The size of a batch."""

    size: int
    """Stored bytes."""
    records: int


class Queue(Protocol):
    """The remaining batches of a partition."""

    def peek(self) -> BatchSize | None:
        """Return the size of the next batch, if there is one."""
        ...

    def take(self) -> None:
        """Remove the next batch."""
        ...


class Limits:
    """The limits of a stream, and the partition that comes first in the next trigger."""

    def __init__(self, max_bytes: int | None, max_records: int | None) -> None:
        """None means no limit."""
        self._max_bytes = max_bytes
        self._max_records = max_records
        self._first: Name | None = None

    @property
    def is_set(self) -> bool:
        """Whether there is any limit."""
        return self._max_bytes is not None or self._max_records is not None

    def share(self, queues: Mapping[Name, Queue]) -> None:
        """Remove batches from the queues, up to the limits of one trigger."""
        names = self._rotated(sorted(queues))
        used = BatchSize(0, 0)
        taken = [BatchSize(0, 0) for _ in names]
        turns = [(0.0, number) for number in range(len(names))]
        starved = len(names)
        while turns:
            _, number = heapq.heappop(turns)
            queue = queues[names[number]]
            batch = queue.peek()
            if batch is None:
                continue
            if used.size and not self._has_room(used, batch):
                if not taken[number].size:
                    starved = min(starved, number)
                continue
            queue.take()
            used = _sum(used, batch)
            taken[number] = _sum(taken[number], batch)
            heapq.heappush(turns, (self._share(taken[number]), number))
        if starved < len(names):
            self._first = names[starved]

    def _rotated(self, names: list[Name]) -> list[Name]:
        at = bisect_left(names, self._first) if self._first is not None else 0
        return names[at:] + names[:at]

    def _has_room(self, used: BatchSize, batch: BatchSize) -> bool:
        size, records = _sum(used, batch)
        if self._max_bytes is not None and size > self._max_bytes:
            return False
        return self._max_records is None or records <= self._max_records

    def _share(self, taken: BatchSize) -> float:
        """Return a partition's share of the limit; of both limits, the larger share."""
        of_bytes = taken.size / self._max_bytes if self._max_bytes is not None else 0.0
        of_records = taken.records / self._max_records if self._max_records is not None else 0.0
        return max(of_bytes, of_records)


def _sum(one: BatchSize, other: BatchSize) -> BatchSize:
    return BatchSize(one.size + other.size, one.records + other.records)


class LogQueue:
    """The batches of a partition between two offsets."""

    def __init__(self, tail: Tail, partition: Partition, start: int, stop: int) -> None:
        """`stop` is not after the end of the log."""
        self.next = start
        """The offset after the removed batches."""
        self._tail = tail
        self._partition = partition
        self._stop = stop
        self._place: LogPosition | None = None
        self._ahead: deque[tuple[LogPosition, BatchSize]] = deque()
        self._is_read = False

    def peek(self) -> BatchSize | None:
        if not self._ahead and not self._is_read:
            self._read()
        return self._ahead[0][1] if self._ahead else None

    def take(self) -> None:
        self._place, _ = self._ahead.popleft()
        assert self._place.last is not None, "batches() yields positions of batches"
        self.next = self._place.last.last_offset + 1

    def close(self) -> None:
        """Remember the position after the removed batches."""
        if self._place is not None:
            self._tail.remember(self.next, self._place)

    def _read(self) -> None:
        self.close()
        try:
            with closing(self._tail.batches(self._partition, self.next, self._stop)) as batches:
                for source, place in islice(batches, _MAX_AHEAD):
                    self._ahead.append((place, _batch_size(source, place)))
        except FileNotFoundError:  # deleted since it was listed; the next trigger reports that
            pass
        self._is_read = len(self._ahead) < _MAX_AHEAD


def _batch_size(source: Source, place: LogPosition) -> BatchSize:
    header = place.last
    assert header is not None, "batches() yields positions of batches"
    count = header.record_count
    if count == UNKNOWN_COUNT:
        batch = Batch(header, source.read_at(header.position, header.size), source.name)
        try:
            count = batch.record_count
        except KraftwireError:  # reported when it is read
            count = 1
    return BatchSize(header.size, count)
