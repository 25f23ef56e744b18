"""Programs that run against a real Kafka, and then against a replay of the recording.

Each takes the address of a broker and returns what it saw, except what differs between runs. They
poll until an expected state is reached and never sleep for a fixed time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import aiokafka
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from codec_tests.interop.clients import (
    QUIET,
    SECONDS,
    consumer_of,
    finish,
    flush,
    producer_of,
    read,
    wait_until,
)
from codec_tests.interop.kafka_session import read_in_share_group
from codec_tests.interop.kafka_tools import run_tool

_NO_METRICS: dict[str, Any] = {"enable.metrics.push": False}

Seen = list[tuple[Any, ...]]


def create_topic(
    bootstrap: str,
    topic: str,
    partitions: int = 2,
    login: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Create a topic and wait until the broker knows it."""
    admin = AdminClient({**QUIET, **_NO_METRICS, **login, "bootstrap.servers": bootstrap})
    finish(admin.create_topics([NewTopic(topic, partitions, 1)]))
    wait_until(
        lambda: len(admin.list_topics(topic, SECONDS).topics[topic].partitions) >= partitions,
        f"the broker knows {topic}",
    )


def confluent_session(
    bootstrap: str, protocol: str, login: Mapping[str, Any] = MappingProxyType({})
) -> Seen:
    """Create a topic, produce with a callback, consume in a group, and commit."""
    topic = f"orders-{protocol}-{login.get('sasl.mechanism', '')}"
    create_topic(bootstrap, topic, login=login)
    producer = producer_of(bootstrap, **_NO_METRICS, **login, enable_idempotence=True)
    placed: Seen = []
    for number in range(6):
        producer.produce(
            topic,
            f"order {number}".encode(),
            str(number).encode(),
            partition=number % 2,
            headers=[("n", str(number).encode())],
            on_delivery=lambda error, message: placed.append(
                ("placed", str(error), message.partition(), message.offset())
            ),
        )
    flush(producer)
    group = f"readers-{protocol}"
    consumer = consumer_of(bootstrap, group, **_NO_METRICS, **login, group_protocol=protocol)
    consumer.subscribe([topic])
    found: Seen = [
        (message.partition(), message.offset(), message.key(), message.value())
        for message in read(consumer, 6)
    ]
    consumer.commit(asynchronous=False)
    committed = consumer.committed(consumer.assignment(), timeout=SECONDS)
    offsets: Seen = [("committed", one.partition, one.offset) for one in committed]
    consumer.close()
    return sorted(placed) + sorted(found) + sorted(offsets)


def plain_login(password: str) -> dict[str, Any]:
    """The settings of a client that logs in by PLAIN."""
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "admin",
        "sasl.password": password,
    }


def aiokafka_session(bootstrap: str) -> Seen:
    """Produce and consume in a group with aiokafka."""
    create_topic(bootstrap, "events")
    return asyncio.run(_aiokafka_session(bootstrap))


async def _aiokafka_session(bootstrap: str) -> Seen:
    placed: Seen = []
    async with aiokafka.AIOKafkaProducer(bootstrap_servers=bootstrap) as producer:
        for number in range(4):
            record = await producer.send_and_wait(
                "events", f"event {number}".encode(), partition=number % 2
            )
            placed.append(("placed", record.partition, record.offset))
    async with _aiokafka_consumer(bootstrap, "events", "watchers") as consumer:
        async with asyncio.timeout(SECONDS):
            messages = [await consumer.getone() for _ in range(4)]
        await consumer.commit()
    found = [(message.partition, message.offset, message.value) for message in messages]
    return sorted(placed) + sorted(found)


def _aiokafka_consumer(bootstrap: str, topic: str, group: str, **settings: Any) -> Any:
    return aiokafka.AIOKafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        **settings,
    )


def warm_up(bootstrap: str) -> None:
    """Use a group and a producer id: for the first of each a broker creates internal topics."""
    create_topic(bootstrap, "warm-up", 1)
    producer = producer_of(bootstrap, **_NO_METRICS, enable_idempotence=True)
    producer.produce("warm-up", b"warm")
    flush(producer)
    consumer = consumer_of(bootstrap, "warm-up", **_NO_METRICS, enable_auto_commit=True)
    consumer.subscribe(["warm-up"])
    read(consumer, 1)
    consumer.close()


