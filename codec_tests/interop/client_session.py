"""Writes records of every kind with real clients, for the tests of the Spark source.

Topic names show the content. `tea` has every codec and rolled segments. `clocked` has
LogAppendTime, `timeless` a record without a timestamp, and `cups` what aiokafka wrote. `orders`
has committed, aborted and open transactions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import aiokafka
from aiokafka.structs import TopicPartition as AioPartition
from confluent_kafka import (
    ConsumerGroupTopicPartitions,
    IsolationLevel,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    NewTopic,
    OffsetSpec,
)

from kraftwire.log import Record
from kraftwire.log.batches.encoding import encode_batch
from kraftwire_messages.kafka import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    ProduceRequest,
    ProduceResponse,
)

from codec_tests.interop.clients import QUIET, SECONDS, finish, flush, producer_of
from codec_tests.interop.kafka_connection import Connection
from codec_tests.interop.kafka_server import KafkaCluster, kafka_cluster
from codec_tests.interop.kafka_session import consume
from codec_tests.interop.log_session import CODECS, batch_producer, record_time, record_value

SETTINGS = {
    "log.initial.task.delay.ms": "100",
    "log.retention.check.interval.ms": "300",
    "log.segment.delete.delay.ms": "300",
}
SEGMENTED = {"segment.ms": "100"}
TOPICS = {"tea": 3, "clocked": 2, "timeless": 1, "cups": 2, "orders": 2}
"""Topics with their numbers of partitions."""
GROUPS = ("classic-drinkers", "new-drinkers", "async-drinkers")
GONE_TOPIC, GONE_GROUP = "short-lived", "gone-drinkers"

_CONFIGS = {"tea": SEGMENTED, "clocked": {"message.timestamp.type": "LogAppendTime"}}
_OPEN_MS = 600_000
"""The timeout of the transaction that stays open."""
_SHAPES: tuple[list[tuple[str, str | bytes | None]] | None, ...] = (
    None,
    [("shape", b"round"), ("shape", None), ("shape", b"round")],
    [("größe", b"\xff\x00"), ("", b"")],
    [("茶", "ü".encode())],
)
"""Headers: none, repeated keys, null and empty values, keys that are not ASCII or empty."""


@contextmanager
def written_cluster() -> Iterator[KafkaCluster]:
    """Start a cluster of one node with all topics written and offsets of groups committed."""
    with kafka_cluster(settings=SETTINGS) as cluster:
        create_topics(cluster, TOPICS | {GONE_TOPIC: 1}, _CONFIGS)
        for turn, codec in enumerate(CODECS):
            produce(cluster, "tea", codec, turn)
        for turn, codec in enumerate(("none", "lz4")):
            produce(cluster, "clocked", codec, turn)
        _produce_without_a_timestamp(cluster)
        asyncio.run(asyncio.wait_for(_aiokafka(cluster.bootstrap), 2 * SECONDS))
        _groups(cluster)
        with _transactions(cluster):
            yield cluster


def admin_of(cluster: KafkaCluster) -> AdminClient:
    """Return an admin client of librdkafka; keep a reference until its futures are done."""
    return AdminClient(QUIET | {"bootstrap.servers": cluster.bootstrap})


def create_topics(
    cluster: KafkaCluster, topics: dict[str, int], configs: dict[str, dict[str, str]]
) -> None:
    """Create topics with their numbers of partitions."""
    new = [NewTopic(name, count, 1, config=configs.get(name, {})) for name, count in topics.items()]
    admin = admin_of(cluster)
    finish(admin.create_topics(new))


def produce(cluster: KafkaCluster, topic: str, codec: str, turn: int) -> None:
    """Produce keys, values and headers of all kinds to every partition of a topic."""
    producer = batch_producer(cluster, codec)
    produce_records(producer, topic, turn)
    flush(producer)


def produce_records(producer: Producer, topic: str, turn: int) -> None:
    """Produce records; the timestamps of each turn are a second later."""
    count = TOPICS.get(topic, 2)
    for number in range(20 * count):
        producer.produce(
            topic,
            key=(None, b"", f"cup {number}".encode())[number % 5 % 3],
            value=record_value(turn, number),
            headers=_SHAPES[number % 7 % 4],
            partition=number % count,
            timestamp=record_time(turn),
        )


def _produce_without_a_timestamp(cluster: KafkaCluster) -> None:
    """Send our own request: no client omits timestamps."""
    records = encode_batch([Record(at, -1, b"k", b"when?", ()) for at in range(3)])
    data = ProduceRequest.PartitionProduceData(index=0, records=records)
    topic = ProduceRequest.TopicProduceData(name="timeless", partition_data=[data])
    request = ProduceRequest(acks=-1, timeout_ms=SECONDS * 1000, topic_data=[topic])
    with Connection(cluster.brokers[0].ports["PLAINTEXT"]) as connection:
        response: ProduceResponse = connection.ask(request, 12)
    (answer,) = response.responses[0].partition_responses
    assert answer.error_code == 0, answer


async def _aiokafka(bootstrap: str) -> None:
    """Produce records and group offsets in a committed and in an aborted transaction."""
    async with aiokafka.AIOKafkaProducer(
        bootstrap_servers=bootstrap, transactional_id="kettle", compression_type="gzip"
    ) as producer:
        for offset, number in ((3, 0), (9, 1)):
            await producer.begin_transaction()
            for at in range(10):
                headers = [("größe", b"%d" % at), ("größe", b"")] if at % 3 else None
                value = f"kettle {number}.{at} ".encode() * 3
                await producer.send("cups", value, b"k", at % 2, headers=headers)
            offsets = {AioPartition("tea", 1): offset}
            await producer.send_offsets_to_transaction(offsets, "async-drinkers")
            await (producer.abort_transaction() if number else producer.commit_transaction())


def _groups(cluster: KafkaCluster) -> None:
    """Read in groups; delete one of the groups, and a topic."""
    consume(cluster, "classic-drinkers", 20)
    consume(cluster, "classic-drinkers", 30)
    consume(cluster, "new-drinkers", 20, group_protocol="consumer")
    consume(cluster, GONE_GROUP, 20)
    admin = admin_of(cluster)
    admin.delete_consumer_groups([GONE_GROUP])[GONE_GROUP].result(SECONDS)
    admin.delete_topics([GONE_TOPIC])[GONE_TOPIC].result(SECONDS)
    cluster.wait_for(
        "brokers forgot the topic",
        lambda: GONE_TOPIC not in admin.list_topics(timeout=SECONDS).topics,
    )


@contextmanager
def _transactions(cluster: KafkaCluster) -> Iterator[None]:
    """Run transactions of two producers at the same time; one stays open in this context."""
    one, other = (transactional_producer(cluster, name) for name in ("till", "other-till"))
    plain = producer_of(cluster.bootstrap)
    for turn in range(4):
        for producer in (one, other):
            producer.begin_transaction()
            produce_records(producer, "orders", turn)
            flush(producer)
        produce_records(plain, "orders", turn)
        flush(plain)
        for producer, aborts in ((other, turn == 1), (one, turn % 2)):
            if aborts:
                producer.abort_transaction(SECONDS)
            else:
                producer.commit_transaction(SECONDS)
    wait_until_decided(cluster, TOPICS)
    one.begin_transaction()
    one.produce("orders", b"nobody knows yet", partition=1)
    flush(one)
    plain.produce("orders", b"after it", partition=1)
    flush(plain)
    yield


@contextmanager
def stopped(cluster: KafkaCluster) -> Iterator[None]:
    """Stop the node of a cluster; afterwards wait until it knows its groups again."""
    (node,) = cluster.nodes
    node.stop()
    try:
        yield
    finally:
        node.start()
        cluster.wait_for("it is back", cluster.is_ready)
        cluster.wait_for("groups are loaded", lambda: _are_groups_loaded(cluster))


def _are_groups_loaded(cluster: KafkaCluster) -> bool:
    """Ask through our codecs. librdkafka's admin client aborts the process if a broker answers that
    it is not the coordinator, as it does while it loads a group (librdkafka issue 5040).
    """
    group = OffsetFetchRequest.OffsetFetchRequestGroup
    groups = [group(group_id=name, topics=None) for name in GROUPS]
    with Connection(cluster.brokers[0].ports["PLAINTEXT"]) as connection:
        response: OffsetFetchResponse = connection.ask(OffsetFetchRequest(groups=groups), 8)
    return not any(answer.error_code for answer in response.groups)


def committed_offsets(admin: AdminClient, group: str) -> list[TopicPartition]:
    """Return the committed offsets of a group from the admin client."""
    asked = [ConsumerGroupTopicPartitions(group)]
    answer = admin.list_consumer_group_offsets(asked)[group].result(SECONDS)
    found: list[TopicPartition] = answer.topic_partitions
    return found


def transactional_producer(cluster: KafkaCluster, name: str) -> Producer:
    """Return a producer whose transactions never time out during a test."""
    producer = producer_of(
        cluster.bootstrap, transactional_id=name, transaction_timeout_ms=_OPEN_MS
    )
    producer.init_transactions(SECONDS)
    return producer


def wait_until_decided(cluster: KafkaCluster, topics: dict[str, int]) -> None:
    """Wait for the markers of transactions, which brokers write after they answer."""
    admin = admin_of(cluster)
    parts = [TopicPartition(topic, at) for topic, count in topics.items() for at in range(count)]

    def ends(isolation: IsolationLevel) -> list[int]:
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        asked = dict.fromkeys(parts, latest)
        found = admin.list_offsets(asked, isolation_level=isolation)
        return [found[part].result(SECONDS).offset for part in parts]

    cluster.wait_for(
        "every transaction has its markers",
        lambda: ends(IsolationLevel.READ_COMMITTED) == ends(IsolationLevel.READ_UNCOMMITTED),
    )
