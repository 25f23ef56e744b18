"""Topics and their partitions, and what records do to them.

As in Kafka's PartitionRegistration.merge, every change of a partition raises its partition epoch.
The leader epoch goes up if a record names a leader, even the same one. A null field changes nothing
(KIP-500, KIP-858 for directories, KIP-966 for eligible leader replicas).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from kraftwire.metadata.errors import CannotApply
from kraftwire_messages.kafka import (
    ClearElrRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from kraftwire_wire.uuids import format_uuid

NO_LEADER_CHANGE = -2
_NO_RECOVERY_CHANGE = -1
_MIGRATING = UUID(int=0)
"""Kafka's placeholder for the unknown directory of a replica."""

Ids = tuple[int, ...]


@dataclass(slots=True)
class PartitionRegistration:
    """The replicas of a partition, its leader and its in-sync replicas."""

    replicas: Ids
    isr: Ids
    removing_replicas: Ids
    adding_replicas: Ids
    leader: int
    leader_epoch: int
    partition_epoch: int
    leader_recovery_state: int
    directories: tuple[UUID, ...]
    eligible_leader_replicas: Ids
    last_known_elr: Ids

    @classmethod
    def of(cls, record: PartitionRecord) -> PartitionRegistration:
        return cls(
            replicas=tuple(record.replicas),
            isr=tuple(record.isr),
            removing_replicas=tuple(record.removing_replicas),
            adding_replicas=tuple(record.adding_replicas),
            leader=record.leader,
            leader_epoch=record.leader_epoch,
            partition_epoch=record.partition_epoch,
            leader_recovery_state=record.leader_recovery_state,
            directories=_directories(record.directories, len(record.replicas)),
            eligible_leader_replicas=tuple(record.eligible_leader_replicas or ()),
            last_known_elr=tuple(record.last_known_elr or ()),
        )

    def change(self, record: PartitionChangeRecord) -> None:
        if record.replicas is not None:
            self.replicas = tuple(record.replicas)
        if record.directories is not None:
            self.directories = _directories(record.directories, len(self.replicas))
        if record.isr is not None:
            self.isr = tuple(record.isr)
        if record.removing_replicas is not None:
            self.removing_replicas = tuple(record.removing_replicas)
        if record.adding_replicas is not None:
            self.adding_replicas = tuple(record.adding_replicas)
        if record.eligible_leader_replicas is not None:
            self.eligible_leader_replicas = tuple(record.eligible_leader_replicas)
        if record.last_known_elr is not None:
            self.last_known_elr = tuple(record.last_known_elr)
        if record.leader != NO_LEADER_CHANGE:
            self.leader = record.leader
            self.leader_epoch += 1
        if record.leader_recovery_state != _NO_RECOVERY_CHANGE:
            self.leader_recovery_state = record.leader_recovery_state
        self.partition_epoch += 1

    def clear_elr(self) -> None:
        """Remove the eligible leader replicas, if there are any."""
        if self.eligible_leader_replicas or self.last_known_elr:
            self.eligible_leader_replicas = self.last_known_elr = ()
            self.partition_epoch += 1


@dataclass(slots=True)
class TopicImage:
    """A topic and its partitions."""

    name: str
    id: UUID
    partitions: dict[int, PartitionRegistration] = field(default_factory=dict)


@dataclass(slots=True)
class Topics:
    """All topics, by id and by name."""

    by_id: dict[UUID, TopicImage] = field(default_factory=dict)
    _ids: dict[str, UUID] = field(default_factory=dict, compare=False)

    def named(self, name: str) -> TopicImage | None:
        """Return the topic with a name, if it exists."""
        topic_id = self._ids.get(name)
        return None if topic_id is None else self.by_id.get(topic_id)

    def topic(self, topic_id: UUID) -> TopicImage:
        """Return the topic with an id; raise `CannotApply` if it does not exist."""
        topic = self.by_id.get(topic_id)
        if topic is None:
            raise CannotApply(f"there is no topic with id {format_uuid(topic_id)}")
        return topic

    def add(self, record: TopicRecord) -> None:
        self.by_id[record.topic_id] = TopicImage(record.name, record.topic_id)
        self._ids[record.name] = record.topic_id

    def remove(self, record: RemoveTopicRecord) -> TopicImage:
        """Remove a topic with its partitions, and return it."""
        topic = self.topic(record.topic_id)
        del self.by_id[topic.id]
        if self._ids.get(topic.name) == topic.id:
            del self._ids[topic.name]
        return topic

    def add_partition(self, record: PartitionRecord) -> None:
        partitions = self.topic(record.topic_id).partitions
        partitions[record.partition_id] = PartitionRegistration.of(record)

    def change_partition(self, record: PartitionChangeRecord) -> None:
        topic = self.topic(record.topic_id)
        partition = topic.partitions.get(record.partition_id)
        if partition is None:
            raise CannotApply(f"{topic.name} has no partition {record.partition_id}")
        partition.change(record)

    def clear_elr(self, record: ClearElrRecord) -> None:
        """Remove the eligible leader replicas of one topic, or of all if the record names none."""
        topics = list(self.by_id.values())
        if record.topic_name:
            named = self.named(record.topic_name)
            if named is None:
                raise CannotApply(f"there is no topic {record.topic_name!r}")
            topics = [named]
        for topic in topics:
            for partition in topic.partitions.values():
                partition.clear_elr()


def _directories(ids: Sequence[UUID], replicas: int) -> tuple[UUID, ...]:
    return tuple(ids) if ids else (_MIGRATING,) * replicas
