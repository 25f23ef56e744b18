"""Programs that run against a real Kafka, and then against a replay of the recording.

Each takes the address of a broker and returns what it saw, except what differs between runs. They
poll until an expected state is reached and never sleep for a fixed time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import aiokafka
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from codec_tests.interop.kafka_session import read_in_share_group
from codec_tests.interop.kafka_tools import run_tool

SECONDS = 30
_QUIET = {"log_level": 0, "enable.metrics.push": False}

Seen = list[tuple[Any, ...]]


def create_topic(
    bootstrap: str,
    topic: str,
    partitions: int = 2,
    login: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Create a topic and wait until the broker knows it."""
    admin = AdminClient({**_QUIET, **login, "bootstrap.servers": bootstrap})
    for future in admin.create_topics([NewTopic(topic, partitions, 1)]).values():
        future.result(SECONDS)
    end = time.monotonic() + SECONDS
    while len(admin.list_topics(topic, SECONDS).topics[topic].partitions) < partitions:
        assert time.monotonic() < end, f"{topic} was made, and is not there"


def confluent_session(
    bootstrap: str, protocol: str, login: Mapping[str, Any] = MappingProxyType({})
) -> Seen:
    """Create a topic, produce with a callback, consume in a group, and commit."""
    topic = f"orders-{protocol}-{login.get('sasl.mechanism', '')}"
    create_topic(bootstrap, topic, login=login)
    producer = Producer(
        {**_QUIET, **login, "bootstrap.servers": bootstrap, "enable.idempotence": True}
    )
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
    assert producer.flush(SECONDS) == 0
    consumer = Consumer(
        {
            **_QUIET,
            **login,
            "bootstrap.servers": bootstrap,
            "group.id": f"readers-{protocol}",
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([topic])
    read: Seen = []
    end = time.monotonic() + SECONDS
    while len(read) < 6:
        assert time.monotonic() < end, f"only {read}"
        message = consumer.poll(0.1)
        if message is None:
            continue
        if message.error() is not None:
            raise KafkaException(message.error())
        read.append((message.partition(), message.offset(), message.key(), message.value()))
    consumer.commit(asynchronous=False)
    committed = consumer.committed(consumer.assignment(), timeout=SECONDS)
    offsets: Seen = [("committed", one.partition, one.offset) for one in committed]
    consumer.close()
    return sorted(placed) + sorted(read) + sorted(offsets)


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
    producer = aiokafka.AIOKafkaProducer(bootstrap_servers=bootstrap)
    await producer.start()
    seen: Seen = []
    try:
        for number in range(4):
            place = await producer.send_and_wait(
                "events", f"event {number}".encode(), partition=number % 2
            )
            seen.append(("placed", place.partition, place.offset))
    finally:
        await producer.stop()
    consumer = aiokafka.AIOKafkaConsumer(
        "events",
        bootstrap_servers=bootstrap,
        group_id="watchers",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    await consumer.start()
    read: Seen = []
    try:
        async with asyncio.timeout(SECONDS):
            while len(read) < 4:
                message = await consumer.getone()
                read.append((message.partition, message.offset, message.value))
        await consumer.commit()
    finally:
        await consumer.stop()
    return sorted(seen) + sorted(read)


def warm_up(bootstrap: str) -> None:
    """Use a group and a producer id: for the first of each a broker creates internal topics."""
    create_topic(bootstrap, "warm-up", 1)
    producer = Producer({**_QUIET, "bootstrap.servers": bootstrap, "enable.idempotence": True})
    producer.produce("warm-up", b"warm")
    assert producer.flush(SECONDS) == 0
    settings = {"group.id": "warm-up", "auto.offset.reset": "earliest"}
    consumer = Consumer({**_QUIET, **settings, "bootstrap.servers": bootstrap})
    consumer.subscribe(["warm-up"])
    end = time.monotonic() + SECONDS
    while consumer.poll(0.1) is None:
        assert time.monotonic() < end, "no group came to be"
    consumer.close()


def java_session(bootstrap: str, protocol: str = "classic") -> Seen:
    """Create a topic, produce and consume in a group with Kafka's own tools."""
    topic = f"java-{protocol}"
    create_topic(bootstrap, topic, 1)
    where = ["--bootstrap-server", bootstrap, "--topic", topic]
    run_tool("ConsoleProducer", *where, text="one\ntwo\nthree\n")
    group = ["--group", f"java-{protocol}", "--command-property", f"group.protocol={protocol}"]
    limits = ["--from-beginning", "--max-messages", "3", "--timeout-ms", str(SECONDS * 1000)]
    read = run_tool("consumer.ConsoleConsumer", *where, *group, *limits)
    return [(line,) for line in read.splitlines() if line in ("one", "two", "three")]


def transactions(bootstrap: str) -> Seen:
    """Abort a transaction, commit another with offsets, and read them with isolation."""
    create_topic(bootstrap, "payments", 1)
    consumer = Consumer(
        {
            **_QUIET,
            "bootstrap.servers": bootstrap,
            "group.id": "payers",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
        }
    )
    producer = Producer(
        {**_QUIET, "bootstrap.servers": bootstrap, "transactional.id": "payments-1"}
    )
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
    read: Seen = []
    end = time.monotonic() + SECONDS
    while not read:
        assert time.monotonic() < end, "nothing was committed"
        message = consumer.poll(0.1)
        if message is not None and message.error() is None:
            read.append((message.offset(), message.value()))
    consumer.close()
    return read


def aiokafka_group(bootstrap: str) -> Seen:
    """Share a topic between two members of a classic group; one leaves, the other takes over."""
    create_topic(bootstrap, "shifts", 2)
    return asyncio.run(_aiokafka_group(bootstrap))


async def _aiokafka_group(bootstrap: str) -> Seen:
    def member() -> Any:
        return aiokafka.AIOKafkaConsumer(
            "shifts",
            bootstrap_servers=bootstrap,
            group_id="workers",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            heartbeat_interval_ms=200,
        )

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
        read = [(await first.getone()).partition for _ in range(2)]
        await first.stop()
    return [*seen, ("read", sorted(read))]


async def until_assigned(consumer: Any, count: int) -> None:
    """Fetch until a member has this many partitions."""
    while len(consumer.assignment()) != count:
        await consumer.getmany(timeout_ms=50)


def confluent_group(bootstrap: str) -> Seen:
    """Share a topic between two members of a KIP-848 group; one leaves, the other takes over."""
    create_topic(bootstrap, "rounds", 2)
    settings = {"group.id": "wardens", "group.protocol": "consumer", "enable.auto.commit": False}
    settings |= {**_QUIET, "bootstrap.servers": bootstrap, "auto.offset.reset": "earliest"}
    first, second = Consumer(settings), Consumer(settings)
    first.subscribe(["rounds"])
    poll_until_assigned({first: 2})
    second.subscribe(["rounds"])
    poll_until_assigned({first: 1, second: 1})
    seen: Seen = [("shared", len(first.assignment()), len(second.assignment()))]
    second.close()
    poll_until_assigned({first: 2})
    producer = Producer({**_QUIET, "bootstrap.servers": bootstrap})
    for partition in range(2):
        producer.produce("rounds", b"all quiet", partition=partition)
    assert producer.flush(SECONDS) == 0
    read: list[int | None] = []
    end = time.monotonic() + SECONDS
    while len(read) < 2:
        assert time.monotonic() < end, f"only {read}"
        message = first.poll(0.1)
        if message is not None and message.error() is None:
            read.append(message.partition())
    first.close()
    return [*seen, ("read", set(read))]


def poll_until_assigned(members: Mapping[Consumer, int]) -> None:
    """Poll until each member has this many partitions."""
    end = time.monotonic() + SECONDS
    while any(len(member.assignment()) != count for member, count in members.items()):
        assert time.monotonic() < end, [len(member.assignment()) for member in members]
        for member in members:
            assert member.poll(0.05) is None


def share_group(bootstrap: str) -> Seen:
    """Produce, and read with Kafka's own tools in a share group (KIP-932)."""
    create_topic(bootstrap, "parcels", 1)
    producer = Producer({**_QUIET, "bootstrap.servers": bootstrap})
    for number in range(5):
        producer.produce("parcels", f"parcel {number}".encode(), partition=0)
    assert producer.flush(SECONDS) == 0
    read = read_in_share_group(bootstrap, "parcels", "couriers", 5)
    return [(line,) for line in read.splitlines() if line.startswith("parcel")]
