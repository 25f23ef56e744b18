"""Formats groups and their events as the JSON and text that `groups show` and `history` print.

Topics have a name and an id; one that the logs do not have is null.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from kraftwire.console.output import pick_fields
from kraftwire.groups.changes import GroupEvent, GroupPart
from kraftwire.groups.share_state import DELIVERY_STATES, SharePartition, StateBatch
from kraftwire.groups.state import (
    MEMBER_STATES,
    AssignedPartitions,
    Assignment,
    ClassicState,
    CommittedOffset,
    CurrentAssignment,
    GroupEpochs,
    GroupState,
    GroupType,
    Member,
    MemberInfo,
    ResolvedRegex,
    ShareTopics,
)
from kraftwire_messages.kafka import StreamsGroupTopologyValue
from kraftwire_wire.uuids import format_uuid

Json = dict[str, Any]


class GroupFormat:
    """Formats groups; `names` has the names of topics by id, and may grow meanwhile."""

    def __init__(self, names: Mapping[UUID, str]) -> None:
        self.names = names

    def group_json(self, group: GroupState) -> Json:
        """Return a group without its members and offsets."""
        obj: Json = {
            "group": group.name,
            "type": group.type.value,
            "state": group.state,
            "partition": group.partition,
        }
        for part in (group.classic, group.epochs):
            if part is not None:
                obj |= self.part_json(part, group.type)
        if group.share_topics is not None:
            obj["topics"] = self.part_json(group.share_topics, group.type)
        if group.regexes:
            obj["regexes"] = [
                {"regex": regex, **self.part_json(found, group.type)}
                for regex, found in group.regexes.items()
            ]
        if group.topology is not None:
            obj["topology"] = self.part_json(group.topology, group.type)
        return obj

    def members_json(self, group: GroupState) -> Json:
        """Return the members of a group."""
        return {"members": [self.part_json(m, group.type) for m in group.members.values()]}

    def offsets_json(self, group: GroupState) -> Json:
        """Return the offsets of a group, and the progress of a share group."""
        obj: Json = {
            "offsets": [
                at._asdict() | _offset(offset) for at, offset in sorted(group.offsets.items())
            ],
            "pending": [
                at._asdict() | _offset(offset)
                for at, waiting in sorted(group.pending.items())
                for offset in waiting.values()
            ],
        }
        if group.share_partitions:
            obj["sharePartitions"] = [
                self.topic_json(None, at.topic_id)
                | {"partition": at.partition}
                | _share_partition(progress.get())
                for at, progress in sorted(group.share_partitions.items())
            ]
        return obj

    def event_json(self, event: GroupEvent) -> Json:
        change = event.change
        obj: Json = {
            "log": event.topic,
            "logPartition": event.log_partition,
            "offset": event.offset,
            "timestamp": event.timestamp,
            "group": event.group,
            "type": event.kind.value,
            "event": change.what.value,
        }
        if change.member is not None:
            obj["memberId"] = change.member
        if change.regex is not None:
            obj["regex"] = change.regex
        if change.partition is not None:
            obj |= self.topic_json(change.topic, change.topic_id) | {"partition": change.partition}
        for name, part in (("before", change.before), ("after", change.after)):
            obj[name] = None if part is None else self.part_json(part, event.kind)
        return obj

    def topic_json(self, name: str | None, topic_id: UUID | None) -> Json:
        """Return the name and the id of a topic; one of them may be unknown."""
        return {"topic": self.topic_name(name, topic_id), "topicId": _id(topic_id)}

    def topic_name(self, name: str | None, topic_id: UUID | None) -> str | None:
        """Return the name of a topic; None if it is unknown."""
        if name is None and topic_id is not None:
            return self.names.get(topic_id)
        return name

    def topic_text(self, name: str | None, topic_id: UUID | None) -> str | None:
        """Return the name of a topic, or its id if the name is unknown."""
        return self.topic_name(name, topic_id) or _id(topic_id)

    def part_json(self, part: GroupPart, kind: GroupType) -> Json:
        """Return one part of a group; the meaning of its members' states depends on `kind`."""
        match part:
            case CommittedOffset():
                return _offset(part)
            case ClassicState():
                return pick_fields(part, "protocol_type protocol generation leader state_timestamp")
            case GroupEpochs():
                obj = pick_fields(part, "epoch metadata_hash assignment_epoch assignment_timestamp")
                return obj | _present(pick_fields(part, "validated_topology_epoch"))
            case Member():
                return self._member(part, kind)
            case ResolvedRegex():
                return {"topics": list(part.topics), **pick_fields(part, "version timestamp")}
            case ShareTopics():
                return {
                    name: self._assignment(getattr(part, name))
                    for name in ("initializing", "initialized", "deleting")
                }
            case SharePartition():
                return _share_partition(part)
            case StreamsGroupTopologyValue():
                return part.to_json(part.VALID_VERSIONS[-1])

    def _member(self, member: Member, kind: GroupType) -> Json:
        obj: Json = {"memberId": member.id}
        if member.info is not None:
            obj |= self._info(member.info)
        if member.current is not None:
            obj |= self._current(member.current, kind)
        if member.target is not None:
            obj["targetAssignment"] = self._assignment(member.target)
        return obj

    def _info(self, info: MemberInfo) -> Json:
        obj = pick_fields(
            info,
            "instance_id client_id client_host rack_id rebalance_timeout_ms session_timeout_ms",
        )
        obj["subscription"] = None if info.subscription is None else list(info.subscription)
        obj["subscriptionRegex"] = info.regex
        more = {
            "assignor": info.assignor,
            "ownedPartitions": self._assignment(info.owned),
            "classicProtocols": list(info.classic_protocols),
            "subscriptionBytes": _bytes(info.protocol_bytes),
            **pick_fields(info, "topology_epoch process_id endpoint"),
            "clientTags": dict(info.client_tags),
        }
        return obj | _present(more)

    def _current(self, current: CurrentAssignment, kind: GroupType) -> Json:
        obj: Json = {}
        if current.epoch is not None:
            obj = pick_fields(current, "epoch previous_epoch")
            obj["memberState"] = current.state
            obj["memberStateName"] = member_state(kind, current.state)
        assigned = current.assigned
        obj["assignment"] = None if assigned is None else self._assignment(assigned)
        more = {
            "assignmentBytes": _bytes(current.assigned_bytes),
            "pendingRevocation": self._assignment(current.revoking),
        }
        return obj | _present(more)

    def _assignment(self, assignment: Assignment) -> list[Json]:
        return [self._assigned(assigned) for assigned in assignment]

    def _assigned(self, assigned: AssignedPartitions) -> Json:
        if assigned.subtopology is not None:
            obj = pick_fields(assigned, "subtopology role")
        else:
            obj = self.topic_json(assigned.topic, assigned.topic_id)
        return obj | {"partitions": list(assigned.partitions)}

    def assignment_text(self, assignment: Iterable[AssignedPartitions]) -> str:
        """Return an assignment for people: `tea 0-2, 5; cups 0`."""
        texts = []
        for assigned in assignment:
            owner = self.topic_text(assigned.topic, assigned.topic_id)
            if assigned.subtopology is not None:
                owner = f"{assigned.role} {assigned.subtopology}"
            texts.append(f"{owner} {ranges(assigned.partitions)}".rstrip())
        return "; ".join(texts)


