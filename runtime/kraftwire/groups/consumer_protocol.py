"""Bytes that members of the classic protocol send: subscriptions and assignments.

The coordinator stores these bytes without reading them. If the protocol type is `consumer`, they
are those of Kafka's consumers. Clients may write anything, so bytes that cannot be decoded stay
bytes, without an error.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from kraftwire.groups.state import AssignedPartitions, Assignment
from kraftwire_messages.kafka import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.forms import INT16
from kraftwire_wire.records import decode_prefixed, read_prefix

CONSUMER_PROTOCOL = "consumer"
_NEWEST_SUBSCRIPTION = ConsumerProtocolSubscription.VALID_VERSIONS[-1]


class Subscription(NamedTuple):
    """The topics that a member asks for, and the partitions that it owned."""

    topics: tuple[str, ...]
    owned: Assignment
    rack_id: str | None


class _NamedTopic(Protocol):
    topic: str
    partitions: list[int]


def decode_subscription(data: bytes) -> Subscription | None:
    """Return a consumer's subscription, or None if the bytes are not one.

    Many clients announce a version and leave out its last fields, mostly the owned partitions
    of version 1. Coordinators read the topics anyway.
    """
    try:
        announced, body = read_prefix(data, "version"), data[INT16.size :]
    except KraftwireError:
        return None
    for version in range(min(announced, _NEWEST_SUBSCRIPTION), -1, -1):
        try:
            found = ConsumerProtocolSubscription.decode(body, version)
        except KraftwireError:
            continue
        return Subscription(tuple(found.topics), _by_name(found.owned_partitions), found.rack_id)
    return None


def decode_assignment(data: bytes) -> Assignment | None:
    """Return a consumer's assignment, or None if the bytes are not one.

    Empty bytes are an empty assignment: the group's leader has not sent one.
    """
    if not data:
        return ()
    try:
        message = decode_prefixed(ConsumerProtocolAssignment, data).message
    except KraftwireError:
        return None
    assert isinstance(message, ConsumerProtocolAssignment)
    return _by_name(message.assigned_partitions)


def _by_name(topics: Iterable[_NamedTopic]) -> Assignment:
    return tuple(AssignedPartitions(tuple(topic.partitions), topic=topic.topic) for topic in topics)
