"""Records of the state of share groups, made up."""

from __future__ import annotations

from uuid import UUID

from kraftwire.groups import StateBatch
from kraftwire.groups.state import SharedPartition
from kraftwire_messages.kafka import (
    ShareSnapshotKey,
    ShareSnapshotValue,
    ShareUpdateKey,
    ShareUpdateValue,
)

TEA = UUID(int=1)
AT = SharedPartition(TEA, 2)
SNAPSHOT = ShareSnapshotKey(group_id="g", topic_id=TEA, partition=2)
UPDATE = ShareUpdateKey(group_id="g", topic_id=TEA, partition=2)


def snapshot(start: int, *batches: StateBatch) -> ShareSnapshotValue:
    states = [ShareSnapshotValue.StateBatch(**batch._asdict()) for batch in batches]
    return ShareSnapshotValue(
        snapshot_epoch=1,
        state_epoch=2,
        leader_epoch=3,
        start_offset=start,
        delivery_complete_count=4,
        create_timestamp=5,
        write_timestamp=6,
        state_batches=states,
    )


def update(start: int, *batches: StateBatch, leader: int = -1) -> ShareUpdateValue:
    states = [ShareUpdateValue.StateBatch(**batch._asdict()) for batch in batches]
    return ShareUpdateValue(
        snapshot_epoch=1, leader_epoch=leader, start_offset=start, state_batches=states
    )
