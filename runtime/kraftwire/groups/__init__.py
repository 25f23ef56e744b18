"""Groups of consumers, rebuilt from the records of their coordinators.

From the records up, each importing only what is above it:

    state, share_state      one group, and its progress in one shared partition
    changes                 what a record changed
    consumer_protocol       the bytes that members of classic groups send
    offsets, classic_groups, members, share_effects
                            the effects of records on a group, a module for each subject
    effects                 the table of all effects, by the type of the key
    replay                  the records of one partition, with its transactions
    logs                    the partitions below a path

`read_groups` returns the final state, `GroupLogs.replay` yields every change on the way there.
Nothing is printed. Errors are yielded among the events, so that reading goes on after them.
"""

from __future__ import annotations

from kraftwire.groups.changes import GroupChange, GroupChangeKind, GroupEvent
from kraftwire.groups.logs import GroupLogs, find_group_logs, read_groups
from kraftwire.groups.replay import Groups, PartitionReplay
from kraftwire.groups.share_state import SharePartition, StateBatch
from kraftwire.groups.state import (
    AssignedPartitions,
    CommittedOffset,
    GroupState,
    GroupType,
    Member,
)
from kraftwire.log.small_files.checkpoints import TopicPartition

__all__ = [
    "AssignedPartitions",
    "GroupChange",
    "CommittedOffset",
    "GroupEvent",
    "GroupLogs",
    "GroupState",
    "GroupType",
    "Groups",
    "Member",
    "PartitionReplay",
    "SharePartition",
    "StateBatch",
    "TopicPartition",
    "GroupChangeKind",
    "find_group_logs",
    "read_groups",
]
