"""Records of a metadata log in the proportions of a busy cluster, for `bench.spark`."""

from __future__ import annotations

import random
from uuid import UUID

from kraftwire_messages.kafka import (
    BrokerRegistrationChangeRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    TopicRecord,
)
from kraftwire_wire.message import Message
from kraftwire_wire.records import encode_metadata_record

_KINDS = 2000


def metadata_values() -> list[bytes]:
    """Values of records: changes of partitions most of all, then partitions and topics."""
    chance = random.Random(3)
    return [
        encode_metadata_record(message, type(message).VALID_VERSIONS[-1])
        for message in (_message(chance, number) for number in range(_KINDS))
    ]


def _message(chance: random.Random, number: int) -> Message:
    topic = UUID(int=chance.getrandbits(128))
    kind, partition = number % 10, number % 50
    if kind < 4:
        return PartitionChangeRecord(
            partition_id=partition, topic_id=topic, leader=chance.randrange(5), isr=[1, 2, 3]
        )
    if kind < 7:
        return PartitionRecord(
            partition_id=partition,
            topic_id=topic,
            replicas=[1, 2, 3],
            isr=[1, 2, 3],
            leader=1,
            directories=[topic] * 3,
        )
    if kind == 7:
        return TopicRecord(name=f"topic-{number}", topic_id=topic)
    if kind == 8:
        return BrokerRegistrationChangeRecord(broker_id=number % 9, broker_epoch=number)
    return NoOpRecord()
