"""Reading segments as DataFrames, beside the readers that the tests of `log` have proven."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import Row

from kraftwire.log import Record
from kraftwire.log.batches.compression import Compression
from kraftwire.log.batches.encoding import BatchSettings, encode_batch
from kraftwire.log.batches.header import CONTROL, TRANSACTIONAL
from kraftwire.log.directories.partition import find_partitions
from kraftwire.log.segments.segment import read_batches

from codec_tests.log.legacy_messages import message
from codec_tests.spark.reads import read_rows, read_table, write_segments
from codec_tests.stored_files import BROKER, CONTROLLER

spark_group = pytest.mark.xdist_group("spark")


def stored_records() -> list[tuple[object, ...]]:
    """The records of the stored broker, as Spark's Kafka source would have them."""
    found: list[tuple[object, ...]] = []
    for partition in find_partitions([BROKER]):
        for segment in partition.segments:
            with segment.open() as source:
                for batch in read_batches(source):
                    if batch.header.is_control:
                        continue
                    kind = int(batch.header.has_log_append_time)
                    assert partition.name is not None
                    for record in batch.records:
                        headers = [(key, value) for key, value in record.headers] or None
                        where = (partition.name.topic, partition.name.partition, record.offset)
                        found.append((*where, record.key, record.value, kind, headers))
    return sorted(found, key=str)


@pytest.mark.slow
@spark_group
def test_a_data_directory_has_the_same_records_as_its_segments(spark: SparkSession) -> None:
    frame = spark.read.format("kraftwire").option("includeHeaders", "true").load(str(BROKER))
    rows = [
        (
            row.topic,
            row.partition,
            row.offset,
            None if row.key is None else bytes(row.key),
            None if row.value is None else bytes(row.value),
            row.timestampType,
            (
                None
                if row.headers is None
                else [(h.key, None if h.value is None else bytes(h.value)) for h in row.headers]
            ),
        )
        for row in frame.collect()
    ]
    assert sorted(rows, key=str) == stored_records()


@spark_group
def test_only_the_columns_of_a_given_schema_are_read(spark: SparkSession) -> None:
    reader = spark.read.format("kraftwire").schema("offset bigint, topic string")
    frame = reader.load(str(BROKER / "tea-0"))
    assert frame.columns == ["offset", "topic"]
    assert [tuple(row) for row in frame.collect()] == [(at, "tea") for at in range(200)]


@spark_group
def test_metadata_records_have_typed_columns(spark: SparkSession) -> None:
    frame = spark.read.format("kraftwire").option("decode", "metadata").load(str(CONTROLLER))
    topics = frame.where("type = 'TopicRecord'").select("TopicRecord.name").collect()
    assert "tea" in {row.name for row in topics}


# -- what a record can be --------------------------------------------------------------------------

LAST_MICROSECOND = (2**63 - 1) // 1000

RECORDS = [
    Record(0, 0, None, None, ()),
    Record(1, -1, b"", b"", (("", None),)),
    Record(3, 1500, b"\xff\x00", b"value", (("h", b""), ("h", None), ("\u00e9", b"\xff"))),
    Record(4, LAST_MICROSECOND, b"k", None, (("bad\udcff", b"1"), ("", b"2"))),
    Record(5, LAST_MICROSECOND + 1, None, b"v", ()),
    Record(6, -LAST_MICROSECOND - 1, None, b"v", ()),
    Record(7, 2**62, None, b"v", (("a", None),)),
]


