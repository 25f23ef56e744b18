"""Commits of offsets, in transactions and without.

An offset committed in a transaction counts once its producer's COMMIT follows in the same
partition, unless the offset was committed again after it: the later record wins, as in Kafka's
coordinator. A tombstone also removes pending offsets.
"""

from __future__ import annotations

from kraftwire.groups.changes import GroupChange, GroupChangeKind
from kraftwire.groups.state import CommittedOffset, GroupState
from kraftwire.log.small_files.checkpoints import TopicPartition
from kraftwire_messages.kafka import (
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
)

OffsetKey = OffsetCommitKey | LegacyOffsetCommitKey
OffsetValue = OffsetCommitValue | LegacyOffsetCommitValue


def committed_offset(
    value: OffsetValue, record_offset: int, producer_id: int | None
) -> CommittedOffset:
    """Return the offset in a record."""
    leader_epoch = expire_timestamp = topic_id = None
    if isinstance(value, OffsetCommitValue):
        leader_epoch = not_negative(value.leader_epoch)
        expire_timestamp = not_negative(value.expire_timestamp)
        topic_id = value.topic_id if value.topic_id.int else None
    return CommittedOffset(
        value.offset,
        leader_epoch,
        value.metadata,
        value.commit_timestamp,
        expire_timestamp,
        topic_id,
        record_offset,
        producer_id,
    )


def commit(group: GroupState, at: TopicPartition, offset: CommittedOffset) -> list[GroupChange]:
    """Set an offset, unless a later record has set it."""
    before = group.offsets.get(at)
    if before is not None and before.record_offset > offset.record_offset:
        return []
    group.offsets[at] = offset
    if group.deleted:  # a client commits without joining the group
        group.kind, group.deleted = None, False
    return [
        GroupChange(
            GroupChangeKind.OFFSET_COMMITTED,
            before,
            offset,
            topic=at.topic,
            topic_id=offset.topic_id,
            partition=at.partition,
        )
    ]


def delete(group: GroupState, at: TopicPartition) -> list[GroupChange]:
    """Remove an offset, and pending ones for the same partition."""
    before = group.offsets.pop(at, None)
    group.pending.pop(at, None)
    return [
        GroupChange(
            GroupChangeKind.OFFSET_DELETED,
            before,
            topic=at.topic,
            topic_id=before.topic_id if before is not None else None,
            partition=at.partition,
        )
    ]


def not_negative(number: int) -> int | None:
    """Return the number, or None for Kafka's -1."""
    return number if number >= 0 else None
