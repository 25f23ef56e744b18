"""read_committed without a broker."""

from __future__ import annotations

from kraftwire.log import Batch, Record, decode_batch, find_partitions, read_batches
from kraftwire.log.batches.encoding import BatchSettings, control_record, encode_batch
from kraftwire.log.directories.file_names import FileKind
from kraftwire.log.queries.transactions import (
    AbortedTransaction,
    PartitionTransactions,
    find_transactions,
)
from kraftwire.log.small_files.indexes import read_transaction_index
from kraftwire_messages.kafka import EndTxnMarker, LeaderChangeMessage
from kraftwire_wire.records import ControlType

from codec_tests.stored_files import BROKER

SETTINGS = BatchSettings(producer_id=1, producer_epoch=0, is_transactional=True)


def data(offset: int, producer: int = 1, *, transactional: bool = True) -> Batch:
    settings = SETTINGS._replace(
        producer_id=producer, is_transactional=transactional, base_sequence=0
    )
    return decode_batch(encode_batch([Record(offset, 0, None, b"", ())], settings))


def marker(offset: int, kind: ControlType, producer: int = 1) -> Batch:
    record = control_record(offset, 0, kind, EndTxnMarker())
    settings = SETTINGS._replace(producer_id=producer, is_control=True)
    return decode_batch(encode_batch([record], settings))


def visible(*batches: Batch) -> list[int]:
    transactions = PartitionTransactions()
    for batch in batches:
        transactions.apply(batch)
    return [one.base_offset for one in batches if transactions.is_visible(one.header)]


def test_committed_records_are_visible_and_markers_are_not() -> None:
    assert visible(data(0), data(1), marker(2, ControlType.COMMIT), data(3, 7)) == [0, 1]


def test_plain_records_are_visible_up_to_the_oldest_open_transaction() -> None:
    plain = [data(offset, 9, transactional=False) for offset in (0, 2, 4)]
    assert visible(plain[0], data(1), plain[1], plain[2]) == [0]


def test_aborted_records_are_not_visible_and_those_between_are() -> None:
    between = data(1, 2)
    batches = [data(0), between, data(2), marker(3, ControlType.ABORT)]
    batches += [marker(4, ControlType.COMMIT, 2), data(5), marker(6, ControlType.COMMIT)]
    assert visible(*batches) == [1, 5]


def test_a_marker_without_a_transaction_changes_nothing() -> None:
    assert visible(data(0, 9, transactional=False), marker(1, ControlType.ABORT)) == [0]


def test_control_batches_of_raft_end_no_transaction() -> None:
    record = control_record(0, 0, ControlType.LEADER_CHANGE, LeaderChangeMessage())
    batch = decode_batch(encode_batch([record], BatchSettings(is_control=True)))
    transactions = PartitionTransactions()
    transactions.apply(batch)
    assert (transactions.aborted, transactions.open) == ([], {})


def test_a_marker_has_the_last_stable_offset_of_the_open_transactions() -> None:
    transactions = PartitionTransactions()
    transactions.apply(data(0, 1))
    transactions.apply(data(1, 2))
    transactions.apply(marker(2, ControlType.ABORT, 2))
    transactions.apply(marker(3, ControlType.ABORT, 1))
    assert transactions.aborted == [AbortedTransaction(2, 1, 2, 0), AbortedTransaction(1, 0, 3, 4)]


def test_the_brokers_transaction_indexes_say_the_same() -> None:
    compared = 0
    for partition in find_partitions([BROKER]):
        indexed = []
        for file in partition.of_kind(FileKind.TRANSACTION_INDEX):
            with file.open() as source:
                indexed += [
                    AbortedTransaction(
                        entry.producer_id,
                        entry.first_offset,
                        entry.last_offset,
                        entry.last_stable_offset,
                    )
                    for entry in read_transaction_index(source)
                ]
        assert find_transactions(partition.segments).aborted == indexed
        compared += len(indexed)
    assert compared >= 4


def test_a_committed_read_of_the_orders_skips_aborted_ones() -> None:
    (partition,) = find_partitions([BROKER / "orders-0"])
    transactions = find_transactions(partition.segments)
    seen = []
    for segment in partition.segments:
        with segment.open() as source:
            for batch in read_batches(source):
                if transactions.is_visible(batch.header) and batch.header.is_transactional:
                    seen += [(record.value or b"").decode() for record in batch.records]
    assert seen == [f"order {turn}.{number}" for turn in (0, 2, 3, 5) for number in range(5)]
