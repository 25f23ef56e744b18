"""Records of consumer, share and streams groups, made up."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from kraftwire.groups import AssignedPartitions
from kraftwire_messages import kafka
from kraftwire_messages.kafka import registry
from kraftwire_wire.message import Message

from codec_tests.groups.building import Log, kinds

TEA, CUPS = UUID(int=1), UUID(int=2)
STABLE = {"Consumer": 0, "Share": 0, "Streams": 1}
"""What Kafka 4.4 writes for a member that has what it is to have."""


def make(name: str, **fields: Any) -> Message:
    return registry.message(name)(**fields)


def key(kind: str, what: str, member: str | None = None) -> Message:
    fields = {"group_id": "g"} | ({"member_id": member} if member else {})
    return make(f"{kind}Group{what}Key", **fields)


def value(kind: str, what: str, **fields: Any) -> Message:
    return make(f"{kind}Group{what}Value", **fields)


def partitions(kind: str, where: str, numbers: list[int], name: str = "TopicPartitions") -> Any:
    """Partitions of tea, or tasks of one subtopology, as a message wants them."""
    message: Any = registry.message(f"{kind}Group{where}Value")
    if kind == "Streams":
        return [message.TaskIds(subtopology_id="s", partitions=numbers)]
    return [getattr(message, name)(topic_id=TEA, partitions=numbers)]


def assigned(kind: str, *numbers: int) -> tuple[AssignedPartitions, ...]:
    if kind == "Streams":
        return (AssignedPartitions(numbers, subtopology="s", role="active"),)
    return (AssignedPartitions(numbers, topic_id=TEA),)


def join(log: Log, kind: str, member: str = "m", epoch: int = 2) -> list[str]:
    """Let a member join: the records that Kafka writes, in their order."""
    wants = {} if kind == "Streams" else {"subscribed_topic_names": ["tea"]}
    what = "active_tasks" if kind == "Streams" else "topic_partitions"
    has = "active_tasks" if kind == "Streams" else "assigned_partitions"
    target = partitions(kind, "TargetAssignmentMember", [0, 1], "TopicPartition")
    current = partitions(kind, "CurrentMemberAssignment", [0, 1])
    events = []
    for part, made in (
        ("MemberMetadata", {"client_id": "cup", "client_host": "/h", "rack_id": "r", **wants}),
        ("Metadata", {"epoch": epoch, "metadata_hash": 9}),
        ("TargetAssignmentMember", {what: target}),
        ("TargetAssignmentMetadata", {"assignment_epoch": epoch, "assignment_timestamp": 5}),
        ("CurrentMemberAssignment", {"member_epoch": epoch, "state": STABLE[kind], has: current}),
    ):
        of_member = member if part not in ("Metadata", "TargetAssignmentMetadata") else None
        events += log.put(key(kind, part, of_member), value(kind, part, **made))
    if kind == "Streams":
        topology = kafka.StreamsGroupTopologyValue(epoch=1)
        events += log.put(kafka.StreamsGroupTopologyKey(group_id="g"), topology)
    return kinds(events)


def leave(log: Log, kind: str, member: str = "m") -> list[str]:
    events = []
    for part in ("CurrentMemberAssignment", "TargetAssignmentMember", "MemberMetadata"):
        events += log.put(key(kind, part, member), None)
    return kinds(events)
