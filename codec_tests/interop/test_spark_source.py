"""The Spark source reads what a consumer and Spark's own Kafka source read from a broker."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Producer, TopicCollection, TopicPartition
from pyspark.sql import Row, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import IntegerType, LongType, StructType

from kraftwire.log import find_partitions, read_batches
from kraftwire.log.directories.file_names import segment_name
from pyspark_kraftwire import schema_of

from codec_tests.interop.client_session import (
    GONE_GROUP,
    GONE_TOPIC,
    GROUPS,
    SEGMENTED,
    TOPICS,
    admin_of,
    committed_offsets,
    create_topics,
    produce_records,
    stopped,
    transactional_producer,
    wait_until_decided,
    written_cluster,
)
from codec_tests.interop.clients import SECONDS, finish, flush
from codec_tests.interop.consumer_view import Seen, consume_all, position
from codec_tests.interop.kafka_server import KafkaCluster
from codec_tests.interop.log_session import CODECS
from codec_tests.interop.spark_kafka import (
    ISOLATIONS,
    data_directory,
    differences,
    ours,
    seen_by_spark,
    spark_with_kafka,
    theirs,
)

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("spark_source")]

ALL = list(TOPICS)
STEPS = {"steps": 2}
"""The topic that a stream follows."""

Consumed = Mapping[str, list[Seen]]
Range = Mapping[str, Mapping[int, int]]
"""Offsets by topic and partition; -2 is the earliest, -1 the latest."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[KafkaCluster]:
    with written_cluster() as kafka:
        yield kafka


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with spark_with_kafka() as session:
        yield session


@pytest.fixture(scope="module")
def consumed(cluster: KafkaCluster) -> Consumed:
    """What a consumer sees, by isolation level."""
    return {isolation: consume_all(cluster, TOPICS, isolation) for isolation in ISOLATIONS}


def test_the_session_wrote_what_it_was_made_for(cluster: KafkaCluster, consumed: Consumed) -> None:
    codecs, flags = set(), set()
    segments: Counter[str] = Counter()
    for partition in find_partitions([Path(data_directory(cluster))]):
        if partition.topic not in TOPICS:
            continue
        segments[partition.label] += len(partition.segments)
        for segment in partition.segments:
            with segment.open() as source:
                for batch in read_batches(source):
                    codecs.add(batch.header.codec_label)
                    flags.add((batch.header.is_transactional, batch.header.is_control))
    assert codecs == set(CODECS)
    assert flags == {(False, False), (True, False), (True, True)}
    assert len(segments) == sum(TOPICS.values())
    assert min(segments["tea-0"], segments["tea-1"], segments["tea-2"]) >= 5
    everything, committed = (consumed[isolation] for isolation in ISOLATIONS)
    assert set(committed) < set(everything)
    assert {"nobody knows yet", "after it"} <= {(one.value or b"").decode() for one in everything}
    assert {one.timestamp_type for one in everything} == {0, 1}
    assert {one.timestamp for one in everything if one.topic == "timeless"} == {-1000}
    for found in (everything, committed):
        assert {None, b""} < {one.key for one in found}
        assert {None, b""} < {one.value for one in found}
        assert len({one.headers for one in found if one.topic == "tea"}) == 4


@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_a_running_brokers_files_have_what_a_consumer_sees(
    spark: SparkSession, cluster: KafkaCluster, consumed: Consumed, isolation: str
) -> None:
    frame = ours(spark, cluster, ALL, isolation, includeHeaders="true")
    assert seen_by_spark(frame) == consumed[isolation]


def test_so_have_those_of_a_broker_that_has_stopped(
    spark: SparkSession, cluster: KafkaCluster, consumed: Consumed
) -> None:
    with stopped(cluster):
        found = {
            isolation: seen_by_spark(ours(spark, cluster, ALL, isolation, includeHeaders="true"))
            for isolation in ISOLATIONS
        }
    assert found == consumed


@pytest.mark.parametrize("with_headers", ["true", "false"])
def test_columns_are_those_of_sparks_own_source(
    spark: SparkSession, cluster: KafkaCluster, with_headers: str
) -> None:
    schema = ours(spark, cluster, ALL, includeHeaders=with_headers).schema
    assert schema == theirs(spark, cluster, ALL, includeHeaders=with_headers).schema
    assert len(schema) == (8 if with_headers == "true" else 7)


