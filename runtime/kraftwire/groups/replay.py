"""Applying the records of a coordinator's partition to groups, one by one.

Rules:
- records come in the order of their offsets; compaction leaves gaps, which mean nothing;
- an offset committed in a transaction is pending until a marker of its producer follows in the
  same partition: COMMIT applies it, ABORT drops it; other records count immediately;
- an empty group is removed, so only live groups take memory.

A record that cannot be decoded raises a `KraftwireError` and changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from uuid import UUID

from kraftwire.groups.changes import GroupChange, GroupEvent
from kraftwire.groups.effects import EFFECTS, GROUP_LOG, SHARE_LOG
from kraftwire.groups.offsets import OffsetKey, OffsetValue, commit, committed_offset, delete
from kraftwire.groups.state import GroupState
from kraftwire.log.batches.record import Record
from kraftwire.log.queries.typed_records import TOPICS as LOG_TOPICS
from kraftwire.log.small_files.checkpoints import TopicPartition
from kraftwire_messages.kafka import (
    ConsumerGroupPartitionMetadataValue,
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
    ShareGroupStatePartitionMetadataValue,
    registry,
)
from kraftwire_wire.errors import DecodeError
from kraftwire_wire.message import Message
from kraftwire_wire.records import (
    ControlType,
    decode_control_key,
    decode_coordinator_key,
    decode_coordinator_value,
)

TOPICS = {log: topic for topic, log in LOG_TOPICS.items() if log in (GROUP_LOG, SHARE_LOG)}
"""The topics of the replayed logs."""


class Groups:
    """The groups of any number of partitions, and the names of topics."""

    def __init__(self, wanted: Collection[str] | None = None) -> None:
        """`wanted` are the names of the groups to keep; None keeps all."""
        self.by_name: dict[str, GroupState] = {}
        self.topic_names: dict[UUID, str] = {}
        self.wanted = wanted

    def __getitem__(self, name: str) -> GroupState:
        return self.by_name[name]

    def open(self, name: str) -> GroupState:
        """Return a group, or a new one; call `close` after applying records."""
        group = self.by_name.get(name)
        if group is None:
            group = self.by_name[name] = GroupState(name)
        return group

    def close(self, group: GroupState) -> None:
        if group.is_empty:
            del self.by_name[group.name]


class PartitionReplay:
    """Applies the records of one partition to groups.

    `log` is `group` for a partition of `__consumer_offsets`, `share` for one of
    `__share_group_state`; `number` is the partition, if it is known.
    """

    def __init__(self, groups: Groups, log: str = GROUP_LOG, number: int | None = None) -> None:
        self.groups = groups
        self.log = log
        self.number = number
        self._open: dict[int, set[tuple[str, TopicPartition]]] = {}

    def record(self, record: Record, producer_id: int | None = None) -> list[GroupEvent]:
        """Apply a record; `producer_id` is that of its transaction, if it has one."""
        if record.key is None:
            raise DecodeError("a coordinator's record without a key")
        key = decode_coordinator_key(registry, self.log, record.key)
        versioned = decode_coordinator_value(registry, self.log, key.API_KEY or 0, record.value)
        value = versioned.message if versioned is not None else None
        self._learn_names(key, value)
        name = _group_name(key)
        if self.groups.wanted is not None and name not in self.groups.wanted:
            return []
        group = self.groups.open(name)
        if self.log == GROUP_LOG:
            group.partition = self.number
        changes = self._apply(group, key, value, record, producer_id)
        self.groups.close(group)
        return [self._event(record, group, change) for change in changes]

    def control(self, record: Record, producer_id: int) -> list[GroupEvent]:
        """Apply a control record: the end of a transaction, or nothing."""
        kind = decode_control_key(record.key or b"")
        if kind not in (ControlType.COMMIT, ControlType.ABORT):
            return []
        events = []
        for name, at in sorted(self._open.pop(producer_id, ())):
            group = self.groups.open(name)
            waiting = group.pending.get(at, {})
            offset = waiting.pop(producer_id, None)
            if not waiting:
                group.pending.pop(at, None)
            if kind is ControlType.COMMIT and offset is not None:
                changes = commit(group, at, offset)
                events += [self._event(record, group, change) for change in changes]
            self.groups.close(group)
        return events

    def _apply(
        self,
        group: GroupState,
        key: Message,
        value: Message | None,
        record: Record,
        producer_id: int | None,
    ) -> list[GroupChange]:
        if isinstance(key, OffsetCommitKey | LegacyOffsetCommitKey):
            assert value is None or isinstance(value, OffsetCommitValue | LegacyOffsetCommitValue)
            return self._offset(group, key, value, record, producer_id)
        effect = EFFECTS[type(key)]
        if effect.kind is not None:
            if value is not None:
                group.become(effect.kind)
            elif group.kind not in (None, effect.kind):
                return []  # the group became another kind, which this tombstone does not end
        return effect.apply(group, key, value)

    def _offset(
        self,
        group: GroupState,
        key: OffsetKey,
        value: OffsetValue | None,
        record: Record,
        producer_id: int | None,
    ) -> list[GroupChange]:
        at = TopicPartition(key.topic, key.partition)
        if value is None:
            return delete(group, at)
        offset = committed_offset(value, record.offset, producer_id)
        if producer_id is None:
            return commit(group, at, offset)
        group.pending.setdefault(at, {})[producer_id] = offset
        self._open.setdefault(producer_id, set()).add((group.name, at))
        return []

    def _learn_names(self, key: Message, value: Message | None) -> None:
        names = self.groups.topic_names
        if isinstance(value, OffsetCommitValue) and isinstance(key, OffsetCommitKey):
            if value.topic_id.int:
                names[value.topic_id] = key.topic
        elif isinstance(value, ShareGroupStatePartitionMetadataValue):
            for topic in (*value.initializing_topics, *value.initialized_topics):
                names[topic.topic_id] = topic.topic_name
            for deleting in value.deleting_topics:
                names[deleting.topic_id] = deleting.topic_name
        elif isinstance(value, ConsumerGroupPartitionMetadataValue):
            names.update((topic.topic_id, topic.topic_name) for topic in value.topics)

    def _event(self, record: Record, group: GroupState, change: GroupChange) -> GroupEvent:
        return GroupEvent(
            TOPICS[self.log],
            self.number,
            record.offset,
            record.timestamp,
            group.name,
            group.type,
            change,
        )


def _group_name(key: Any) -> str:
    """Return the group that a key names, in a field with one of two names."""
    name: str = key.group if hasattr(key, "group") else key.group_id
    return name
