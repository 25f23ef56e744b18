"""Records of classic groups, made up."""

from __future__ import annotations

from kraftwire_messages.kafka import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    GroupMetadataKey,
    GroupMetadataValue,
)
from kraftwire_wire.records import encode_prefixed

KEY = GroupMetadataKey(group="g")


def subscription(*topics: str, version: int = 3) -> bytes:
    message = ConsumerProtocolSubscription(topics=list(topics))
    if version >= 3:
        message.rack_id = "r1"
        owned = ConsumerProtocolSubscription.TopicPartition(topic="tea", partitions=[1])
        message.owned_partitions = [owned]
    return encode_prefixed(message, version)


def assignment(**topics: list[int]) -> bytes:
    parts = [
        ConsumerProtocolAssignment.TopicPartition(topic=name, partitions=partitions)
        for name, partitions in topics.items()
    ]
    return encode_prefixed(ConsumerProtocolAssignment(assigned_partitions=parts), 3)


def member(
    name: str, assigned: bytes = b"", wants: bytes | None = None
) -> GroupMetadataValue.MemberMetadata:
    return GroupMetadataValue.MemberMetadata(
        member_id=name,
        group_instance_id=None,
        client_id="cup",
        client_host="/host",
        rebalance_timeout=300,
        session_timeout=45,
        subscription=subscription("tea") if wants is None else wants,
        assignment=assigned,
    )


def value(
    generation: int, *members: GroupMetadataValue.MemberMetadata, kind: str = "consumer"
) -> GroupMetadataValue:
    return GroupMetadataValue(
        protocol_type=kind,
        generation=generation,
        protocol="range" if members else None,
        leader=members[0].member_id if members else None,
        current_state_timestamp=99,
        members=list(members),
    )
