"""Typed rows, beside what the record decoders of `kraftwire.log.queries.typed_records` say."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from kraftwire.log import Record, find_partitions, read_batches
from kraftwire.log.batches.encoding import BatchSettings, control_record, encode_batch
from kraftwire.log.queries.typed_records import KEYLESS, LOGS, decode_typed, log_of_topic
from kraftwire_messages.kafka import (
    EndTxnMarker,
    LeaderChangeMessage,
    OffsetCommitKey,
    OffsetCommitValue,
)
from kraftwire_wire.message import Struct
from kraftwire_wire.records import ControlType, encode_coordinator_key, encode_prefixed
from pyspark_kraftwire.options import DECODERS

from codec_tests.spark.reads import Row, read_rows, read_table, write_segments
from codec_tests.stored_files import BROKER, CONTROLLER

spark_group = pytest.mark.xdist_group("spark")

NAMES = {log: name for name, log in DECODERS.items()}
DIRECTORIES = {
    log: sorted(
        partition.directory
        for partition in find_partitions([BROKER])
        if log_of_topic(partition.topic) == log
    )
    for log in LOGS
}


def fields_of(value: Any) -> Any:
    """A message as Spark shows it: uuids are text as Kafka prints it."""
    if isinstance(value, Struct):
        return {one.name: fields_of(getattr(value, one.name)) for one in value.LAYOUT.fields}
    if isinstance(value, list):
        return [fields_of(item) for item in value]
    if isinstance(value, UUID):
        return urlsafe_b64encode(value.bytes).rstrip(b"=").decode()
    return value


def typed_of(path: Path, *, control: bool = False) -> list[Row]:
    """The records below a path: where they are, what they are, and their messages by name."""
    found = []
    for partition in find_partitions([path]):
        log = log_of_topic(partition.topic)
        for segment in partition.segments:
            with segment.open() as source:
                for one in read_batches(source):
                    if one.header.is_control and not control:
                        continue
                    for record in one.records:
                        found.append(_typed_row(log, partition.label, one, record))
    return in_order(found)


def _typed_row(log: str | None, label: str, one: Any, record: Record) -> Row:
    typed = decode_typed(log, one, record)
    row: Row = {"label": label, "offset": record.offset, "type": None, "version": None}
    if typed is None:
        return row
    value, key = typed.value, typed.key
    row["version"] = value.version if value is not None else None
    if key is not None:
        row[type(key).__name__] = fields_of(key)
        row["type"] = type(key).__name__.removesuffix("Key")
    if value is not None:
        name = type(value.message).__name__
        row[name] = fields_of(value.message)
        is_marker = isinstance(value.message, EndTxnMarker)
        row["type"] = row["type"] or (ControlType(typed.id).name if is_marker else name)
    return row


def read_typed(*paths: Path, **given: Any) -> list[Row]:
    """The rows of a read in the same form: messages that are null are left out."""
    return in_order([without_nulls(row) for row in read_rows(*paths, **given)])


def without_nulls(row: Row) -> Row:
    """A row of a read as `typed_of` has it."""
    plain = ("key", "value", "timestamp", "timestampType", "topic", "partition")
    kept = {
        name: value
        for name, value in row.items()
        if name not in plain and (value is not None or name in ("type", "version"))
    }
    return {"label": f"{row['topic']}-{row['partition']}", **kept}


def in_order(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row["label"], row["offset"]))


@pytest.mark.parametrize("log", LOGS)
@pytest.mark.parametrize("control", [False, True])
def test_every_log_has_typed_rows(log: str, control: bool) -> None:
    assert DIRECTORIES[log]
    for directory in DIRECTORIES[log]:
        rows = read_typed(directory, decode=NAMES[log], includeControl=control)
        assert rows == typed_of(directory, control=control)
        assert rows


@pytest.mark.parametrize("path", sorted((CONTROLLER / "__cluster_metadata-0").glob("*.checkpoint")))
def test_snapshots_have_typed_rows(path: Path) -> None:
    rows = read_typed(path, decode="metadata", includeControl=True)
    kinds = {row["type"] for row in rows}
    assert {"SnapshotHeaderRecord", "SnapshotFooterRecord"} <= kinds
    assert len(kinds) > 3


def test_auto_decodes_a_mixed_data_directory() -> None:
    rows = read_typed(BROKER, decode="auto", includeControl=True)
    assert rows == typed_of(BROKER, control=True)
    assert {row["type"] for row in rows} >= {None, "TopicRecord", "OffsetCommit", "COMMIT"}


def test_auto_has_columns_for_the_existing_logs() -> None:
    names = read_table(BROKER / "__consumer_offsets-0", decode="auto").schema.names
    assert {"key", "value", "OffsetCommitKey", "OffsetCommitValue"} <= set(names)
    assert "TopicRecord" not in names
    plain = read_table(BROKER / "tea-0", decode="auto")
    assert set(plain["type"].to_pylist()) == {None}


@pytest.mark.parametrize("log", LOGS)
def test_a_typed_read_has_no_key_and_value_columns(log: str) -> None:
    names = read_table(DIRECTORIES[log][0], decode=NAMES[log]).schema.names
    assert not {"key", "value"} & set(names)
    assert any(name.endswith("Key") for name in names) == (log not in KEYLESS)


def test_tombstones_have_a_key_and_no_value(tmp_path: Path) -> None:
    keys = [
        encode_coordinator_key(OffsetCommitKey(group="g", topic="t", partition=number))
        for number in range(3)
    ]
    value = encode_prefixed(OffsetCommitValue(offset=9), 4)
    made = [Record(at, 0, key, value if at != 1 else None, ()) for at, key in enumerate(keys)]
    write_segments(tmp_path / "__consumer_offsets-3", [encode_batch(made)])
    rows = read_rows(tmp_path / "__consumer_offsets-3", decode="auto")
    assert [row["type"] for row in rows] == ["OffsetCommit"] * 3
    assert [row["version"] for row in rows] == [4, None, 4]
    assert [row["OffsetCommitKey"]["partition"] for row in rows] == [0, 1, 2]
    assert [row["OffsetCommitValue"] is None for row in rows] == [False, True, False]
    assert rows[0]["OffsetCommitValue"]["offset"] == 9


def test_control_records_are_typed_among_others(tmp_path: Path) -> None:
    settings = BatchSettings(producer_id=1, producer_epoch=0, is_transactional=True)
    control = settings._replace(is_control=True)
    markers = [
        encode_batch([control_record(at, 0, kind, EndTxnMarker(coordinator_epoch=at))], control)
        for at, kind in ((1, ControlType.ABORT), (2, ControlType.COMMIT))
    ]
    leader = control_record(
        3, 0, ControlType.LEADER_CHANGE, LeaderChangeMessage(leader_id=7), version=0
    )
    batches = [encode_batch([Record(0, 0, None, b"x", ())], settings), *markers]
    batches.append(encode_batch([leader], BatchSettings(is_control=True)))
    write_segments(tmp_path / "tea-0", batches)
    rows = read_rows(tmp_path / "tea-0", decode="auto", includeControl=True)
    assert [row["type"] for row in rows] == [None, "ABORT", "COMMIT", "LeaderChangeMessage"]
    assert [row["EndTxnMarker"] and row["EndTxnMarker"]["coordinator_epoch"] for row in rows] == [
        None,
        1,
        2,
        None,
    ]
    assert rows[3]["LeaderChangeMessage"]["leader_id"] == 7
    rows = read_rows(tmp_path / "tea-0", decode="auto")
    assert [row["offset"] for row in rows] == [0]


# -- parts of it -----------------------------------------------------------------------------------


def test_some_fields_of_some_messages_can_be_requested() -> None:
    directory = BROKER / "__cluster_metadata-0"
    whole = read_rows(directory, decode="metadata")
    partition = pa.struct(
        [("isr", pa.list_(pa.field("element", pa.int32()))), ("leader", pa.int32())]
    )
    schema = pa.schema(
        [
            pa.field("PartitionRecord", partition),
            pa.field("OFFSET", pa.int64()),
            pa.field("topicrecord", pa.struct([("topic_id", pa.string())])),
        ]
    )
    rows = read_rows(directory, decode="metadata", schema=schema)
    assert rows == [
        {
            "PartitionRecord": row["PartitionRecord"]
            and {name: row["PartitionRecord"][name] for name in ("isr", "leader")},
            "OFFSET": row["offset"],
            "topicrecord": row["TopicRecord"] and {"topic_id": row["TopicRecord"]["topic_id"]},
        }
        for row in whole
    ]
    assert any(row["PartitionRecord"] for row in rows)


@pytest.mark.parametrize("log", LOGS)
def test_type_and_version_can_be_requested_alone(log: str) -> None:
    directory = DIRECTORIES[log][0]
    name = NAMES[log]
    whole = read_rows(directory, decode=name)
    some = read_rows(directory, decode=name, columns=["version", "type"])
    assert some == [{"version": row["version"], "type": row["type"]} for row in whole]


def test_splits_and_ranges_have_the_same_typed_rows() -> None:
    whole = read_typed(CONTROLLER, decode="metadata", includeControl=True)
    parts = read_typed(CONTROLLER, decode="metadata", includeControl=True, maxSplitBytes=900)
    assert parts == whole
    some = read_typed(CONTROLLER, decode="metadata", startingOffsets=40, endingOffsets=50)
    everything = typed_of(CONTROLLER)
    assert some == [row for row in everything if 40 <= row["offset"] < 50]


@pytest.mark.slow
@spark_group
def test_spark_has_typed_rows(spark: SparkSession) -> None:
    reader = spark.read.format("kraftwire").options(decode="auto", includeControl="true")
    frame = reader.load(str(BROKER))
    rows = [without_nulls(row.asDict(recursive=True)) for row in frame.collect()]
    assert in_order(rows) == typed_of(BROKER, control=True)
    nested = frame.selectExpr("explode(PartitionRecord.replicas) AS replica").collect()
    assert {row.replica for row in nested} <= set(range(1, 10))
    assert nested


@spark_group
def test_a_spark_schema_selects_fields(spark: SparkSession) -> None:
    schema = "TopicRecord struct<name: string>, offset bigint"
    reader = spark.read.format("kraftwire").option("decode", "metadata").schema(schema)
    frame = reader.load(str(CONTROLLER))
    names = {row.TopicRecord.name for row in frame.where("TopicRecord is not null").collect()}
    expected = {row["TopicRecord"]["name"] for row in typed_of(CONTROLLER) if "TopicRecord" in row}
    assert names == expected
