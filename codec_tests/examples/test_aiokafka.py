"""Tests aiokafka with a cassette, without a broker.

`pytest --kafka-record --kafka-bootstrap HOST:PORT` records the cassette again.
"""

from __future__ import annotations

import asyncio

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from kraftwire.pytest_plugin.cassettes import KafkaCassette


async def send_greetings(bootstrap: str, count: int) -> list[int]:
    """The code under test: creates the topic, produces to it and returns the offsets."""
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    await admin.create_topics([NewTopic("greetings", 1, 1)])
    await admin.close()
    async with AIOKafkaProducer(bootstrap_servers=bootstrap) as producer:
        places = [
            await producer.send_and_wait("greetings", f"hello {number}".encode())
            for number in range(count)
        ]
    return [place.offset for place in places]


async def read_greetings(bootstrap: str, count: int) -> list[bytes]:
    """The code under test: reads the topic in a group."""
    consumer = AIOKafkaConsumer(
        "greetings",
        bootstrap_servers=bootstrap,
        group_id="guests",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    async with consumer:
        found = [(await consumer.getone()).value for _ in range(count)]
        await consumer.commit()
    return found


def test_greetings_come_back(kafka_cassette: KafkaCassette) -> None:
    async def run() -> tuple[list[int], list[bytes]]:
        async with asyncio.timeout(20):
            offsets = await send_greetings(kafka_cassette.bootstrap, 3)
            return offsets, await read_greetings(kafka_cassette.bootstrap, 3)

    offsets, found = asyncio.run(run())
    assert offsets == [0, 1, 2]
    assert found == [b"hello 0", b"hello 1", b"hello 2"]
