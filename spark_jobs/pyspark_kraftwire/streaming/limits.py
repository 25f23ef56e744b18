"""How much of each partition comes into one trigger where that is limited.

A limit is shared among the partitions with new batches: the one that has taken least takes the
next batch, so that the others use what a slow partition leaves. Batches are not cut. The first
batch is taken whatever its size, so that the stream advances. The next trigger begins with the
first partition that got nothing, so each comes first at some time.
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

_RUN = 256
"""Batches that are looked at while a file is open."""


class BatchSize(NamedTuple):
    """A batch that may come into a trigger."""

    size: int
    """Bytes as they are stored."""
    records: int


class Queue(Protocol):
    """The batches of a partition that have not been taken yet."""

    def peek(self) -> BatchSize | None:
        """Return the size of the next batch, if there is one."""
        ...

    def take(self) -> None:
        """Take the next batch."""
        ...


class Limits:
    """The limits of a stream, and which partition comes first."""

    def __init__(self, max_bytes: int | None, max_records: int | None) -> None:
        """None is no limit."""
        self._max_bytes = max_bytes
        self._max_records = max_records
        self._turn: Name | None = None

    @property
    def is_set(self) -> bool:
        """Whether there is any limit."""
        return self._max_bytes is not None or self._max_records is not None

    def share(self, queues: Mapping[Name, Queue]) -> None:
        """Take batches from the queues, up to the limits of one trigger."""
        names = self._in_turn(sorted(queues))
        used = BatchSize(0, 0)
        taken = [BatchSize(0, 0) for _ in names]
        turns = [(0.0, number) for number in range(len(names))]
        starved = len(names)
        while turns:
            _, number = heapq.heappop(turns)
            queue = queues[names[number]]
            piece = queue.peek()
            if piece is None:
                continue
            if used.size and not self._has_room(used, piece):
                if not taken[number].size:
                    starved = min(starved, number)
                continue
            queue.take()
            used = _sum(used, piece)
            taken[number] = _sum(taken[number], piece)
            heapq.heappush(turns, (self._part(taken[number]), number))
        if starved < len(names):
            self._turn = names[starved]

    def _in_turn(self, names: list[Name]) -> list[Name]:
        at = bisect_left(names, self._turn) if self._turn is not None else 0
        return names[at:] + names[:at]

    def _has_room(self, used: BatchSize, piece: BatchSize) -> bool:
        size, records = _sum(used, piece)
        if self._max_bytes is not None and size > self._max_bytes:
            return False
        return self._max_records is None or records <= self._max_records

    def _part(self, taken: BatchSize) -> float:
        """Which part of the limits a partition has taken; the larger one where both are set."""
        of_bytes = taken.size / self._max_bytes if self._max_bytes is not None else 0.0
        of_records = taken.records / self._max_records if self._max_records is not None else 0.0
        return max(of_bytes, of_records)


def _sum(one: BatchSize, other: BatchSize) -> BatchSize:
    return BatchSize(one.size + other.size, one.records + other.records)


class LogQueue:
    """The batches of a partition between two offsets."""

    def __init__(self, tail: Tail, partition: Partition, start: int, stop: int) -> None:
        """`stop` is the end of the log, or before it."""
        self.next = start
        """The offset behind what was taken."""
        self._tail = tail
        self._partition = partition
        self._stop = stop
        self._place: LogPosition | None = None
        self._ahead: deque[tuple[LogPosition, BatchSize]] = deque()
        self._is_read = False

    def peek(self) -> BatchSize | None:
        """See `Queue.peek`."""
        if not self._ahead and not self._is_read:
            self._read()
        return self._ahead[0][1] if self._ahead else None

    def take(self) -> None:
        """See `Queue.take`."""
        self._place, _ = self._ahead.popleft()
        assert self._place.last is not None, "batches have a place each"
        self.next = self._place.last.last_offset + 1

    def close(self) -> None:
        """Note where the partition goes on."""
        if self._place is not None:
            self._tail.remember(self.next, self._place)

    def _read(self) -> None:
        self.close()
        try:
            with closing(self._tail.batches(self._partition, self.next, self._stop)) as batches:
                for source, place in islice(batches, _RUN):
                    self._ahead.append((place, _batch_size(source, place)))
        except FileNotFoundError:  # deleted since it was listed; the next trigger sees that
            pass
        self._is_read = len(self._ahead) < _RUN


def _batch_size(source: Source, place: LogPosition) -> BatchSize:
    header = place.last
    assert header is not None, "batches have a place each"
    count = header.record_count
    if count == UNKNOWN_COUNT:
        batch = Batch(header, source.read_at(header.position, header.size), source.name)
        try:
            count = batch.record_count
        except KraftwireError:  # what becomes of it is a matter of the read
            count = 1
    return BatchSize(header.size, count)