@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_rows_are_those_of_sparks_own_source(
    spark: SparkSession, cluster: KafkaCluster, consumed: Consumed, isolation: str
) -> None:
    one = ours(spark, cluster, ALL, isolation, includeHeaders="true")
    other = theirs(spark, cluster, ALL, isolation, includeHeaders="true")
    assert differences(one, other) == ([], len(consumed[isolation]))


@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_so_are_those_between_offsets(
    spark: SparkSession, cluster: KafkaCluster, consumed: Consumed, isolation: str
) -> None:
    """The ranges start and end at transaction markers and within batches, or are empty."""
    first, last = _markers(consumed, "orders", 0)
    starts: Range = {
        "tea": {0: 7, 1: -2, 2: 20},
        "clocked": {0: 5, 1: 39},
        "timeless": {0: 1},
        "cups": {0: -2, 1: 3},
        "orders": {0: first, 1: 30},
    }
    ends: Range = {
        "tea": {0: 33, 1: -1, 2: 21},
        "clocked": {0: 5, 1: -1},
        "timeless": {0: 2},
        "cups": {0: -1, 1: 4},
        "orders": {0: last, 1: -1},
    }
    wanted = [
        one
        for one in consumed[isolation]
        if starts[one.topic][one.partition] <= one.offset
        and not 0 <= ends[one.topic][one.partition] <= one.offset
    ]
    offsets = {"startingOffsets": json.dumps(starts), "endingOffsets": json.dumps(ends)}
    one = ours(spark, cluster, ALL, isolation, **offsets)
    other = theirs(spark, cluster, ALL, isolation, **offsets)
    assert differences(one, other) == ([], len(wanted))
    assert 100 < len(wanted) < len(consumed[isolation]) - 100


def _markers(consumed: Consumed, topic: str, partition: int) -> tuple[int, int]:
    """Return the first and the last offset of a transaction marker in a partition."""
    seen = {
        one.offset
        for one in consumed["read_uncommitted"]
        if (one.topic, one.partition) == (topic, partition)
    }
    markers = sorted(set(range(max(seen))) - seen)
    assert len(markers) > 4
    return markers[0], markers[-1]


def test_offsets_of_groups_are_those_that_the_admin_client_reports(
    spark: SparkSession, cluster: KafkaCluster
) -> None:
    stored: dict[tuple[str, str, int], tuple[int, int, str]] = {}
    deleted = set()
    names = ("OffsetCommitKey", "OffsetCommitValue")
    for row in _typed_rows(spark, cluster, "offsets", *names, isolation="read_committed"):
        key, value = row.OffsetCommitKey, row.OffsetCommitValue
        if key is not None and value is not None:
            stored[tuple(key)] = (value.offset, value.leader_epoch, value.metadata)
        elif key is not None:
            del stored[tuple(key)]
            deleted.add(key.group)
    admin = admin_of(cluster)
    assert stored == {
        (group, part.topic, part.partition): (
            part.offset,
            -1 if part.leader_epoch is None else part.leader_epoch,
            part.metadata or "",
        )
        for group in GROUPS
        for part in committed_offsets(admin, group)
    }
    known = admin.list_consumer_groups().result(SECONDS)
    assert {group for group, *_ in stored} == {one.group_id for one in known.valid} == set(GROUPS)
    assert deleted == {GONE_GROUP}


