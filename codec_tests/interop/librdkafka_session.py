"""A session of librdkafka with its own mock brokers, through a recording proxy.

One client owns a mock cluster of three brokers (`test.mock.num.brokers`). Others produce,
consume, join groups, run transactions and administer it at the same time. Each scenario has its own
topics and groups, so that the order of threads does not matter.
The scenarios of `LEVELS` do the same things in older and older versions.

Scenarios never sleep; they poll until a condition holds, and fail at a deadline. Most of the
session's time is the mock's fixed delay of three seconds before the first rebalance of a classic
group.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaException,
    Message,
    Producer,
    ShareConsumer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

from kraftwire.capture.frame import Frame

from codec_tests.interop.recording_proxy import NEWEST, RecordingProxy, Route

BROKERS = 3
PARTITIONS = 4  # of a topic that the mock creates
LEVELS = range(13)  # Fetch has the most versions: 4 to 16
TRANSACTION_LEVELS = range(5)
COMPRESSIONS = ("none", "gzip", "snappy", "lz4", "zstd")

DEADLINE_SECONDS = 30

PRODUCE, METADATA, FIND_COORDINATOR, HEARTBEAT, PUSH_TELEMETRY = 0, 3, 10, 12, 72

PLAIN_METADATA = {METADATA: 8}
"""Later Metadata responses of the mock are malformed; see `librdkafka_quirks`."""

QUIET = {"log_level": 0, "enable.metrics.push": False}


def record_session() -> list[Frame]:
    """Run the whole session and return the recorded frames in order."""
    with mock_cluster() as brokers, RecordingProxy(brokers) as proxy:
        drive(proxy)
        frames = list(proxy.frames)
    assert not proxy.failures, proxy.failures
    return frames


@contextmanager
def mock_cluster() -> Iterator[list[tuple[str, int]]]:
    """Start mock brokers, which live as long as their client, and yield their addresses."""
    owner = Producer({**QUIET, "test.mock.num.brokers": BROKERS})
    brokers = owner.list_topics(timeout=DEADLINE_SECONDS).brokers
    yield [(broker.host, broker.port) for _, broker in sorted(brokers.items())]
    owner.flush(0)


def drive(proxy: RecordingProxy) -> None:
    """Run every scenario at the same time; raise the first failure."""
    scenarios: list[Callable[[], None]] = [
        *(partial(drive_level, proxy, level) for level in LEVELS),
        *(partial(drive_transactions, proxy, level) for level in TRANSACTION_LEVELS),
        partial(drive_rebalance, proxy, "range", {}),
        partial(drive_rebalance, proxy, "cooperative-sticky", {}),
        partial(drive_rebalance, proxy, "roundrobin", {"group.instance.id": "static-member"}),
        partial(drive_consumer_protocol, proxy),
        partial(drive_share_group, proxy),
        partial(drive_producers, proxy),
        partial(drive_admin, proxy),
        partial(drive_telemetry, proxy),
        partial(drive_without_api_versions, proxy),
    ]
    with ThreadPoolExecutor(len(scenarios)) as pool:
        for running in [pool.submit(scenario) for scenario in scenarios]:
            running.result(2 * DEADLINE_SECONDS)


def drive_level(proxy: RecordingProxy, level: int) -> None:
    """Produce, consume in a classic group, and query and commit offsets in older versions."""
    exceptions = {
        PRODUCE: produce_level(level),
        METADATA: level if level < 9 else level + 1,  # Fetch 13 needs topic ids: Metadata 10
    }
    route = proxy.listen(level, exceptions)
    topic = f"orders-{level}"
    produce(route, topic, 12, {"enable.idempotence": True})
    consumer = Consumer(group_settings(route, f"readers-{level}"))
    consumer.subscribe([topic])
    messages = consume(consumer, 12)
    consumer.commit(asynchronous=False)
    assigned = consumer.assignment()
    consumer.committed(assigned, timeout=DEADLINE_SECONDS)
    times = [TopicPartition(part.topic, part.partition, 1) for part in assigned]
    consumer.offsets_for_times(times, timeout=DEADLINE_SECONDS)
    consumer.get_watermark_offsets(assigned[0], timeout=DEADLINE_SECONDS)
    poll_until(consumer, lambda: route.has_seen(HEARTBEAT))
    validate_position(consumer, messages[-1])
    consumer.close()


def validate_position(consumer: Consumer, message: Message) -> None:
    """Seek to a message by offset and leader epoch, which the client validates first."""
    epoch = message.leader_epoch()  # None before Metadata 7
    where: Any = message.topic(), message.partition(), message.offset(), ""
    place: Callable[..., TopicPartition] = TopicPartition  # its stub lacks the epoch
    consumer.seek(place(*where, -1 if epoch is None else epoch))
    consume(consumer, 1)


def drive_transactions(proxy: RecordingProxy, level: int) -> None:
    """Commit a transaction with messages and offsets, and abort another."""
    newest = level == TRANSACTION_LEVELS[-1]
    # FindCoordinator 0 cannot ask for the coordinator of a transaction.
    exceptions = {
        **PLAIN_METADATA,
        PRODUCE: produce_level(level),
        FIND_COORDINATOR: max(level, 1),
    }
    route = proxy.listen(NEWEST if newest else level, exceptions)
    topic = f"payments-{level}"
    consumer = Consumer(group_settings(route, f"payers-{level}"))
    producer = Producer({**settings(route), "transactional.id": f"transaction-{level}"})
    producer.init_transactions(DEADLINE_SECONDS)
    producer.begin_transaction()
    producer.produce(topic, b"paid", b"invoice-1", partition=0)
    producer.flush(DEADLINE_SECONDS)
    producer.send_offsets_to_transaction(
        [TopicPartition(topic, 0, 1)], consumer.consumer_group_metadata(), DEADLINE_SECONDS
    )
    producer.commit_transaction(DEADLINE_SECONDS)
    producer.begin_transaction()
    producer.produce(topic, b"refused", b"invoice-2", partition=0)
    producer.flush(DEADLINE_SECONDS)
    producer.abort_transaction(DEADLINE_SECONDS)
    consumer.assign([TopicPartition(topic, 0, 0)])
    consume(consumer, 1)
    consumer.close()


def drive_rebalance(proxy: RecordingProxy, strategy: str, more: dict[str, Any]) -> None:
    """Let a second member join a classic group and leave it."""
    route = proxy.listen(exceptions=PLAIN_METADATA)
    topic = f"sensors-{strategy}"
    produce(route, topic, 4)
    group = {
        **group_settings(route, f"watchers-{strategy}"),
        "partition.assignment.strategy": strategy,
        "session.timeout.ms": 4500,  # the mock gives members a second less to join again
    }
    first, second = Consumer({**group, **more}), Consumer(group)
    first.subscribe([topic])
    poll_until(first, lambda: len(first.assignment()) == PARTITIONS)
    second.subscribe([topic])
    poll_until(first, lambda: bool(second.poll(0.02) or second.assignment()))
    second.close()
    poll_until(first, lambda: len(first.assignment()) == PARTITIONS)
    first.close()


def drive_consumer_protocol(proxy: RecordingProxy) -> None:
    """Consume in a KIP-848 group."""
    route = proxy.listen()
    produce(route, "clicks", 4)
    consumer = Consumer(
        {
            **settings(route),
            "group.id": "clickers",
            "group.protocol": "consumer",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe(["clicks"])
    consume(consumer, 4)
    consumer.commit(asynchronous=False)
    consumer.close()


def drive_share_group(proxy: RecordingProxy) -> None:
    """Consume in a share group (KIP-932); members read only what is produced after they join."""
    route = proxy.listen()
    produce(route, "jobs", 1)
    consumer = ShareConsumer(
        {**settings(route), "group.id": "workers", "share.acknowledgement.mode": "explicit"}
    )
    consumer.subscribe(["jobs"])
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not (messages := list(consumer.poll(0.2))):
        assert time.monotonic() < deadline, "the share group got no messages"
        produce(route, "jobs", 4)
    for message in messages:
        consumer.acknowledge(message)
    consumer.commit_sync(DEADLINE_SECONDS)
    consumer.close()


def drive_producers(proxy: RecordingProxy) -> None:
    """Produce with every compression, large and small messages, headers, and without
    acknowledgements.
    """
    route = proxy.listen(exceptions=PLAIN_METADATA)
    for compression in COMPRESSIONS:
        produce(route, f"logs-{compression}", 300, {"compression.type": compression})
    produce(route, "unacknowledged", 3, {"acks": 0})


def drive_admin(proxy: RecordingProxy) -> None:
    """Send the admin requests that the mock supports."""
    route = proxy.listen(exceptions={METADATA: 9})
    produce(route, "inventory", 4)
    admin = AdminClient(settings(route))
    admin.list_topics("inventory", timeout=DEADLINE_SECONDS)
    admin.list_topics(timeout=DEADLINE_SECONDS)
    partition = TopicPartition("inventory", 0)
    committed = ConsumerGroupTopicPartitions("auditors", [TopicPartition("inventory", 0, 1)])
    asked = ConsumerGroupTopicPartitions("auditors", [partition])
    futures = [
        *admin.list_offsets({partition: OffsetSpec.earliest()}).values(),  # type: ignore[no-untyped-call]
        *admin.list_offsets({partition: OffsetSpec.max_timestamp()}).values(),  # type: ignore[no-untyped-call]
        *admin.alter_consumer_group_offsets([committed]).values(),
        *admin.list_consumer_group_offsets([asked]).values(),
    ]
    for future in futures:
        future.result(DEADLINE_SECONDS)


def drive_telemetry(proxy: RecordingProxy) -> None:
    """Push client metrics (KIP-714)."""
    route = proxy.listen(exceptions=PLAIN_METADATA)
    producer = Producer({**settings(route), "enable.metrics.push": True})
    producer.produce("measured", b"metrics follow")
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not route.has_seen(PUSH_TELEMETRY):
        assert time.monotonic() < deadline, "the client pushed no metrics"
        producer.poll(0.05)
    producer.flush(DEADLINE_SECONDS)


def drive_without_api_versions(proxy: RecordingProxy) -> None:
    """Connect a client that assumes Kafka 0.9, which has no ApiVersions."""
    legacy = {"api.version.request": False, "broker.version.fallback": "0.9.0"}
    client = Producer({**settings(proxy.listen()), **legacy})
    client.list_topics(timeout=DEADLINE_SECONDS)


def produce_level(level: int) -> int:
    """Map a level to Produce versions without 5: nobody can read the mock's response."""
    return level if level < 2 else level + 1


