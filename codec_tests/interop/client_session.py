"""Real clients write records of every kind to several partitions: for tests of the Spark source.

Names of topics say what is in them: `tea` has every codec, and segments that were rolled;
`clocked` has LogAppendTime, `timeless` a record without a timestamp, `cups` what aiokafka
wrote, `orders` transactions, committed, aborted and one left open.
"""

from __future__ import annotations

import asyncio
import time
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

from codec_tests.interop.kafka_connection import Connection
from codec_tests.interop.kafka_server import KafkaCluster, kafka_cluster
from codec_tests.interop.kafka_session import QUIET, SECONDS, consume
from codec_tests.interop.log_session import CODECS

SETTINGS = {
    "log.initial.task.delay.ms": "100",
    "log.retention.check.interval.ms": "300",
    "log.segment.delete.delay.ms": "300",
}
SEGMENTED = {"segment.ms": "100"}
TOPICS = {"tea": 3, "clocked": 2, "timeless": 1, "cups": 2, "orders": 2}
"""The topics by their numbers of partitions."""
GROUPS = ("classic-drinkers", "new-drinkers", "async-drinkers")
GONE_TOPIC, GONE_GROUP = "short-lived", "gone-drinkers"

_CONFIGS = {"tea": SEGMENTED, "clocked": {"message.timestamp.type": "LogAppendTime"}}
_OPEN_MS = 600_000
"""How long the transaction that is left open may be."""
_SHAPES: tuple[list[tuple[str, str | bytes | None]] | None, ...] = (
    None,
    [("shape", b"round"), ("shape", None), ("shape", b"round")],
    [("größe", b"\xff\x00"), ("", b"")],
    [("茶", "ü".encode())],
)
"""Headers: none, repeated keys, null and empty values, keys that are not ASCII or empty."""


@contextmanager
def written_cluster() -> Iterator[KafkaCluster]:
    """A cluster of one node to which all of it was written, and committed by groups."""
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
    """The admin client of librdkafka, to be held until what was asked of it is answered."""
    return AdminClient(QUIET | {"bootstrap.servers": cluster.bootstrap})


def create_topics(
    cluster: KafkaCluster, topics: dict[str, int], configs: dict[str, dict[str, str]]
) -> None:
    """Make topics, given by their numbers of partitions."""
    new = [NewTopic(name, count, 1, config=configs.get(name, {})) for name, count in topics.items()]
    admin = admin_of(cluster)
    for future in admin.create_topics(new).values():
        future.result(SECONDS)


def produce(cluster: KafkaCluster, topic: str, codec: str, turn: int) -> None:
    """A batch for every partition, or more: all kinds of keys, values and headers."""
    settings = {"bootstrap.servers": cluster.bootstrap, "compression.type": codec, "linger.ms": 5}
    producer = Producer(QUIET | settings | {"enable.idempotence": codec != "gzip"})
    produce_records(producer, topic, turn)
    assert producer.flush(SECONDS) == 0


def produce_records(producer: Producer, topic: str, turn: int) -> None:
    """Hand records to a producer; each turn is a second after the one before it."""
    count = TOPICS.get(topic, 2)
    for number in range(20 * count):
        producer.produce(
            topic,
            key=(None, b"", f"cup {number}".encode())[number % 5 % 3],
            value=_value(turn, number),
            headers=_SHAPES[number % 7 % 4],
            partition=number % count,
            timestamp=int(time.time() * 1000) - 60_000 + 1000 * turn,
        )


def _value(turn: int, number: int) -> bytes | None:
    if number % 11 == 0:
        return None  # a tombstone, where there is a key
    if number % 13 == 0:
        return b""
    return f"cup {number} of turn {turn}: ".encode() * (number % 4 + 1)


