"""Reads topics with librdkafka's consumer, as records that tests can compare."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import NamedTuple

from confluent_kafka import (
    OFFSET_BEGINNING,
    TIMESTAMP_LOG_APPEND_TIME,
    Consumer,
    KafkaError,
    Message,
    TopicPartition,
)

from codec_tests.interop.clients import QUIET, SECONDS
from codec_tests.interop.kafka_server import KafkaCluster


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


def position(seen: Seen) -> tuple[str, int, int]:
    """Return what records are sorted by."""
    return seen[:3]


def consume_all(
    cluster: KafkaCluster, topics: Mapping[str, int], isolation: str = "read_uncommitted"
) -> list[Seen]:
    """Return what librdkafka's consumer reads up to the ends of all partitions, in order.

    `topics` has the number of partitions of each topic.
    """
    settings = {
        "bootstrap.servers": cluster.bootstrap,
        "group.id": "nobody",
        "isolation.level": isolation,
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "check.crcs": True,
        # A missing offset must be an error, not the end of the partition.
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
            assert time.monotonic() < end, f"the consumer did not reach the ends of {unread}"
            for message in consumer.consume(1000, 0.2):
                error = message.error()
                if error is None:
                    found.append(_seen(message))
                else:
                    assert error.code() == KafkaError._PARTITION_EOF, error
                    unread.discard((str(message.topic()), message.partition() or 0))
    finally:
        consumer.close()
    return sorted(found, key=position)


def _seen(message: Message) -> Seen:
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