def settings(route: Route) -> dict[str, Any]:
    """Return the settings of all clients."""
    return {**QUIET, "bootstrap.servers": route.bootstrap}


def group_settings(route: Route, group: str) -> dict[str, Any]:
    """Return the settings of a classic group member that reads from the start and commits
    explicitly.
    """
    return {
        **settings(route),
        "group.id": group,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "heartbeat.interval.ms": 100,
        "fetch.wait.max.ms": 100,
    }


def produce(route: Route, topic: str, count: int, more: dict[str, Any] | None = None) -> None:
    """Produce messages round robin to the partitions of a topic, and wait for delivery."""
    producer = Producer({**settings(route), "linger.ms": 20, **(more or {})})
    failures: list[Any] = []

    def report(error: Any, _: Message) -> None:
        if error is not None:
            failures.append(error)

    for number in range(count):
        producer.produce(
            topic,
            f"message {number} of {topic}; ".encode() * (1 + number % 7),
            f"key-{number}".encode(),
            partition=number % PARTITIONS,
            headers=[("number", str(number).encode()), ("empty", None)],
            on_delivery=report,
        )
    left = producer.flush(DEADLINE_SECONDS)
    assert not failures, failures
    assert left == 0


def consume(consumer: Consumer, count: int) -> list[Message]:
    """Return the next messages."""
    messages: list[Message] = []

    def take(message: Message) -> None:
        if message.error() is not None:
            raise KafkaException(message.error())
        messages.append(message)

    poll_until(consumer, lambda: len(messages) >= count, take)
    return messages


def poll_until(
    consumer: Consumer, done: Callable[[], bool], take: Callable[[Message], None] | None = None
) -> None:
    """Poll a consumer until a condition holds."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not done():
        assert time.monotonic() < deadline, "a consumer waited too long"
        message = consumer.poll(0.05)
        if message is not None and take is not None:
            take(message)
