"""Transactions through what a broker notes of them: the same that its batches tell."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import pytest

from kraftwire.log import Batch, Partition, Record, find_partitions, read_batches
from kraftwire.log.batches.encoding import BatchSettings, control_record, encode_batch
from kraftwire.log.directories.file_names import FileKind, segment_name
from kraftwire.log.queries import transactions as transactions_module
from kraftwire.log.queries.transactions import (
    AbortedTransaction,
    PartitionTransactions,
    find_transactions,
    indexed_transactions,
)
from kraftwire.log.small_files.indexes import read_transaction_index
from kraftwire.log.small_files.producer_snapshot import encode_producer_snapshot
from kraftwire.log.writers.segment_writer import SegmentWriter
from kraftwire_messages.kafka import EndTxnMarker, ProducerSnapshot
from kraftwire_wire.records import ControlType

from codec_tests.stored_files import BROKER

PRODUCERS = (4, 5, 6)


@pytest.fixture(autouse=True)
def quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here is about a machine that fails."""
    monkeypatch.setattr("kraftwire.log.writers.segment_writer.os.fsync", lambda number: None)


class History(NamedTuple):
    """A partition on disk, and what a reader with read_committed is to see of it."""

    partition: Partition
    visible: list[int]
    noted: int
    """Segments that have both an index of transactions and a snapshot at their end."""


class _Writer:
    """Writes a random history as a broker does, keeping a broker's books."""

    def __init__(self, directory: Path, rng: random.Random) -> None:
        self.directory = directory
        self.rng = rng
        self.offset = 0
        self.open: dict[int, int] = {}
        self.pending: dict[int, list[int]] = {}
        self.seen: list[int] = []
        self.noted = 0
        directory.mkdir(parents=True)

    def run(self) -> History:
        for _ in range(self.rng.randrange(1, 6)):
            self._segment()
        with SegmentWriter(self.directory, self.offset) as last:
            self._batch(last)
        stable = min(self.open.values(), default=self.offset)
        visible = sorted(at for at in self.seen if at < stable)
        (partition,) = find_partitions([self.directory])
        return History(partition, visible, self.noted)

    def _segment(self) -> None:
        aborts = 0
        with SegmentWriter(self.directory, self.offset) as writer:
            for _ in range(self.rng.randrange(1, 12)):
                aborts += self._batch(writer)
        entry = ProducerSnapshot.ProducerEntry
        snapshot = ProducerSnapshot(
            producer_entries=[
                entry(producer_id=producer, current_txn_first_offset=self.open.get(producer, -1))
                for producer in PRODUCERS
            ]
        )
        path = self.directory / segment_name(self.offset, "snapshot")
        path.write_bytes(encode_producer_snapshot(snapshot))
        self.noted += aborts > 0

    def _batch(self, writer: SegmentWriter) -> bool:
        producer = self.rng.choice(PRODUCERS)
        kind = self.rng.choice(("plain", "data", "data", "data", "commit", "abort", "abort"))
        if kind in ("commit", "abort"):
            return self._marker(writer, producer, aborts=kind == "abort")
        count = self.rng.randrange(1, 4)
        numbers = range(self.offset, self.offset + count)
        is_transactional = kind == "data"
        settings = BatchSettings(
            producer_id=producer, producer_epoch=0, is_transactional=is_transactional
        )
        writer.append(encode_batch([Record(at, 0, None, b"", ()) for at in numbers], settings))
        if is_transactional:
            self.open.setdefault(producer, self.offset)
            self.pending.setdefault(producer, []).extend(numbers)
        else:
            self.seen.extend(numbers)
        self.offset += count
        return False

    def _marker(self, writer: SegmentWriter, producer: int, *, aborts: bool) -> bool:
        kind = ControlType.ABORT if aborts else ControlType.COMMIT
        settings = BatchSettings(
            producer_id=producer, producer_epoch=0, is_transactional=True, is_control=True
        )
        marker = control_record(self.offset, 0, kind, EndTxnMarker())
        writer.append(encode_batch([marker], settings))
        first = self.open.pop(producer, None)
        records = self.pending.pop(producer, [])
        if not aborts:
            self.seen.extend(records)
        elif first is not None:
            stable = min(self.open.values(), default=self.offset + 1)
            writer.add_aborted(AbortedTransaction(producer, first, self.offset, stable))
        self.offset += 1
        return aborts and first is not None


def histories(directory: Path, count: int, seed: int) -> Iterator[History]:
    for number in range(count):
        rng = random.Random(1000 * seed + number)
        yield _Writer(directory / str(number) / "orders-0", rng).run()


def batches_of(partition: Partition) -> list[Batch]:
    found = []
    for segment in partition.segments:
        with segment.open() as source:
            found += list(read_batches(source))
    return found


def visible(transactions: PartitionTransactions, partition: Partition) -> list[int]:
    """The offsets that a reader sees."""
    return [
        record.offset
        for batch in batches_of(partition)
        if transactions.is_visible(batch.header)
        for record in batch.records
    ]


