"""Reading segments as DataFrames, beside the readers that the tests of `log` have proven."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from kraftwire.log.directory import find_partitions
from kraftwire.log.segment import read_batches

from stored_files import BROKER, CONTROLLER

pytestmark = pytest.mark.xdist_group("spark")


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


def test_a_schema_of_the_users_is_all_that_is_read(spark: SparkSession) -> None:
    reader = spark.read.format("kraftwire").schema("offset bigint, topic string")
    frame = reader.load(str(BROKER / "tea-0"))
    assert frame.columns == ["offset", "topic"]
    assert [tuple(row) for row in frame.collect()] == [(at, "tea") for at in range(200)]


def test_metadata_as_typed_columns(spark: SparkSession) -> None:
    frame = spark.read.format("kraftwire").option("decode", "metadata").load(str(CONTROLLER))
    topics = frame.where("type = 'TopicRecord'").select("TopicRecord.name").collect()
    assert "tea" in {row.name for row in topics}
