"""The progress of a share group in one partition (KIP-932): a start offset and the states after it.

A snapshot has the whole state; the updates after it have what changed. If several batches have the
same offset, the higher delivery count wins, then the higher state, as in Kafka's share coordinator
(PersisterStateBatchCombiner). States before the start offset are dropped.

Batches are combined when their number has doubled, or when they are read, so a long series of
updates takes linear time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import NamedTuple

DELIVERY_STATES = {0: "Available", 1: "Acquired", 2: "Acknowledged", 3: "Archiving", 4: "Archived"}
_FEW = 64


class StateBatch(NamedTuple):
    """Offsets, first and last included, that have one delivery state."""

    first_offset: int
    last_offset: int
    delivery_state: int
    delivery_count: int


@dataclass(frozen=True, slots=True)
class SharePartition:
    """The stored state of a share group in a partition; None if no record has set it.

    `start_offset` is also None before the group has begun to read.
    """

    start_offset: int | None = None
    snapshot_epoch: int | None = None
    state_epoch: int | None = None
    leader_epoch: int | None = None
    delivery_complete_count: int | None = None
    create_timestamp: int | None = None
    write_timestamp: int | None = None
    batches: tuple[StateBatch, ...] = ()


class ShareProgress:
    """Builds a `SharePartition` from a snapshot and the updates after it."""

    def __init__(self, snapshot: SharePartition) -> None:
        """Begin with a snapshot, or with an update whose snapshot is missing."""
        self._head = replace(snapshot, batches=())
        self._batches: list[StateBatch] = []
        self._combined = 0
        self._add(snapshot)

    def update(self, update: SharePartition) -> None:
        """Add an update; fields that it does not set keep their values."""
        start, before = update.start_offset, self._head.start_offset
        if start is not None and before is not None and start < before:
            self._combine()  # with the old start, so that states before it are dropped for good
        self._head = replace(
            self._head,
            start_offset=_newer(start, before),
            leader_epoch=_newer(update.leader_epoch, self._head.leader_epoch),
            delivery_complete_count=_newer(
                update.delivery_complete_count, self._head.delivery_complete_count
            ),
        )
        self._add(update)

    def get(self) -> SharePartition:
        self._combine()
        return replace(self._head, batches=tuple(self._batches))

    def _add(self, record: SharePartition) -> None:
        self._batches += record.batches
        if len(self._batches) > 2 * self._combined + _FEW:
            self._combine()

    def _combine(self) -> None:
        start = self._head.start_offset
        self._batches = combine(self._batches, 0 if start is None else start)
        self._combined = len(self._batches)


def combine(batches: Iterable[StateBatch], start_offset: int) -> list[StateBatch]:
    """Return the batches from the start offset on, in order and without overlap.

    This is one pass from the lowest offset to the highest. The heap has the batches at the
    current offset, the winner on top.
    """
    waiting = sorted(
        batch._replace(first_offset=max(batch.first_offset, start_offset))
        for batch in batches
        if batch.last_offset >= max(start_offset, batch.first_offset)
    )
    heap: list[tuple[int, int, int]] = []
    combined: list[StateBatch] = []
    at = number = 0
    while heap or number < len(waiting):
        if not heap:
            at = waiting[number].first_offset
        while number < len(waiting) and waiting[number].first_offset <= at:
            batch = waiting[number]
            heappush(heap, (-batch.delivery_count, -batch.delivery_state, -batch.last_offset))
            number += 1
        count, state, last = (-part for part in heap[0])
        if last < at:
            heappop(heap)
            continue
        end = last
        if number < len(waiting):
            end = min(last, waiting[number].first_offset - 1)
        _append(combined, StateBatch(at, end, state, count))
        at = end + 1
    return combined


def _append(combined: list[StateBatch], batch: StateBatch) -> None:
    """Append a batch, or extend the last one if the batch continues it."""
    before = combined[-1] if combined else None
    if (
        before is not None
        and before.last_offset + 1 == batch.first_offset
        and before[2:] == batch[2:]
    ):
        combined[-1] = before._replace(last_offset=batch.last_offset)
    else:
        combined.append(batch)


def _newer(new: int | None, old: int | None) -> int | None:
    return old if new is None else new
