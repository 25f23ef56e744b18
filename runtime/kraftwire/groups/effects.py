"""Which record of a coordinator does what to a group.

An effect takes a group, a key and a value, changes the group, and returns what happened. A
value of None is a tombstone: what the key stands for is gone. `EFFECTS` has the effects by
log and record id, with the kind of group that the record makes.

A record that leaves things as they were is no change. Commits of offsets are not here: a
transaction can stand between them and their effect, see `replay`.
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
from kraftwire_messages.kafka import (
    ConsumerGroupMetadataValue,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMetadataValue,
    ShareGroupMetadataValue,
    ShareGroupTargetAssignmentMetadataValue,
    StreamsGroupMetadataValue,
    StreamsGroupTargetAssignmentMetadataValue,
    StreamsGroupTopologyKey,
    StreamsGroupTopologyValue,
)
from kraftwire_wire.message import Message

GROUP_LOG = "group"
SHARE_LOG = "share"


class RecordEffect(NamedTuple):
    """What a record does; `apply` takes the group, the key and the value.

    `kind` is None for state that lies in another log than the group itself.
    """

    kind: GroupType | None
    apply: Callable[[GroupState, Any, Any], list[GroupChange]]


def group_epoch(
    group: GroupState,
    key: Message,
    value: ConsumerGroupMetadataValue | ShareGroupMetadataValue | StreamsGroupMetadataValue | None,
) -> list[GroupChange]:
    """The epoch, which grows with every change; a tombstone when the group is gone."""
    before = group.epochs
    if value is None:
        group.clear()
        group.deleted = True
        return [GroupChange(GroupChangeKind.GROUP_DELETED, before)]
    validated = None
    if isinstance(value, StreamsGroupMetadataValue):
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
        ConsumerGroupTargetAssignmentMetadataValue
        | ShareGroupTargetAssignmentMetadataValue
        | StreamsGroupTargetAssignmentMetadataValue
        | None
    ),
) -> list[GroupChange]:
    """The epoch that the target assignment was made for."""
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
    key: ConsumerGroupRegularExpressionKey,
    value: ConsumerGroupRegularExpressionValue | None,
) -> list[GroupChange]:
    """The topics that a regular expression stands for."""
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
    group: GroupState, key: StreamsGroupTopologyKey, value: StreamsGroupTopologyValue | None
) -> list[GroupChange]:
    """The topology of a streams group."""
    before, group.topology = group.topology, value
    return (
        []
        if value is None or before == value
        else [GroupChange(GroupChangeKind.TOPOLOGY, before, value)]
    )


def only_names(group: GroupState, key: Message, value: Message | None) -> list[GroupChange]:
    """A record of which only the names of topics are used."""
    return []


def _set_epochs(group: GroupState, what: GroupChangeKind, after: GroupEpochs) -> list[GroupChange]:
    before, group.epochs = group.epochs, after
    return [] if before == after else [GroupChange(what, before, after)]


EFFECTS: Mapping[str, Mapping[int, RecordEffect]] = {
    GROUP_LOG: {
        2: RecordEffect(GroupType.CLASSIC, classic_group),
        3: RecordEffect(GroupType.CONSUMER, group_epoch),
        4: RecordEffect(GroupType.CONSUMER, only_names),
        5: RecordEffect(GroupType.CONSUMER, member_info),
        6: RecordEffect(GroupType.CONSUMER, assignment_epoch),
        7: RecordEffect(GroupType.CONSUMER, target_assignment),
        8: RecordEffect(GroupType.CONSUMER, current_assignment),
        10: RecordEffect(GroupType.SHARE, member_info),
        11: RecordEffect(GroupType.SHARE, group_epoch),
        12: RecordEffect(GroupType.SHARE, assignment_epoch),
        13: RecordEffect(GroupType.SHARE, target_assignment),
        14: RecordEffect(GroupType.SHARE, current_assignment),
        15: RecordEffect(GroupType.SHARE, share_topics),
        16: RecordEffect(GroupType.CONSUMER, resolved_regex),
        17: RecordEffect(GroupType.STREAMS, group_epoch),
        19: RecordEffect(GroupType.STREAMS, member_info),
        20: RecordEffect(GroupType.STREAMS, assignment_epoch),
        21: RecordEffect(GroupType.STREAMS, target_assignment),
        22: RecordEffect(GroupType.STREAMS, current_assignment),
        23: RecordEffect(GroupType.STREAMS, topology),
    },
    SHARE_LOG: {
        0: RecordEffect(None, share_snapshot),
        1: RecordEffect(None, share_update),
    },
}
"""The effects, by log and record id; 0 and 1 of the group log are commits of offsets."""
