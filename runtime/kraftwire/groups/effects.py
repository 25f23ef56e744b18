"""The effect of each of a coordinator's records on a group.

An effect takes a group, a key and a value, changes the group, and returns the changes, if any. A
value of None is a tombstone: it deletes the object of the key. `EFFECTS` has the effects by the
type of the key, with the kind of group that the record belongs to.

`replay` commits offsets, since a transaction can delay their effect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from kraftwire.groups.changes import GroupChange, GroupChangeKind
from kraftwire.groups.classic_groups import set_classic_group
from kraftwire.groups.members import set_current_assignment, set_member_info, set_target_assignment
from kraftwire.groups.offsets import not_negative
from kraftwire.groups.share_effects import set_share_state, set_share_topics, update_share_state
from kraftwire.groups.state import GroupEpochs, GroupState, GroupType, ResolvedRegex
from kraftwire_messages import kafka
from kraftwire_wire.message import Message

GROUP_LOG = "group"
SHARE_LOG = "share"


Apply = Callable[[GroupState, Any, Any], list[GroupChange]]


class RecordEffect(NamedTuple):
    """The effect of a record; `kind` is None for share state, which is in a log of its own."""

    kind: GroupType | None
    apply: Apply


def set_epoch(
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
    new = replace(
        before or GroupEpochs(),
        epoch=value.epoch,
        metadata_hash=value.metadata_hash,
        validated_topology_epoch=validated,
    )
    return _set_epochs(group, GroupChangeKind.GROUP_EPOCH, new)


def set_assignment_epoch(
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
        rest = replace(old, assignment_epoch=None, assignment_timestamp=None)
        group.epochs = rest if rest != GroupEpochs() else None
        return []
    new = replace(
        old,
        assignment_epoch=value.assignment_epoch,
        assignment_timestamp=value.assignment_timestamp or None,
    )
    return _set_epochs(group, GroupChangeKind.ASSIGNMENT_EPOCH, new)


def set_regex(
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
    if before == after:
        return []
    return [GroupChange(GroupChangeKind.REGEX_RESOLVED, before, after, regex=name)]


def set_topology(
    group: GroupState,
    key: kafka.StreamsGroupTopologyKey,
    value: kafka.StreamsGroupTopologyValue | None,
) -> list[GroupChange]:
    """Set the topology of a streams group."""
    before, group.topology = group.topology, value
    if value is None or before == value:
        return []
    return [GroupChange(GroupChangeKind.TOPOLOGY, before, value)]


def change_nothing(group: GroupState, key: Message, value: Message | None) -> list[GroupChange]:
    """Change nothing: only the record's topic names are used, by `replay`."""
    return []


def _set_epochs(group: GroupState, what: GroupChangeKind, after: GroupEpochs) -> list[GroupChange]:
    before, group.epochs = group.epochs, after
    return [] if before == after else [GroupChange(what, before, after)]


_BY_KIND: Mapping[GroupType | None, Mapping[type[Message], Apply]] = {
    GroupType.CLASSIC: {kafka.GroupMetadataKey: set_classic_group},
    GroupType.CONSUMER: {
        kafka.ConsumerGroupMetadataKey: set_epoch,
        kafka.ConsumerGroupPartitionMetadataKey: change_nothing,
        kafka.ConsumerGroupMemberMetadataKey: set_member_info,
        kafka.ConsumerGroupTargetAssignmentMetadataKey: set_assignment_epoch,
        kafka.ConsumerGroupTargetAssignmentMemberKey: set_target_assignment,
        kafka.ConsumerGroupCurrentMemberAssignmentKey: set_current_assignment,
        kafka.ConsumerGroupRegularExpressionKey: set_regex,
    },
    GroupType.SHARE: {
        kafka.ShareGroupMemberMetadataKey: set_member_info,
        kafka.ShareGroupMetadataKey: set_epoch,
        kafka.ShareGroupTargetAssignmentMetadataKey: set_assignment_epoch,
        kafka.ShareGroupTargetAssignmentMemberKey: set_target_assignment,
        kafka.ShareGroupCurrentMemberAssignmentKey: set_current_assignment,
        kafka.ShareGroupStatePartitionMetadataKey: set_share_topics,
    },
    GroupType.STREAMS: {
        kafka.StreamsGroupMetadataKey: set_epoch,
        kafka.StreamsGroupMemberMetadataKey: set_member_info,
        kafka.StreamsGroupTargetAssignmentMetadataKey: set_assignment_epoch,
        kafka.StreamsGroupTargetAssignmentMemberKey: set_target_assignment,
        kafka.StreamsGroupCurrentMemberAssignmentKey: set_current_assignment,
        kafka.StreamsGroupTopologyKey: set_topology,
    },
    None: {kafka.ShareSnapshotKey: set_share_state, kafka.ShareUpdateKey: update_share_state},
}
EFFECTS: Mapping[type[Message], RecordEffect] = {
    key: RecordEffect(kind, apply)
    for kind, effects in _BY_KIND.items()
    for key, apply in effects.items()
}
"""The effects by the type of the key; those of commits of offsets are in `replay`."""