def _produce_without_a_timestamp(cluster: KafkaCluster) -> None:
    """No client leaves the timestamp out, so this request is of our making."""
    records = encode_batch([Record(at, -1, b"k", b"when?", ()) for at in range(3)])
    data = ProduceRequest.PartitionProduceData(index=0, records=records)
    topic = ProduceRequest.TopicProduceData(name="timeless", partition_data=[data])
    request = ProduceRequest(acks=-1, timeout_ms=SECONDS * 1000, topic_data=[topic])
    with Connection(cluster.brokers[0].ports["PLAINTEXT"]) as connection:
        response: ProduceResponse = connection.ask(request, 12)
    (answer,) = response.responses[0].partition_responses
    assert answer.error_code == 0, answer


async def _aiokafka(bootstrap: str) -> None:
    """Records and offsets of a group: of a transaction that commits, and of one that does not."""
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
    """Groups that stay and one that is deleted; and a topic is deleted."""
    consume(cluster, "classic-drinkers", 20)
    consume(cluster, "classic-drinkers", 30)
    consume(cluster, "new-drinkers", 20, **{"group.protocol": "consumer"})
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
    """Of two producers at once, with plain records among them; one is open while this is."""
    one, other = (transactional_producer(cluster, name) for name in ("till", "other-till"))
    plain = Producer(QUIET | {"bootstrap.servers": cluster.bootstrap})
    for turn in range(4):
        for producer in (one, other):
            producer.begin_transaction()
            produce_records(producer, "orders", turn)
            assert producer.flush(SECONDS) == 0
        produce_records(plain, "orders", turn)
        assert plain.flush(SECONDS) == 0
        for producer, aborts in ((other, turn == 1), (one, turn % 2)):
            if aborts:
                producer.abort_transaction(SECONDS)
            else:
                producer.commit_transaction(SECONDS)
    wait_until_decided(cluster, TOPICS)
    one.begin_transaction()
    one.produce("orders", b"nobody knows yet", partition=1)
    assert one.flush(SECONDS) == 0
    plain.produce("orders", b"behind it", partition=1)
    assert plain.flush(SECONDS) == 0
    yield


@contextmanager
def stopped(cluster: KafkaCluster) -> Iterator[None]:
    """While this is, its one node is stopped; then it is back, and knows its groups."""
    (node,) = cluster.nodes
    node.stop()
    try:
        yield
    finally:
        node.start()
        cluster.wait_for("it is back", cluster.is_ready)
        cluster.wait_for("groups are loaded", lambda: _are_groups_loaded(cluster))


def _are_groups_loaded(cluster: KafkaCluster) -> bool:
    """Asked through our codecs: librdkafka's admin client ends the process where a broker says
    that it does not coordinate a group, as it does until it has begun to load it (its issue 5040).
    """
    group = OffsetFetchRequest.OffsetFetchRequestGroup
    groups = [group(group_id=name, topics=None) for name in GROUPS]
    with Connection(cluster.brokers[0].ports["PLAINTEXT"]) as connection:
        response: OffsetFetchResponse = connection.ask(OffsetFetchRequest(groups=groups), 8)
    return not any(answer.error_code for answer in response.groups)


def committed_offsets(admin: AdminClient, group: str) -> list[TopicPartition]:
    """What a group has committed, as the admin client reports it."""
    asked = [ConsumerGroupTopicPartitions(group)]
    answer = admin.list_consumer_group_offsets(asked)[group].result(SECONDS)
    found: list[TopicPartition] = answer.topic_partitions
    return found


def transactional_producer(cluster: KafkaCluster, name: str) -> Producer:
    """A producer whose transactions may stay open for longer than any test takes."""
    settings = {"transactional.id": name, "transaction.timeout.ms": _OPEN_MS}
    producer = Producer(QUIET | {"bootstrap.servers": cluster.bootstrap} | settings)
    producer.init_transactions(SECONDS)
    return producer


def wait_until_decided(cluster: KafkaCluster, topics: dict[str, int]) -> None:
    """Wait for the markers of transactions, which a broker writes after it has answered."""
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
