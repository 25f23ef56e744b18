"""Record batches of magic 2, against other clients' readers and writers."""

from __future__ import annotations

from typing import Any

import pytest
from aiokafka.record.default_records import DefaultRecordBatch as AioBatch
from hypothesis import given
from hypothesis import strategies as st
from kafka.record import MemoryRecords
from kafka.record.default_records import DefaultRecordBatchBuilder

from kraftwire.log import CorruptBatch, Record, decode_batch
from kraftwire.log.batches.compression import Compression
from kraftwire.log.batches.encoding import BatchSettings, encode_batch
from kraftwire.log.batches.header import HEADER
from kraftwire_wire.errors import EncodeError

from codec_tests.stored_files import stored_batches

TIMES = st.integers(0, 1 << 45)
BYTES = st.none() | st.binary(max_size=300)
HEADERS = st.lists(st.tuples(st.text(max_size=10), BYTES), max_size=4).map(tuple)


@st.composite
def record_lists(draw: st.DrawFn) -> list[Record]:
    offset = draw(st.integers(0, 1 << 40))
    records = []
    for _ in range(draw(st.integers(1, 12))):
        records.append(Record(offset, draw(TIMES), draw(BYTES), draw(BYTES), draw(HEADERS)))
        offset += draw(st.integers(1, 3) | st.integers(1, 1 << 20))
    return records


@pytest.mark.slow
@given(record_lists(), st.sampled_from(Compression))
def test_batches_come_back(records: list[Record], codec: Compression) -> None:
    batch = decode_batch(encode_batch(records, BatchSettings(codec=codec)))
    assert batch.records == records
    assert batch.header.last_offset == records[-1].offset
    assert batch.header.max_timestamp == max(record.timestamp for record in records)


@pytest.mark.slow
@given(record_lists(), st.sampled_from(Compression))
def test_other_clients_read_what_is_written(records: list[Record], codec: Compression) -> None:
    data = encode_batch(records, BatchSettings(codec=codec))
    if codec in (Compression.NONE, Compression.GZIP):
        theirs: Any = MemoryRecords(data).next_batch()
        assert theirs.validate_crc()
        assert [
            Record(one.offset, one.timestamp, one.key, one.value, tuple(one.headers))
            for one in theirs
        ] == records
    aio: Any = AioBatch(bytearray(data))
    assert [(one.offset, one.key, one.value) for one in aio] == [
        (one.offset, one.key, one.value) for one in records
    ]


@given(st.lists(st.tuples(TIMES, BYTES, BYTES, HEADERS), min_size=1, max_size=10))
def test_what_another_client_writes_is_read(rows: list[Any]) -> None:
    builder: Any = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=0,
        is_transactional=1,
        producer_id=7,
        producer_epoch=3,
        base_sequence=11,
        batch_size=1 << 20,
    )
    for number, (time, key, value, headers) in enumerate(rows):
        builder.append(number, time, key, value, list(headers))
    batch = decode_batch(bytes(builder.build()))
    assert batch.records == [Record(n, *row) for n, row in enumerate(rows)]
    header = batch.header
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 3, 11)
    assert header.is_transactional
    assert header.last_sequence == 10 + len(rows)


def test_another_client_reads_the_stored_batches_alike() -> None:
    for batch in stored_batches():
        if batch.header.codec_label in ("none", "gzip"):
            theirs: Any = MemoryRecords(batch.data).next_batch()
            ours = [(one.offset, one.timestamp, one.key, one.value) for one in batch.records]
            assert [(one.offset, one.timestamp, one.key, one.value) for one in theirs] == ours


def test_log_append_time_is_every_records_time() -> None:
    records = [Record(0, 5, None, None, ()), Record(1, 9, None, None, ())]
    batch = decode_batch(encode_batch(records, BatchSettings(log_append_time=77)))
    assert batch.header.has_log_append_time
    assert [record.timestamp for record in batch.records] == [77, 77]


def test_a_delete_horizon_is_the_base_of_the_timestamps() -> None:
    records = [Record(3, 50, b"gone", None, ())]
    batch = decode_batch(encode_batch(records, BatchSettings(delete_horizon=90_000)))
    assert batch.header.delete_horizon == 90_000
    assert batch.records == records


def test_sequences_restart_after_the_largest() -> None:
    records = [Record(n, 0, None, None, ()) for n in range(3)]
    settings = BatchSettings(producer_id=1, producer_epoch=0, base_sequence=(1 << 31) - 2)
    header = decode_batch(encode_batch(records, settings)).header
    assert [header.sequence_at(delta) for delta in range(3)] == [(1 << 31) - 2, (1 << 31) - 1, 0]


def test_header_keys_that_are_not_utf8_keep_their_bytes() -> None:
    record = Record(0, 0, None, None, (("\udcff\udc80", b""),))
    assert decode_batch(encode_batch([record])).records == [record]


@pytest.mark.parametrize(
    ("records", "match"),
    [
        ([], "no records"),
        ([Record(5, 0, None, None, ()), Record(5, 0, None, None, ())], r"records\[1\]"),
        ([Record(0, 0, None, None, ()), Record(1 << 31, 0, None, None, ())], r"records\[1\]"),
        ([Record(1 << 63, 0, None, None, ())], "header"),
        ([Record(0, 1 << 63, None, None, ())], "timestamp"),
    ],
)
def test_values_that_do_not_fit_are_refused(records: list[Record], match: str) -> None:
    with pytest.raises(EncodeError, match=match):
        encode_batch(records)


def _batch(payload: bytes, count: int) -> bytes:
    """A batch with any payload and a CRC that matches."""
    from crc32c import crc32c

    length = HEADER.size - 12 + len(payload)
    head = HEADER.pack(0, length, 0, 2, 0, 0, max(count - 1, 0), 0, 0, -1, -1, -1, count)
    return head[:17] + crc32c(payload, crc32c(head[21:])).to_bytes(4) + head[21:] + payload


@pytest.mark.parametrize(
    ("payload", "count", "match"),
    [
        (b"\x0c\0\0\0\x01\x01\0", 2, "2 records do not fit"),
        (b"\x0c\0\0\0\x01\x01\0" * 2, 1, "7 bytes follow"),
        (b"\x0e\0\0\0\x01\x01\0\0", 1, "its length differs"),
        (b"\x0c\0\0\0\x03\x01\0", 1, "field of -2 bytes"),
        (b"\x0c\0\0\0\x7e\x01\0", 1, "record 0 of 1"),
        (b"\x0c\0\0\0\x01\x01\x02", 1, "1 headers in 0 bytes"),
        (b"\x0b\0\0\0\x01\x01\0", 1, "length"),
        (b"\xff\xff\xff\xff\x0f\0\0", 1, "length"),
        (b"\x80\x80\x80\x80\x80\x80\0", 1, "longer than 5 bytes"),
        (b"\x0c\0\x80\x80\x80\x80\x80", 1, "the bytes end"),
    ],
)
def test_records_with_wrong_lengths_are_refused(payload: bytes, count: int, match: str) -> None:
    batch = decode_batch(_batch(payload, count))
    with pytest.raises(CorruptBatch, match=match):
        _ = batch.records


@given(st.binary(max_size=80), st.integers(0, 5))
def test_any_payload_is_read_or_refused(payload: bytes, count: int) -> None:
    try:
        records = decode_batch(_batch(payload, count)).records
    except CorruptBatch:
        return
    assert len(records) == count


@given(st.binary(max_size=120))
def test_any_bytes_are_a_batch_or_refused(data: bytes) -> None:
    with pytest.raises(CorruptBatch):
        decode_batch(data)
