"""Spark with two sources for one cluster, its own for Kafka and ours, and what a consumer sees.

Spark's source is of the jars in `java/spark/pom.xml`, which a session has from its start: so
tests that use it have a session of their own, and one process can have one session.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from confluent_kafka import (
    OFFSET_BEGINNING,
    TIMESTAMP_LOG_APPEND_TIME,
    Consumer,
    KafkaError,
    Message,
    TopicPartition,
)
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # as everybody calls it

from codec_tests.interop.kafka_server import KafkaCluster
from codec_tests.interop.kafka_session import QUIET, SECONDS
from codec_tests.interop.maven import spark_class_path
from codec_tests.spark_session import SHORT_LIVED, local_spark

ISOLATIONS = ("read_uncommitted", "read_committed")


class Seen(NamedTuple):
    """A record as a client sees it."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    """In microseconds."""
    timestamp_type: int
    """0 is CreateTime, 1 LogAppendTime, as in Spark."""
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, str | bytes | None], ...] | None


@contextmanager
def spark_with_kafka() -> Iterator[SparkSession]:
    """A session that has Spark's own Kafka source."""
    jars = ",".join(map(str, spark_class_path()))
    settings = {"spark.jars": jars, "spark.driver.extraJavaOptions": SHORT_LIVED}
    with local_spark("kraftwire interop tests", settings) as session:
        yield session


def theirs(
    spark: SparkSession,
    cluster: KafkaCluster,
    topics: list[str],
    isolation: str = "read_uncommitted",
    **options: str,
) -> DataFrame:
    """What Spark's own source reads."""
    settings = {
        "kafka.bootstrap.servers": cluster.bootstrap,
        "kafka.isolation.level": isolation,
        "subscribe": ",".join(topics),
    }
    return spark.read.format("kafka").options(**settings, **options).load()


def ours(
    spark: SparkSession,
    cluster: KafkaCluster,
    topics: list[str],
    isolation: str = "read_uncommitted",
    **options: str,
) -> DataFrame:
    """What our source reads in the data directory of the broker."""
    reader = spark.read.format("kraftwire").options(**options)
    reader = reader.option("topics", ",".join(topics)).option("isolation", isolation)
    return reader.load(data_directory(cluster))


def data_directory(cluster: KafkaCluster) -> str:
    """Where the one node of a cluster stores everything."""
    (node,) = cluster.nodes
    return str(node.directory / "data")


def differences(one: DataFrame, other: DataFrame) -> tuple[list[Row], int]:
    """The rows that one has more often, and how many there are of all in `one`.

    It is `exceptAll` both ways, in one pass: `surplus` says how often more `one` has a row.
    """
    columns = one.columns
    added = one.withColumn("count", F.lit(1)).withColumn("surplus", F.lit(1))
    taken = other.withColumn("count", F.lit(0)).withColumn("surplus", F.lit(-1))
    sums = [F.sum(name).alias(name) for name in ("count", "surplus")]
    rows = added.union(taken).groupBy(*columns).agg(*sums).collect()
    return [row for row in rows if row.surplus], sum(row["count"] for row in rows)


def seen_by_spark(frame: DataFrame) -> list[Seen]:
    """The rows of a read with headers, by topic, partition and offset."""
    rows = frame.withColumn("timestamp", F.unix_micros("timestamp")).collect()
    return sorted(map(_seen_row, rows), key=_place)


def _seen_row(row: Row) -> Seen:
    headers = None
    if row.headers is not None:
        headers = tuple((one.key, _bytes(one.value)) for one in row.headers)
    return Seen(
        row.topic,
        row.partition,
        row.offset,
        row.timestamp,
        row.timestampType,
        _bytes(row.key),
        _bytes(row.value),
        headers,
    )


def _bytes(value: bytearray | None) -> bytes | None:
    return None if value is None else bytes(value)


def _place(seen: Seen) -> tuple[str, int, int]:
    return seen[:3]


def seen_by_a_consumer(
    cluster: KafkaCluster, topics: Mapping[str, int], isolation: str = "read_uncommitted"
) -> list[Seen]:
    """All that librdkafka's consumer sees up to the ends of all partitions, in their order.

    `topics` are given by their numbers of partitions.
    """
    settings = {
        "bootstrap.servers": cluster.bootstrap,
        "group.id": "nobody",
        "isolation.level": isolation,
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "auto.offset.reset": "error",
    }
    consumer = Consumer(QUIET | settings)
    unread = {(topic, at) for topic, count in topics.items() for at in range(count)}
    # Without an offset it would ask a coordinator, which may not be ready.
    consumer.assign([TopicPartition(topic, at, OFFSET_BEGINNING) for topic, at in unread])
    found: list[Seen] = []
    end = time.monotonic() + SECONDS
    try:
        while unread:
            assert time.monotonic() < end, f"the ends were not seen of {unread}"
            for message in consumer.consume(1000, 0.2):
                error = message.error()
                if error is None:
                    found.append(_seen_message(message))
                else:
                    assert error.code() == KafkaError._PARTITION_EOF, error
                    unread.discard((str(message.topic()), message.partition() or 0))
    finally:
        consumer.close()
    return sorted(found, key=_place)


def _seen_message(message: Message) -> Seen:
    topic, partition, offset = message.topic(), message.partition(), message.offset()
    assert topic is not None
    assert partition is not None
    assert offset is not None
    kind, timestamp = message.timestamp()
    headers = message.headers()
    assert headers is None or isinstance(headers, list)
    return Seen(
        topic,
        partition,
        offset,
        timestamp * 1000,
        int(kind == TIMESTAMP_LOG_APPEND_TIME),
        message.key(),
        message.value(),
        tuple(headers) if headers is not None else None,
    )
