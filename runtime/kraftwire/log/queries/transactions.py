"""read_committed without a broker: which records of a partition belong to aborted transactions.

A transaction begins with a producer's first transactional batch and ends with a control batch whose
marker is COMMIT or ABORT. One pass over the headers fills `PartitionTransactions`; only
transactional batches are read. A transaction without a marker is open: a read_committed reader sees
nothing from its first offset on, the last stable offset.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from operator import attrgetter, itemgetter
from typing import NamedTuple

from kraftwire.log.batches.batch import Batch
from kraftwire.log.batches.header import BatchHeader
from kraftwire.log.directories.file_names import FileKind
from kraftwire.log.directories.partition import LogFile, Partition
from kraftwire.log.errors import CorruptBatch
from kraftwire.log.segments.segment import Damage, scan_headers
from kraftwire.log.small_files.indexes import read_transaction_index
from kraftwire.log.small_files.producer_snapshot import decode_producer_snapshot
from kraftwire.log.sources.source import Source
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.records import ControlType, decode_control_key


class AbortedTransaction(NamedTuple):
    """An aborted transaction: its first offset, and the offset of its marker.

    `last_stable_offset` is that of the log after the marker.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class PartitionTransactions:
    """The transactions of one partition. Batches are added in the order of their offsets."""

    def __init__(self) -> None:
        self.aborted: list[AbortedTransaction] = []
        self.abort_markers: list[tuple[int, int]] = []
        """Producer and offset of every abort marker, also of transactions begun before the log."""
        self.problems: list[CorruptBatch] = []
        """What could not be read while searching for transactions."""
        self._open: dict[int, int] = {}
        self._by_producer: defaultdict[int, list[AbortedTransaction]] = defaultdict(list)

    @property
    def open(self) -> dict[int, int]:
        """The producers with an open transaction, and its first offset."""
        return dict(self._open)

    @property
    def last_stable_offset(self) -> int | None:
        """The first offset of the oldest open transaction; None if none is open."""
        # Transactions are added in the order of their offsets, so the first is the oldest.
        return next(iter(self._open.values()), None)

    def apply(self, batch: Batch) -> None:
        """Apply a batch whose CRC was checked; raise `KraftwireError` for an unreadable marker.

        As in Kafka, the first record of a control batch is the marker, and the others are ignored.
        """
        header = batch.header
        if not header.is_transactional:
            return
        if not header.is_control:
            if header.producer_id >= 0:
                self._open.setdefault(header.producer_id, header.base_offset)
            return
        for record in batch.records[:1]:
            kind = decode_control_key(record.key or b"")
            if kind not in (ControlType.ABORT, ControlType.COMMIT):
                continue
            first = self._open.pop(header.producer_id, None)
            if kind is ControlType.ABORT:
                self.abort_markers.append((header.producer_id, record.offset))
            if kind is ControlType.ABORT and first is not None:
                stable = self.last_stable_offset
                stable = record.offset + 1 if stable is None else stable
                self.add(AbortedTransaction(header.producer_id, first, record.offset, stable))

    def verify_and_apply(self, batch: Batch) -> None:
        """Check the CRC of a batch and apply it; raise `KraftwireError` if it is damaged."""
        if not batch.has_valid_crc:
            raise CorruptBatch(batch.file, batch.header.position, "the CRC does not match")
        self.apply(batch)

    def add(self, aborted: AbortedTransaction) -> None:
        self.aborted.append(aborted)
        self._by_producer[aborted.producer_id].append(aborted)

    def set_open(self, first_offsets: dict[int, int]) -> None:
        self._open = dict(sorted(first_offsets.items(), key=itemgetter(1)))

    def is_visible(self, header: BatchHeader) -> bool:
        if header.is_control:
            return False
        stable = self.last_stable_offset
        if stable is not None and header.base_offset >= stable:
            return False
        if not header.is_transactional:
            return True
        # A producer's transactions never overlap: only the last one that began can contain it.
        aborted = self._by_producer.get(header.producer_id, [])
        at = bisect_right(aborted, header.base_offset, key=attrgetter("first_offset")) - 1
        return at < 0 or header.base_offset > aborted[at].last_offset


def find_transactions(segments: Iterable[LogFile]) -> PartitionTransactions:
    """Return the transactions of a partition's segments, which are in order.

    The CRC of transactional batches is checked, since one flipped bit turns any batch into one.
    Damage is skipped and added to `problems`: a transaction whose marker is lost stays open.
    """
    transactions = PartitionTransactions()
    for segment in segments:
        _scan(transactions, segment)
    return transactions


def indexed_transactions(partition: Partition) -> PartitionTransactions:
    """Do the same for a partition, with the broker's own files if possible.

    A segment is not scanned if it has a `.txnindex`, with its aborted transactions, and a producer
    snapshot at its end, with the open ones. Most segments have no aborted transaction and no
    `.txnindex`. They are scanned, since that file may also be lost. It has no CRC, and is trusted
    if its markers ascend within the segment.
    """
    transactions = PartitionTransactions()
    for segment in partition.segments:
        if not _apply_index(transactions, partition, segment):
            _scan(transactions, segment)
    return transactions


def _apply_index(
    transactions: PartitionTransactions, partition: Partition, segment: LogFile
) -> bool:
    """Apply the broker's files about a segment; return False if they are incomplete."""
    index = partition.beside(segment, FileKind.TRANSACTION_INDEX)
    end = partition.end_of(segment)
    snapshots = {file.base_offset: file for file in partition.of_kind(FileKind.PRODUCER_SNAPSHOT)}
    if index is None or end not in snapshots:
        return False
    try:
        snapshot = decode_producer_snapshot(snapshots[end].read(), str(snapshots[end].path))
        with index.open() as source:
            entries = list(read_transaction_index(source))
    except (KraftwireError, OSError):
        return False
    aborted = [
        AbortedTransaction(
            entry.producer_id, entry.first_offset, entry.last_offset, entry.last_stable_offset
        )
        for entry in entries
    ]
    if not aborted or not _ascend(aborted, segment.base_offset, end):
        return False
    for one in aborted:
        transactions.add(one)
    transactions.set_open(
        {
            entry.producer_id: entry.current_txn_first_offset
            for entry in snapshot.producer_entries
            if entry.current_txn_first_offset >= 0
        }
    )
    return True


def _ascend(aborted: list[AbortedTransaction], start: int, end: int) -> bool:
    markers = [one.last_offset for one in aborted]
    return (
        start <= markers[0]
        and markers[-1] < end
        and all(before < after for before, after in pairwise(markers))
        and all(0 <= one.first_offset < one.last_offset for one in aborted)
    )


def _scan(transactions: PartitionTransactions, segment: LogFile) -> None:
    with segment.open() as source:
        for item in scan_headers(source):
            if isinstance(item, Damage):
                problem = CorruptBatch(source.name, item.start, item.reason)
                transactions.problems.append(problem)
            elif item.is_transactional:
                _read_transactional(transactions, source, item)


def _read_transactional(
    transactions: PartitionTransactions, source: Source, header: BatchHeader
) -> None:
    batch = Batch(header, source.read_at(header.position, header.size), source.name)
    try:
        transactions.verify_and_apply(batch)
    except KraftwireError as error:
        problem = CorruptBatch(source.name, header.position, getattr(error, "reason", str(error)))
        transactions.problems.append(problem)
