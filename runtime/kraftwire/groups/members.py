"""Members of consumer, share and streams groups: three records each.

They contain the member's own data, its target assignment and its current assignment. A member
exists as long as one of the records does. The record with its data is written when it joins and
deleted when it leaves.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Protocol
from uuid import UUID

from kraftwire.groups.changes import GroupChange, GroupChangeKind
from kraftwire.groups.offsets import not_negative
from kraftwire.groups.state import (
    AssignedPartitions,
    Assignment,
    CurrentAssignment,
    GroupState,
    Member,
    MemberInfo,
)
from kraftwire_messages.kafka import (
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupTargetAssignmentMemberValue,
    ShareGroupCurrentMemberAssignmentValue,
    ShareGroupMemberMetadataValue,
    ShareGroupTargetAssignmentMemberValue,
    StreamsGroupCurrentMemberAssignmentValue,
    StreamsGroupMemberMetadataValue,
    StreamsGroupTargetAssignmentMemberValue,
)

Info = (
    ConsumerGroupMemberMetadataValue
    | ShareGroupMemberMetadataValue
    | StreamsGroupMemberMetadataValue
)
TargetValue = (
    ConsumerGroupTargetAssignmentMemberValue
    | ShareGroupTargetAssignmentMemberValue
    | StreamsGroupTargetAssignmentMemberValue
)
CurrentValue = (
    ConsumerGroupCurrentMemberAssignmentValue
    | ShareGroupCurrentMemberAssignmentValue
    | StreamsGroupCurrentMemberAssignmentValue
)


class MemberKey(Protocol):
    """The key of a record about a member."""

    member_id: str


class _TopicById(Protocol):
    topic_id: UUID
    partitions: list[int]


class _Tasks(Protocol):
    subtopology_id: str
    partitions: list[int]


def set_member_info(group: GroupState, key: MemberKey, value: Info | None) -> list[GroupChange]:
    """Set the data that a member sends when it joins and whenever it changes."""
    before, old = _member(group, key)
    after = _store(group, replace(old, info=None if value is None else _info(value)))
    if value is None:
        return [GroupChange(GroupChangeKind.MEMBER_LEFT, before, member=key.member_id)]
    if old.info is None:
        return [GroupChange(GroupChangeKind.MEMBER_JOINED, before, after, member=key.member_id)]
    return _changed(GroupChangeKind.MEMBER_CHANGED, old, after)


def set_target_assignment(
    group: GroupState, key: MemberKey, value: TargetValue | None
) -> list[GroupChange]:
    """Set a member's target assignment."""
    _, old = _member(group, key)
    after = _store(group, replace(old, target=None if value is None else _target(value)))
    return [] if value is None else _changed(GroupChangeKind.TARGET_CHANGED, old, after)


def set_current_assignment(
    group: GroupState, key: MemberKey, value: CurrentValue | None
) -> list[GroupChange]:
    """Set a member's current assignment."""
    _, old = _member(group, key)
    after = _store(group, replace(old, current=None if value is None else _current(value)))
    return [] if value is None else _changed(GroupChangeKind.ASSIGNMENT_CHANGED, old, after)


def _member(group: GroupState, key: MemberKey) -> tuple[Member | None, Member]:
    member = group.members.get(key.member_id)
    return member, member or Member(key.member_id)


def _store(group: GroupState, member: Member) -> Member:
    if member.info is None and member.current is None and member.target is None:
        group.members.pop(member.id, None)
    else:
        group.members[member.id] = member
    return member


def _changed(what: GroupChangeKind, before: Member, after: Member) -> list[GroupChange]:
    return [GroupChange(what, before, after, member=after.id)] if before != after else []


def _info(value: Info) -> MemberInfo:
    if isinstance(value, StreamsGroupMemberMetadataValue):
        return _streams_info(value)
    info = MemberInfo(
        rack_id=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        subscription=tuple(value.subscribed_topic_names),
    )
    if isinstance(value, ShareGroupMemberMetadataValue):
        return info
    classic = value.classic_member_metadata
    return replace(
        info,
        instance_id=value.instance_id,
        rebalance_timeout_ms=not_negative(value.rebalance_timeout_ms),
        session_timeout_ms=classic.session_timeout_ms if classic else None,
        regex=value.subscribed_topic_regex or None,
        assignor=value.server_assignor,
        classic_protocols=tuple(p.name for p in classic.supported_protocols) if classic else (),
    )


def _streams_info(value: StreamsGroupMemberMetadataValue) -> MemberInfo:
    endpoint = value.user_endpoint
    return MemberInfo(
        instance_id=value.instance_id,
        rack_id=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        rebalance_timeout_ms=not_negative(value.rebalance_timeout_ms),
        topology_epoch=value.topology_epoch,
        process_id=value.process_id,
        endpoint=f"{endpoint.host}:{endpoint.port}" if endpoint else None,
        client_tags=tuple((tag.key, tag.value) for tag in value.client_tags),
    )


def _target(value: TargetValue) -> Assignment:
    if isinstance(value, StreamsGroupTargetAssignmentMemberValue):
        return _tasks(value.active_tasks, value.standby_tasks, value.warmup_tasks)
    return _by_id(value.topic_partitions)


def _current(value: CurrentValue) -> CurrentAssignment:
    revoking: Assignment = ()
    if isinstance(value, StreamsGroupCurrentMemberAssignmentValue):
        assigned = _tasks(value.active_tasks, value.standby_tasks, value.warmup_tasks)
        revoking = _tasks(
            value.active_tasks_pending_revocation,
            value.standby_tasks_pending_revocation,
            value.warmup_tasks_pending_revocation,
        )
    else:
        assigned = _by_id(value.assigned_partitions)
        if isinstance(value, ConsumerGroupCurrentMemberAssignmentValue):
            revoking = _by_id(value.partitions_pending_revocation)
    return CurrentAssignment(
        assigned=assigned,
        revoking=revoking,
        epoch=value.member_epoch,
        previous_epoch=value.previous_member_epoch,
        state=value.state,
    )


def _by_id(topics: Iterable[_TopicById]) -> Assignment:
    return tuple(
        AssignedPartitions(tuple(topic.partitions), topic_id=topic.topic_id) for topic in topics
    )


def _tasks(
    active: Iterable[_Tasks], standby: Iterable[_Tasks], warmup: Iterable[_Tasks]
) -> Assignment:
    roles = {"active": active, "standby": standby, "warmup": warmup}
    return tuple(
        AssignedPartitions(tuple(task.partitions), subtopology=task.subtopology_id, role=role)
        for role, tasks in roles.items()
        for task in tasks
    )
