"""Tests confluent-kafka with a cassette, without a broker.

`pytest --kafka-record --kafka-bootstrap HOST:PORT` records the cassette again.
"""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from kraftwire.pytest_plugin.cassettes import KafkaCassette

ORDERS = {b"1": b"two teapots", b"2": b"a kettle"}
POLLS = 200


def place_orders(bootstrap: str) -> None:
    """The code under test: creates the topic and produces to it."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic("orders", 1, 1)])["orders"].result(10)
    producer = Producer({"bootstrap.servers": bootstrap})
    for number, order in ORDERS.items():
        producer.produce("orders", order, number)
    assert producer.flush(10) == 0


def read_orders(bootstrap: str, protocol: str) -> dict[bytes, bytes]:
    """The code under test: reads the topic in a group."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"kitchen-{protocol}",
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe(["orders"])
    found: dict[bytes, bytes] = {}
    for _ in range(POLLS):
        message = consumer.poll(0.1)
        if message is not None and message.error() is None:
            found[message.key() or b""] = message.value() or b""
        if len(found) == len(ORDERS):
            break
    consumer.close()
    return found


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@pytest.mark.kafka_cassette(ignore=["CreateTopicsRequest.timeout_ms"])
def test_orders_come_back(kafka_cassette: KafkaCassette, protocol: str) -> None:
    place_orders(kafka_cassette.bootstrap)
    assert read_orders(kafka_cassette.bootstrap, protocol) == ORDERS