def member_state(kind: GroupType, state: int | None) -> str | None:
    """Return the name of a member's state; None if it has none."""
    return None if state is None else MEMBER_STATES[kind].get(state)


def client_text(info: MemberInfo) -> str:
    """Return a member's client for people: `console-consumer /172.17.0.1`."""
    return f"{info.client_id} {info.client_host}"


def subscription_text(info: MemberInfo) -> str:
    """Return what a member subscribes to: topics, then the regular expression."""
    return ", ".join(filter(None, (*(info.subscription or ()), info.regex)))


def ranges(numbers: Iterable[int]) -> str:
    """Return numbers for people: `0-2, 5`."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][1] + 1 == number:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(f"{low}" if low == high else f"{low}-{high}" for low, high in runs)


def batches_text(batches: Iterable[StateBatch]) -> str:
    """Return the states of records for people: `5-39 Available, 1 delivery`."""
    texts = []
    for batch in batches:
        state = DELIVERY_STATES.get(batch.delivery_state, batch.delivery_state)
        offsets = f"{batch.first_offset}-{batch.last_offset}"
        times = "delivery" if batch.delivery_count == 1 else "deliveries"
        texts.append(f"{offsets} {state}, {batch.delivery_count} {times}")
    return "; ".join(texts)


def _offset(offset: CommittedOffset) -> Json:
    return {"topicId": _id(offset.topic_id)} | pick_fields(
        offset,
        "offset leader_epoch metadata commit_timestamp expire_timestamp record_offset producer_id",
    )


def _share_partition(part: SharePartition) -> Json:
    obj = pick_fields(part, "start_offset snapshot_epoch state_epoch leader_epoch")
    obj |= pick_fields(part, "delivery_complete_count create_timestamp write_timestamp")
    obj["batches"] = [
        pick_fields(batch, "first_offset last_offset delivery_state")
        | {"deliveryStateName": DELIVERY_STATES.get(batch.delivery_state)}
        | {"deliveryCount": batch.delivery_count}
        for batch in part.batches
    ]
    return obj


def _present(obj: Json) -> Json:
    """Leave out empty values: most groups have few others."""
    return {name: value for name, value in obj.items() if value not in (None, [], {})}


def _id(topic_id: UUID | None) -> str | None:
    return None if topic_id is None else format_uuid(topic_id)


def _bytes(value: bytes | None) -> str | None:
    return None if value is None else base64.b64encode(value).decode()
