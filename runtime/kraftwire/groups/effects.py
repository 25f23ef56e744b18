"""What each record of a coordinator does to a group.

An effect takes a group, a key and a value, changes the group, and returns the changes. A value
of None is a tombstone: the object of the key is deleted. `EFFECTS` has the effects by the type
of the key, with the kind of group that the record belongs to.

A record that leaves the group unchanged is no change. Commits of offsets are not here: a
transaction can delay their effect, see `replay`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from kraftwire.groups.changes import GroupChange, GroupChangeKind
from kraftwire.groups.classic import classic_group
from kraftwire.groups.members import current_assignment, member_info, target_assignment
from kraftwire.groups.offsets import not_negative
from kraftwire.groups.share_effects import share_snapshot, share_topics, share_update
from kraftwire.groups.state import GroupEpochs, GroupState, GroupType, ResolvedRegex
from kraftwire_messages import kafka
from kraftwire_wire.message import Message

GROUP_LOG = "group"
SHARE_LOG = "share"


Apply = Callable[[GroupState, Any, Any], list[GroupChange]]


class RecordEffect(NamedTuple):
    """The effect of a record; `kind` is None for state in another log than the group itself."""

    kind: GroupType | None
    apply: Apply


def group_epoch(
    group: GroupState,
    key: Message,
    value: (
        kafka.ConsumerGroupMetadataValue
        | kafka.ShareGroupMetadataValue
        | kafka.StreamsGroupMetadataValue
        | None
    ),
) -> list[GroupChange]:
    """Set the epoch, which grows with every change; a tombstone deletes the group."""
    before = group.epochs
    if value is None:
        group.clear()
        group.deleted = True
        return [GroupChange(GroupChangeKind.GROUP_DELETED, before)]
    validated = None
    if isinstance(value, kafka.StreamsGroupMetadataValue):
        validated = not_negative(value.validated_topology_epoch)
    return _set_epochs(
        group,
        GroupChangeKind.GROUP_EPOCH,
        replace(
            before or GroupEpochs(),
            epoch=value.epoch,
            metadata_hash=value.metadata_hash,
            validated_topology_epoch=validated,
        ),
    )


def assignment_epoch(
    group: GroupState,
    key: Message,
    value: (
        kafka.ConsumerGroupTargetAssignmentMetadataValue
        | kafka.ShareGroupTargetAssignmentMetadataValue
        | kafka.StreamsGroupTargetAssignmentMetadataValue
        | None
    ),
) -> list[GroupChange]:
    """Set the epoch of the group for which the target assignment was made."""
    old = group.epochs or GroupEpochs()
    if value is None:
        left = replace(old, assignment_epoch=None, assignment_timestamp=None)
        group.epochs = left if left != GroupEpochs() else None
        return []
    new = replace(
        old,
        assignment_epoch=value.assignment_epoch,
        assignment_timestamp=value.assignment_timestamp or None,
    )
    return _set_epochs(group, GroupChangeKind.ASSIGNMENT_EPOCH, new)


def resolved_regex(
    group: GroupState,
    key: kafka.ConsumerGroupRegularExpressionKey,
    value: kafka.ConsumerGroupRegularExpressionValue | None,
) -> list[GroupChange]:
    """Set the topics that match a regular expression."""
    name = key.regular_expression
    before = group.regexes.pop(name, None)
    if value is None:
        return []
    after = ResolvedRegex(tuple(value.topics), value.version, value.timestamp)
    group.regexes[name] = after
    return (
        [GroupChange(GroupChangeKind.REGEX_RESOLVED, before, after, regex=name)]
        if before != after
        else []
    )


def topology(
    group: GroupState,
    key: kafka.StreamsGroupTopologyKey,
    value: kafka.StreamsGroupTopologyValue | None,
) -> list[GroupChange]:
    """Set the topology of a streams group."""
    before, group.topology = group.topology, value
    return (
        []
        if value is None or before == value
        else [GroupChange(GroupChangeKind.TOPOLOGY, before, value)]
    )


def only_names(group: GroupState, key: Message, value: Message | None) -> list[GroupChange]:
    """Change nothing: only the topic names in the record are used."""
    return []


def _set_epochs(group: GroupState, what: GroupChangeKind, after: GroupEpochs) -> list[GroupChange]:
    before, group.epochs = group.epochs, after
    return [] if before == after else [GroupChange(what, before, after)]


_BY_KIND: Mapping[GroupType | None, Mapping[type[Message], Apply]] = {
    GroupType.CLASSIC: {
        kafka.GroupMetadataKey: classic_group,
    },
    GroupType.CONSUMER: {
        kafka.ConsumerGroupMetadataKey: group_epoch,
        kafka.ConsumerGroupPartitionMetadataKey: only_names,
        kafka.ConsumerGroupMemberMetadataKey: member_info,
        kafka.ConsumerGroupTargetAssignmentMetadataKey: assignment_epoch,
        kafka.ConsumerGroupTargetAssignmentMemberKey: target_assignment,
        kafka.ConsumerGroupCurrentMemberAssignmentKey: current_assignment,
        kafka.ConsumerGroupRegularExpressionKey: resolved_regex,
    },
    GroupType.SHARE: {
        kafka.ShareGroupMemberMetadataKey: member_info,
        kafka.ShareGroupMetadataKey: group_epoch,
        kafka.ShareGroupTargetAssignmentMetadataKey: assignment_epoch,
        kafka.ShareGroupTargetAssignmentMemberKey: target_assignment,
        kafka.ShareGroupCurrentMemberAssignmentKey: current_assignment,
        kafka.ShareGroupStatePartitionMetadataKey: share_topics,
    },
    GroupType.STREAMS: {
        kafka.StreamsGroupMetadataKey: group_epoch,
        kafka.StreamsGroupMemberMetadataKey: member_info,
        kafka.StreamsGroupTargetAssignmentMetadataKey: assignment_epoch,
        kafka.StreamsGroupTargetAssignmentMemberKey: target_assignment,
        kafka.StreamsGroupCurrentMemberAssignmentKey: current_assignment,
        kafka.StreamsGroupTopologyKey: topology,
    },
    None: {
        kafka.ShareSnapshotKey: share_snapshot,
        kafka.ShareUpdateKey: share_update,
    },
}
EFFECTS: Mapping[type[Message], RecordEffect] = {
    key: RecordEffect(kind, apply)
    for kind, effects in _BY_KIND.items()
    for key, apply in effects.items()
}
"""The effects by the type of the key; those of commits of offsets are in `replay`."""
