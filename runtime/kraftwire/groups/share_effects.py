"""Share groups (KIP-932): their topics and the state of each partition.

The group coordinator stores the topics. The share coordinator stores the state, which is the
progress of the group in each partition, in `__share_group_state`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol
from uuid import UUID

from kraftwire.groups.changes import GroupChange, GroupChangeKind
from kraftwire.groups.offsets import not_negative
from kraftwire.groups.share_state import SharePartition, ShareProgress, StateBatch
from kraftwire.groups.state import (
    AssignedPartitions,
    Assignment,
    GroupState,
    SharedPartition,
    ShareTopics,
)
from kraftwire_messages.kafka import (
    ShareGroupStatePartitionMetadataKey,
    ShareGroupStatePartitionMetadataValue,
    ShareSnapshotKey,
    ShareSnapshotValue,
    ShareUpdateKey,
    ShareUpdateValue,
)


class _Topic(Protocol):
    topic_id: UUID
    topic_name: str
    partitions: list[int]


class _Batch(Protocol):
    first_offset: int
    last_offset: int
    delivery_state: int
    delivery_count: int


def set_share_topics(
    group: GroupState,
    key: ShareGroupStatePartitionMetadataKey,
    value: ShareGroupStatePartitionMetadataValue | None,
) -> list[GroupChange]:
    """Set the topics of a share group, by the progress of their initialization."""
    before, group.share_topics = group.share_topics, None
    if value is None:
        return []
    group.share_topics = ShareTopics(
        _topics(value.initializing_topics),
        _topics(value.initialized_topics),
        tuple(AssignedPartitions((), t.topic_name, t.topic_id) for t in value.deleting_topics),
    )
    if before == group.share_topics:
        return []
    return [GroupChange(GroupChangeKind.SHARE_TOPICS, before, group.share_topics)]


def set_share_state(
    group: GroupState, key: ShareSnapshotKey, value: ShareSnapshotValue | None
) -> list[GroupChange]:
    """Set all of a partition's state; a tombstone deletes it."""
    at = SharedPartition(key.topic_id, key.partition)
    if value is None:
        old = group.share_partitions.pop(at, None)
        before = old.get() if old is not None else None
        return [GroupChange(GroupChangeKind.SHARE_STATE_DELETED, before, **at._asdict())]
    snapshot = SharePartition(
        start_offset=not_negative(value.start_offset),
        snapshot_epoch=value.snapshot_epoch,
        state_epoch=value.state_epoch,
        leader_epoch=not_negative(value.leader_epoch),
        delivery_complete_count=not_negative(value.delivery_complete_count),
        create_timestamp=value.create_timestamp,
        write_timestamp=value.write_timestamp,
        batches=_batches(value.state_batches),
    )
    group.share_partitions[at] = ShareProgress(snapshot)
    return [GroupChange(GroupChangeKind.SHARE_STATE, None, snapshot, **at._asdict())]


def update_share_state(
    group: GroupState, key: ShareUpdateKey, value: ShareUpdateValue | None
) -> list[GroupChange]:
    """Apply a change since the last snapshot."""
    if value is None:
        return []
    at = SharedPartition(key.topic_id, key.partition)
    update = SharePartition(
        start_offset=not_negative(value.start_offset),
        snapshot_epoch=value.snapshot_epoch,
        leader_epoch=not_negative(value.leader_epoch),
        delivery_complete_count=not_negative(value.delivery_complete_count),
        batches=_batches(value.state_batches),
    )
    progress = group.share_partitions.get(at)
    if progress is None:
        group.share_partitions[at] = ShareProgress(update)
    else:
        progress.update(update)
    return [GroupChange(GroupChangeKind.SHARE_STATE, None, update, **at._asdict())]


def _topics(topics: Iterable[_Topic]) -> Assignment:
    return tuple(AssignedPartitions(tuple(t.partitions), t.topic_name, t.topic_id) for t in topics)


def _batches(batches: Iterable[_Batch]) -> tuple[StateBatch, ...]:
    return tuple(
        StateBatch(b.first_offset, b.last_offset, b.delivery_state, b.delivery_count)
        for b in batches
    )