def java_session(bootstrap: str, protocol: str = "classic") -> Seen:
    """Create a topic, produce and consume in a group with Kafka's own tools."""
    topic = f"java-{protocol}"
    create_topic(bootstrap, topic, 1)
    where = ["--bootstrap-server", bootstrap, "--topic", topic]
    run_tool("ConsoleProducer", *where, text="one\ntwo\nthree\n")
    group = ["--group", f"java-{protocol}", "--command-property", f"group.protocol={protocol}"]
    limits = ["--from-beginning", "--max-messages", "3", "--timeout-ms", str(SECONDS * 1000)]
    printed = run_tool("consumer.ConsoleConsumer", *where, *group, *limits)
    return [(line,) for line in printed.splitlines() if line in ("one", "two", "three")]


def transactions(bootstrap: str) -> Seen:
    """Abort a transaction, commit another with offsets, and read them with isolation."""
    create_topic(bootstrap, "payments", 1)
    consumer = consumer_of(bootstrap, "payers", **_NO_METRICS, isolation_level="read_committed")
    producer = producer_of(bootstrap, **_NO_METRICS, transactional_id="payments-1")
    producer.init_transactions(SECONDS)
    for text, commits in ((b"refused", False), (b"paid", True)):
        producer.begin_transaction()
        producer.produce("payments", text, partition=0)
        producer.flush(SECONDS)
        if commits:
            producer.send_offsets_to_transaction(
                [TopicPartition("payments", 0, 1)], consumer.consumer_group_metadata(), SECONDS
            )
            producer.commit_transaction(SECONDS)
        else:
            producer.abort_transaction(SECONDS)
    consumer.assign([TopicPartition("payments", 0, 0)])
    found: Seen = [(message.offset(), message.value()) for message in read(consumer, 1)]
    consumer.close()
    return found


def aiokafka_group(bootstrap: str) -> Seen:
    """Share a topic between two members of a classic group; one leaves, the other takes over."""
    create_topic(bootstrap, "shifts", 2)
    return asyncio.run(_aiokafka_group(bootstrap))


async def _aiokafka_group(bootstrap: str) -> Seen:
    def member() -> Any:
        return _aiokafka_consumer(bootstrap, "shifts", "workers", heartbeat_interval_ms=200)

    seen: Seen = []
    async with asyncio.timeout(SECONDS):
        first, second = member(), member()
        await first.start()
        await until_assigned(first, 2)
        await second.start()
        await until_assigned(first, 1)
        await until_assigned(second, 1)
        seen.append(("shared", len(first.assignment()), len(second.assignment())))
        await second.stop()
        await until_assigned(first, 2)
        async with aiokafka.AIOKafkaProducer(bootstrap_servers=bootstrap) as producer:
            for partition in range(2):
                await producer.send_and_wait("shifts", b"night", partition=partition)
        found = [(await first.getone()).partition for _ in range(2)]
        await first.stop()
    return [*seen, ("read", sorted(found))]


async def until_assigned(consumer: Any, count: int) -> None:
    """Fetch until a member has this many partitions."""
    while len(consumer.assignment()) != count:
        await consumer.getmany(timeout_ms=50)


def confluent_group(bootstrap: str) -> Seen:
    """Share a topic between two members of a KIP-848 group; one leaves, the other takes over."""
    create_topic(bootstrap, "rounds", 2)
    first, second = (
        consumer_of(bootstrap, "wardens", **_NO_METRICS, group_protocol="consumer")
        for _ in range(2)
    )
    first.subscribe(["rounds"])
    poll_until_assigned({first: 2})
    second.subscribe(["rounds"])
    poll_until_assigned({first: 1, second: 1})
    seen: Seen = [("shared", len(first.assignment()), len(second.assignment()))]
    second.close()
    poll_until_assigned({first: 2})
    producer = producer_of(bootstrap, **_NO_METRICS)
    for partition in range(2):
        producer.produce("rounds", b"all quiet", partition=partition)
    flush(producer)
    partitions = {message.partition() for message in read(first, 2)}
    first.close()
    return [*seen, ("read", partitions)]


def poll_until_assigned(members: Mapping[Consumer, int]) -> None:
    """Poll until each member has this many partitions."""

    def are_assigned() -> bool:
        for member in members:
            assert member.poll(0.05) is None
        return all(len(member.assignment()) == count for member, count in members.items())

    wait_until(are_assigned, "every member has its partitions")


def share_group(bootstrap: str) -> Seen:
    """Produce, and read with Kafka's own tools in a share group (KIP-932)."""
    create_topic(bootstrap, "parcels", 1)
    producer = producer_of(bootstrap, **_NO_METRICS)
    for number in range(5):
        producer.produce("parcels", f"parcel {number}".encode(), partition=0)
    flush(producer)
    printed = read_in_share_group(bootstrap, "parcels", "couriers", 5)
    return [(line,) for line in printed.splitlines() if line.startswith("parcel")]