def check(partition: Partition, wanted: list[int]) -> None:
    """Both ways tell the same."""
    found, noted = find_transactions(partition.segments), indexed_transactions(partition)
    assert noted.aborted == found.aborted
    assert noted.open == found.open
    assert noted.last_stable_offset == found.last_stable_offset
    assert visible(found, partition) == visible(noted, partition) == wanted


def test_a_brokers_notes_equal_its_batches(tmp_path: Path) -> None:
    noted = 0
    for history in histories(tmp_path, 120, seed=1):
        check(history.partition, history.visible)
        noted += history.noted
    assert noted > 60


def test_a_segment_with_complete_notes_is_not_scanned(tmp_path: Path) -> None:
    for history in histories(tmp_path, 20, seed=2):
        with patch.object(transactions_module, "_scan", wraps=transactions_module._scan) as scan:
            indexed_transactions(history.partition)
        assert scan.call_count == len(history.partition.segments) - history.noted


@pytest.mark.parametrize("kind", [FileKind.TRANSACTION_INDEX, FileKind.PRODUCER_SNAPSHOT])
def test_missing_notes_change_nothing(tmp_path: Path, kind: FileKind) -> None:
    lost = 0
    for history in histories(tmp_path, 40, seed=3):
        for number, file in enumerate(history.partition.of_kind(kind)):
            if number % 2 == 0:
                file.path.unlink()
                lost += 1
        (partition,) = find_partitions([history.partition.directory])
        check(partition, history.visible)
    assert lost > 20


def test_damaged_producer_snapshots_are_ignored(tmp_path: Path) -> None:
    """Their CRC covers all behind it; what stands before it makes them unreadable."""
    rng = random.Random(4)
    for history in histories(tmp_path, 40, seed=4):
        for file in history.partition.of_kind(FileKind.PRODUCER_SNAPSHOT):
            data = bytearray(file.read())
            match rng.randrange(4):
                case 0:
                    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
                case 1:
                    del data[rng.randrange(len(data)) :]
                case 2:
                    data += b"\0"
                case _:
                    data = bytearray(rng.randbytes(len(data)))
            file.path.write_bytes(data)
        check(history.partition, history.visible)


def test_damaged_transaction_indexes_are_ignored(tmp_path: Path) -> None:
    """They have no CRC: what shows is entries cut off, and markers outside of the segment."""
    rng = random.Random(5)
    damaged = 0
    for history in histories(tmp_path, 60, seed=5):
        for file in history.partition.of_kind(FileKind.TRANSACTION_INDEX):
            data = file.read()
            damaged += 1
            match rng.randrange(6):
                case 0:
                    data = data[: -rng.randrange(1, 34)]
                case 1:
                    data = bytes(len(data))
                case 2:
                    data += data[-34:]
                case 3:
                    data = b""
                case 4:
                    data = rng.randbytes(len(data))
                case _:
                    data = data[:18] + (1 << 40).to_bytes(8) + data[26:]
            file.path.write_bytes(data)
        check(history.partition, history.visible)
    assert damaged > 30


def test_an_index_of_another_segment_is_ignored(tmp_path: Path) -> None:
    swapped = 0
    for history in histories(tmp_path, 40, seed=6):
        files = history.partition.of_kind(FileKind.TRANSACTION_INDEX)
        contents = [file.read() for file in files]
        for file, content in zip(files, contents[1:] + contents[:1], strict=True):
            file.path.write_bytes(content)
            swapped += len(files) > 1
        check(history.partition, history.visible)
    assert swapped > 10


def test_the_notes_of_a_real_kafka_equal_its_batches() -> None:
    aborted = 0
    for partition in find_partitions([BROKER]):
        found, noted = find_transactions(partition.segments), indexed_transactions(partition)
        assert (noted.aborted, noted.open) == (found.aborted, found.open)
        assert visible(noted, partition) == visible(found, partition)
        for file in partition.of_kind(FileKind.TRANSACTION_INDEX):
            with file.open() as source:
                aborted += len(list(read_transaction_index(source)))
    assert aborted >= 4


def test_transactions_open_at_the_start_of_the_log_come_from_the_notes(tmp_path: Path) -> None:
    """Retention removed its first records: without the notes too much is seen, never too little."""
    differ = 0
    for history in histories(tmp_path, 60, seed=7):
        first = history.partition.segments[0]
        kinds = (FileKind.SEGMENT, FileKind.TRANSACTION_INDEX, FileKind.OFFSET_INDEX)
        for file in (history.partition.beside(first, kind) for kind in kinds):
            if file is not None:
                file.path.unlink()
        (partition,) = find_partitions([history.partition.directory])
        begin = partition.segments[0].base_offset
        wanted = {at for at in history.visible if at >= begin}
        noted = set(visible(indexed_transactions(partition), partition))
        found = set(visible(find_transactions(partition.segments), partition))
        assert wanted <= noted <= found
        differ += noted != found
    assert differ
