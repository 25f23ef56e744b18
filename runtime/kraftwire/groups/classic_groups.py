"""Classic groups: one record contains everything except the offsets.

Two such records are compared to find changes of members.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kraftwire.groups.changes import GroupChange, GroupChangeKind
from kraftwire.groups.consumer_protocol import (
    CONSUMER_PROTOCOL,
    decode_assignment,
    decode_subscription,
)
from kraftwire.groups.offsets import not_negative
from kraftwire.groups.state import ClassicState, CurrentAssignment, GroupState, Member, MemberInfo
from kraftwire_messages.kafka import GroupMetadataKey, GroupMetadataValue


def set_classic_group(
    group: GroupState, key: GroupMetadataKey, value: GroupMetadataValue | None
) -> list[GroupChange]:
    """Set the group's state; a tombstone deletes the group."""
    before, members = group.classic, group.members
    if value is None:
        group.clear()
        group.deleted = True
        return [GroupChange(GroupChangeKind.GROUP_DELETED, before)]
    group.classic = ClassicState(
        value.protocol_type,
        value.generation,
        value.protocol,
        value.leader,
        not_negative(value.current_state_timestamp),
    )
    is_consumer = value.protocol_type == CONSUMER_PROTOCOL
    group.members = {member.member_id: _member(member, is_consumer) for member in value.members}
    changes = []
    state_timestamp = group.classic.state_timestamp
    if before is None or replace(before, state_timestamp=state_timestamp) != group.classic:
        changes.append(GroupChange(GroupChangeKind.GENERATION, before, group.classic))
    changes += _member_changes(members, group.members)
    return changes


def _member(member: GroupMetadataValue.MemberMetadata, is_consumer: bool) -> Member:
    subscription = decode_subscription(member.subscription) if is_consumer else None
    assigned = decode_assignment(member.assignment) if is_consumer else None
    info = MemberInfo(
        instance_id=member.group_instance_id,
        rack_id=subscription.rack_id if subscription else None,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=not_negative(member.rebalance_timeout),
        session_timeout_ms=member.session_timeout,
        subscription=subscription.topics if subscription else None,
        owned=subscription.owned if subscription else (),
        protocol_bytes=None if subscription else member.subscription,
    )
    current = CurrentAssignment(
        assigned=assigned, assigned_bytes=member.assignment if assigned is None else None
    )
    return Member(member.member_id, info, current)


def _member_changes(before: dict[str, Member], after: dict[str, Member]) -> Iterator[GroupChange]:
    for name, member in before.items():
        if name not in after:
            yield GroupChange(GroupChangeKind.MEMBER_LEFT, member, member=name)
    for name, member in after.items():
        old = before.get(name)
        if old is None:
            yield GroupChange(GroupChangeKind.MEMBER_JOINED, None, member, member=name)
            continue
        if old.info != member.info:
            yield GroupChange(GroupChangeKind.MEMBER_CHANGED, old, member, member=name)
        if old.current != member.current:
            yield GroupChange(GroupChangeKind.ASSIGNMENT_CHANGED, old, member, member=name)
