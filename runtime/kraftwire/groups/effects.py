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

from kraftwire.groups.changes import Change, What
from kraftwire.groups.classic import classic_group
from kraftwire.groups.members import current_assignment, member_info, target_assignment
from kraftwire.groups.offsets import not_negative
from kraftwire.groups.share_effects import share_snapshot, share_topics, share_update
from kraftwire.groups.state import Epochs, GroupState, GroupType, ResolvedRegex
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


class Effect(NamedTuple):
    """What a record does; `apply` takes the group, the key and the value.

    `kind` is None for state that lies in another log than the group itself.
    """

    kind: GroupType | None
    apply: Callable[[GroupState, Any, Any], list[Change]]


def group_epoch(
    group: GroupState,
    key: Message,
    value: ConsumerGroupMetadataValue | ShareGroupMetadataValue | StreamsGroupMetadataValue | None,
) -> list[Change]:
    """The epoch, which grows with every change; a tombstone when the group is gone."""
    before = group.epochs
    if value is None:
        group.clear()
        group.deleted = True
        return [Change(What.GROUP_DELETED, before)]
    validated = None
    if isinstance(value, StreamsGroupMetadataValue):
        validated = not_negative(value.validated_topology_epoch)
    return _set_epochs(
        group,
        What.GROUP_EPOCH,
        replace(
            before or Epochs(),
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
) -> list[Change]:
    """The epoch that the target assignment was made for."""
    old = group.epochs or Epochs()
    if value is None:
        left = replace(old, assignment_epoch=None, assignment_timestamp=None)
        group.epochs = left if left != Epochs() else None
        return []
    new = replace(
        old,
        assignment_epoch=value.assignment_epoch,
        assignment_timestamp=value.assignment_timestamp or None,
    )
    return _set_epochs(group, What.ASSIGNMENT_EPOCH, new)


def resolved_regex(
    group: GroupState,
    key: ConsumerGroupRegularExpressionKey,
    value: ConsumerGroupRegularExpressionValue | None,
) -> list[Change]:
    """The topics that a regular expression stands for."""
    name = key.regular_expression
    before = group.regexes.pop(name, None)
    if value is None:
        return []
    after = ResolvedRegex(tuple(value.topics), value.version, value.timestamp)
    group.regexes[name] = after
    return [Change(What.REGEX_RESOLVED, before, after, regex=name)] if before != after else []


def topology(
    group: GroupState, key: StreamsGroupTopologyKey, value: StreamsGroupTopologyValue | None
) -> list[Change]:
    """The topology of a streams group."""
    before, group.topology = group.topology, value
    return [] if value is None or before == value else [Change(What.TOPOLOGY, before, value)]


def only_names(group: GroupState, key: Message, value: Message | None) -> list[Change]:
    """A record of which only the names of topics are used."""
    return []


def _set_epochs(group: GroupState, what: What, after: Epochs) -> list[Change]:
    before, group.epochs = group.epochs, after
    return [] if before == after else [Change(what, before, after)]


EFFECTS: Mapping[str, Mapping[int, Effect]] = {
    GROUP_LOG: {
        2: Effect(GroupType.CLASSIC, classic_group),
        3: Effect(GroupType.CONSUMER, group_epoch),
        4: Effect(GroupType.CONSUMER, only_names),
        5: Effect(GroupType.CONSUMER, member_info),
        6: Effect(GroupType.CONSUMER, assignment_epoch),
        7: Effect(GroupType.CONSUMER, target_assignment),
        8: Effect(GroupType.CONSUMER, current_assignment),
        10: Effect(GroupType.SHARE, member_info),
        11: Effect(GroupType.SHARE, group_epoch),
        12: Effect(GroupType.SHARE, assignment_epoch),
        13: Effect(GroupType.SHARE, target_assignment),
        14: Effect(GroupType.SHARE, current_assignment),
        15: Effect(GroupType.SHARE, share_topics),
        16: Effect(GroupType.CONSUMER, resolved_regex),
        17: Effect(GroupType.STREAMS, group_epoch),
        19: Effect(GroupType.STREAMS, member_info),
        20: Effect(GroupType.STREAMS, assignment_epoch),
        21: Effect(GroupType.STREAMS, target_assignment),
        22: Effect(GroupType.STREAMS, current_assignment),
        23: Effect(GroupType.STREAMS, topology),
    },
    SHARE_LOG: {
        0: Effect(None, share_snapshot),
        1: Effect(None, share_update),
    },
}
"""The effects, by log and record id; 0 and 1 of the group log are commits of offsets."""