def test_topics_of_the_metadata_log_are_those_that_the_admin_client_reports(
    spark: SparkSession, cluster: KafkaCluster
) -> None:
    topics: dict[str, str] = {}
    partitions: Counter[str] = Counter()
    deleted = set()
    names = ("TopicRecord", "PartitionRecord", "RemoveTopicRecord")
    for row in _typed_rows(spark, cluster, "metadata", *names):
        if row.TopicRecord is not None:
            topics[row.TopicRecord.topic_id] = row.TopicRecord.name
        elif row.PartitionRecord is not None:
            partitions[row.PartitionRecord.topic_id] += 1
        elif row.RemoveTopicRecord is not None:
            deleted.add(topics.pop(row.RemoveTopicRecord.topic_id))
    admin = admin_of(cluster)
    known = TopicCollection(list(admin.list_topics(timeout=SECONDS).topics))
    described = [one.result(SECONDS) for one in admin.describe_topics(known).values()]
    assert {(name, key, partitions[key]) for key, name in topics.items()} == {
        (topic.name, _url_safe(str(topic.topic_id)), len(topic.partitions)) for topic in described
    }
    assert set(ALL) < set(topics.values())
    assert GONE_TOPIC in deleted


def _url_safe(text: str) -> str:
    """Convert librdkafka's base64 alphabet to Kafka's."""
    return text.translate(str.maketrans("+/", "-_"))


def _typed_rows(
    spark: SparkSession, cluster: KafkaCluster, decode: str, *messages: str, **options: str
) -> list[Row]:
    """Return the records of one of Kafka's own logs, ordered by partition and offset."""
    schema = StructType().add("partition", IntegerType()).add("offset", LongType())
    for message in messages:
        schema = schema.add(message, schema_of(message))
    reader = spark.read.format("kraftwire").schema(schema).options(decode=decode, **options)
    rows = reader.load(data_directory(cluster)).collect()
    return sorted(rows, key=lambda row: (row.partition, row.offset))


def test_a_stream_follows_a_running_broker(
    spark: SparkSession, cluster: KafkaCluster, tmp_path: Path
) -> None:
    """Segments roll and are deleted, a transaction stays open, and the query restarts."""
    create_topics(cluster, STEPS, {"steps": SEGMENTED})
    producer = transactional_producer(cluster, "walker")
    with _following(spark, cluster, tmp_path) as query:
        for turn in range(3):
            _walk(producer, turn)
        wait_until_decided(cluster, STEPS)
        producer.begin_transaction()
        produce_records(producer, "steps", 3)
        flush(producer)
        query.processAllAvailable()
    before = consume_all(cluster, STEPS, "read_committed")
    assert seen_by_spark(spark.read.parquet(str(tmp_path / "rows"))) == before

    producer.commit_transaction(SECONDS)
    _delete_first_segments(cluster, before)
    with _following(spark, cluster, tmp_path) as query:
        for turn in range(4, 6):
            _walk(producer, turn)
        wait_until_decided(cluster, STEPS)
        query.processAllAvailable()
    after = consume_all(cluster, STEPS, "read_committed")
    assert after[0].offset > 0
    assert len(set(after) - set(before)) > 60
    found = seen_by_spark(spark.read.parquet(str(tmp_path / "rows")))
    assert found == sorted({*before, *after}, key=position)


@contextmanager
def _following(
    spark: SparkSession, cluster: KafkaCluster, directory: Path
) -> Iterator[StreamingQuery]:
    options = {"topics": "steps", "isolation": "read_committed", "includeHeaders": "true"}
    frame = spark.readStream.format("kraftwire").options(**options).load(data_directory(cluster))
    writer = frame.writeStream.format("parquet")
    writer = writer.option("checkpointLocation", str(directory / "checkpoint"))
    query = writer.start(str(directory / "rows"))
    try:
        yield query
    finally:
        query.stop()


def _walk(producer: Producer, turn: int) -> None:
    """Run a transaction; every third is aborted."""
    producer.begin_transaction()
    produce_records(producer, "steps", turn)
    flush(producer)
    if turn % 3 == 1:
        producer.abort_transaction(SECONDS)
    else:
        producer.commit_transaction(SECONDS)


def _delete_first_segments(cluster: KafkaCluster, seen: list[Seen]) -> None:
    """Delete what a stream has read, and wait until the files are gone."""
    ends = {one.partition: one.offset for one in seen}
    admin = admin_of(cluster)
    asked = [TopicPartition("steps", partition, offset) for partition, offset in ends.items()]
    finish(admin.delete_records(asked))
    first = [Path(data_directory(cluster), f"steps-{at}", segment_name(0, "log")) for at in ends]
    cluster.wait_for("first segments are gone", lambda: not any(map(Path.exists, first)))