@pytest.fixture(params=[codec.label for codec in Compression])
def strange(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A partition of records that are seldom seen."""
    codec = next(one for one in Compression if one.label == request.param)
    write_segments(tmp_path / "tea-0", [encode_batch(RECORDS, BatchSettings(codec=codec))])
    return tmp_path / "tea-0"


def test_keys_values_and_headers_equal_those_of_the_records(strange: Path) -> None:
    rows = read_rows(strange, includeHeaders=True, columns=["offset", "key", "value", "headers"])
    assert [(row["offset"], row["key"], row["value"]) for row in rows] == [
        (one.offset, one.key, one.value) for one in RECORDS
    ]
    assert [row["headers"] for row in rows] == [
        None,
        [{"key": "", "value": None}],
        [
            {"key": "h", "value": b""},
            {"key": "h", "value": None},
            {"key": "\u00e9", "value": b"\xff"},
        ],
        [{"key": "bad\ufffd", "value": b"1"}, {"key": "", "value": b"2"}],
        None,
        None,
        [{"key": "a", "value": None}],
    ]


def test_timestamps_beyond_sparks_range_are_null(strange: Path) -> None:
    table = read_table(strange, columns=["timestamp"])
    assert table["timestamp"].cast(pa.int64()).to_pylist() == [
        0,
        -1000,
        1_500_000,
        LAST_MICROSECOND * 1000,
        None,
        None,
        None,
    ]


def test_include_batch_adds_the_fields_of_batch_headers(tmp_path: Path) -> None:
    plain = BatchSettings(partition_leader_epoch=3, codec=Compression.ZSTD)
    idempotent = BatchSettings(producer_id=9, producer_epoch=2, base_sequence=2**31 - 2)
    batches = [
        encode_batch([Record(at, 7, None, b"", ()) for at in (0, 2)], plain),
        encode_batch([Record(at, 7, None, b"", ()) for at in (3, 4, 5)], idempotent),
        encode_batch(
            [Record(6, 7, None, b"", ())],
            BatchSettings(producer_id=9, is_transactional=True, log_append_time=12),
        ),
    ]
    (path,) = write_segments(tmp_path / "tea-0", batches)
    rows = read_rows(path, includeBatch=True)
    assert [row["sequence"] for row in rows] == [-1, -1, 2**31 - 2, 2**31 - 1, 0, -1]
    assert [row["leaderEpoch"] for row in rows] == [3, 3, 0, 0, 0, 0]
    assert [row["codec"] for row in rows] == ["zstd"] * 2 + ["none"] * 4
    assert [row["producerId"] for row in rows] == [-1, -1, 9, 9, 9, 9]
    assert [row["producerEpoch"] for row in rows] == [-1, -1, 2, 2, 2, -1]
    assert [row["timestampType"] for row in rows] == [0] * 5 + [1]
    assert [row["isTransactional"] for row in rows] == [False] * 5 + [True]
    assert {row["isControl"] for row in rows} == {False}
    assert {row["file"] for row in rows} == {str(path)}
    starts = [0, len(batches[0]), len(batches[0] + batches[1])]
    assert [row["batchPosition"] for row in rows] == [starts[at] for at in (0, 0, 1, 1, 1, 2)]


def test_include_batch_shows_the_headers_of_stored_batches() -> None:
    rows = read_rows(BROKER, includeBatch=True, includeControl=True)
    expected = []
    for partition in find_partitions([BROKER]):
        for segment in partition.segments:
            with segment.open() as source:
                for batch in read_batches(source):
                    header = batch.header
                    expected += [
                        {
                            "leaderEpoch": header.partition_leader_epoch,
                            "producerId": header.producer_id,
                            "producerEpoch": header.producer_epoch,
                            "sequence": header.sequence_at(record.offset - header.base_offset),
                            "attributes": header.attributes,
                            "codec": header.codec_label,
                            "isTransactional": bool(header.attributes & TRANSACTIONAL),
                            "isControl": bool(header.attributes & CONTROL),
                            "batchPosition": header.position,
                            "file": str(segment.path),
                        }
                        for record in batch.records
                    ]
    assert [{name: row[name] for name in expected[0]} for row in rows] == expected
    assert any(row["isControl"] for row in expected)


def test_messages_of_old_formats_are_read(tmp_path: Path) -> None:
    (path,) = write_segments(tmp_path / "tea-0", [encode_batch(RECORDS[:1])])
    path.write_bytes(message(0, b"old", magic=0) + message(1, None, time=5, attributes=8))
    rows = read_rows(path, includeHeaders=True)
    assert [(row["value"], row["timestampType"], row["headers"]) for row in rows] == [
        (b"old", -1, None),
        (None, 1, None),
    ]
    table = read_table(path, columns=["timestamp"])
    assert table["timestamp"].cast(pa.int64()).to_pylist() == [-1000, 5000]


def plain_row(row: Row) -> dict[str, Any]:
    """A row of Spark's with bytes as bytes."""

    def plain(value: Any) -> Any:
        if isinstance(value, bytearray):
            return bytes(value)
        if isinstance(value, list):
            return [{name: plain(one) for name, one in item.items()} for item in value]
        return value

    return {name: plain(value) for name, value in row.asDict(recursive=True).items()}


@pytest.mark.slow
@spark_group
def test_unusual_records_are_read_in_spark(spark: SparkSession, tmp_path: Path) -> None:
    write_segments(tmp_path / "tea-0", [encode_batch(RECORDS[:3] + RECORDS[4:])])
    options = {"includeHeaders": "true", "includeBatch": "true"}
    frame = spark.read.format("kraftwire").options(**options).load(str(tmp_path))
    found = [plain_row(row) for row in frame.collect()]
    expected = read_rows(tmp_path, includeHeaders=True, includeBatch=True)
    for row in [*found, *expected]:
        time: datetime | None = row.pop("timestamp")
        row["ms"] = None if time is None else time.replace(tzinfo=None)
    assert found == expected
    assert frame.where("timestamp is null").count() == 3


@spark_group
def test_the_schema_is_that_of_sparks_kafka_source(spark: SparkSession) -> None:
    frame = spark.read.format("kraftwire").option("includeHeaders", "true").load(str(BROKER))
    assert frame.schema.simpleString() == (
        "struct<key:binary,value:binary,topic:string,partition:int,offset:bigint,"
        "timestamp:timestamp,timestampType:int,headers:array<struct<key:string,value:binary>>>"
    )
