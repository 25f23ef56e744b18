"""Reads one cluster with two Spark sources: Spark's own Kafka source, and ours.

Spark's source needs the jars of `java/spark/pom.xml` when the session starts, and a process has
one session. So tests that use it need a process of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # as everybody calls it

from codec_tests.interop.consumer_view import Seen, position
from codec_tests.interop.kafka_server import KafkaCluster
from codec_tests.interop.maven import spark_class_path
from codec_tests.spark_session import SHORT_LIVED, local_spark

ISOLATIONS = ("read_uncommitted", "read_committed")


@contextmanager
def spark_with_kafka() -> Iterator[SparkSession]:
    """Start a session with Spark's own Kafka source."""
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
    """Return a read with Spark's own source."""
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
    """Return a read of the broker's data directory with our source."""
    reader = spark.read.format("kraftwire").options(**options)
    reader = reader.option("topics", ",".join(topics)).option("isolation", isolation)
    return reader.load(data_directory(cluster))


def data_directory(cluster: KafkaCluster) -> str:
    """Return the data directory of a cluster's one node."""
    (node,) = cluster.nodes
    return str(node.directory / "data")


def differences(one: DataFrame, other: DataFrame) -> tuple[list[Row], int]:
    """Return the rows that differ, and the number of rows in `one`.

    This is `exceptAll` both ways in one pass: `surplus` is how many more copies of a row `one`
    has.
    """
    columns = one.columns
    added = one.withColumn("count", F.lit(1)).withColumn("surplus", F.lit(1))
    taken = other.withColumn("count", F.lit(0)).withColumn("surplus", F.lit(-1))
    sums = [F.sum(name).alias(name) for name in ("count", "surplus")]
    rows = added.union(taken).groupBy(*columns).agg(*sums).collect()
    return [row for row in rows if row.surplus], sum(row["count"] for row in rows)


def seen_by_spark(frame: DataFrame) -> list[Seen]:
    """Return the rows of a read with headers, by topic, partition and offset."""
    rows = frame.withColumn("timestamp", F.unix_micros("timestamp")).collect()
    return sorted(map(_seen_row, rows), key=position)


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
