"""Transactions in a stream: its last stable offset, and which transactions were aborted.

A stream stops before the first open transaction and continues once it has ended, so its earlier
rows stay valid. So the batches after its position show all transactions there, and each of them is
read once.
"""

from __future__ import annotations

import logging

from kraftwire.log.batches.batch import Batch
from kraftwire.log.directories.partition import Partition
from kraftwire.log.queries.transactions import PartitionTransactions
from kraftwire.log.sources.source import Source
from kraftwire_wire.errors import KraftwireError
from pyspark_kraftwire.streaming.tail import LogPosition, Tail

_log = logging.getLogger(__name__)


class StreamTransactions:
    """The transactions of one partition from an offset on (`isolation=read_committed`)."""

    def __init__(self, first: int) -> None:
        """`first` is the start of the stream in the partition, or its position."""
        self.first = first
        self._transactions = PartitionTransactions()
        self._next = first

    def read_to(self, tail: Tail, partition: Partition, stop: int) -> int:
        """Read to `stop`, the end of the log, and return the last stable offset."""
        place: LogPosition | None = None
        for source, place in tail.batches(partition, self._next, stop):
            assert place.last is not None, "batches() yields positions of batches"
            if place.last.is_transactional:
                self._apply(Batch(place.last, _content(source, place), source.name))
            self._next = place.last.last_offset + 1
        if place is not None:
            tail.remember(self._next, place)
        stable = self._transactions.last_stable_offset
        return stop if stable is None else min(stop, stable)

    def _apply(self, batch: Batch) -> None:
        """Apply a batch of a transaction; skip a damaged one, as batch reads do."""
        try:
            self._transactions.verify_and_apply(batch)
        except KraftwireError as error:
            reason = "a transaction that ends there stays open, and the stream stops before it"
            _log.warning("%s; %s", error, reason)

    def between(self, start: int, stop: int) -> PartitionTransactions:
        """Return the aborted transactions between two offsets; `stop` is stable."""
        found = PartitionTransactions()
        for one in self._transactions.aborted:
            if one.last_offset >= start and one.first_offset < stop:
                found.add(one)
        return found

    def forget(self, start: int) -> None:
        """Forget the transactions before the stream's position."""
        before = self._transactions
        if before.aborted and before.aborted[0].last_offset < start:
            kept = PartitionTransactions()
            for one in before.aborted:
                if one.last_offset >= start:
                    kept.add(one)
            kept.set_open(before.open)
            self._transactions = kept
        self.first = max(self.first, start)


def _content(source: Source, place: LogPosition) -> bytes:
    assert place.last is not None
    return source.read_at(place.last.position, place.last.size)
