"""Groups and what happens to them as JSON objects, which `groups show` and `history` print.

Topics have name and id, and null for what the logs do not tell.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from kraftwire.groups.changes import Event, Part
from kraftwire.groups.share_state import DELIVERY_STATES, SharePartition, StateBatch
from kraftwire.groups.state import (
    MEMBER_STATES,
    Assigned,
    Assignment,
    Classic,
    CommittedOffset,
    Current,
    Epochs,
    GroupState,
    GroupType,
    Member,
    MemberInfo,
    ResolvedRegex,
    ShareTopics,
    TopicPartition,
)
from kraftwire_messages.kafka import StreamsGroupTopologyValue
from kraftwire_wire.uuids import format_uuid

Json = dict[str, Any]


class GroupForms:
    """The forms; `names` are the topics' names by id, and may grow while it is used."""

    def __init__(self, names: Mapping[UUID, str]) -> None:
        """Forms that know these names."""
        self.names = names

    def group(self, group: GroupState) -> Json:
        """A group without its members and offsets."""
        obj: Json = {
            "group": group.name,
            "type": group.type.value,
            "state": group.state,
            "partition": group.partition,
        }
        if group.classic is not None:
            obj |= self.part(group.classic, group.type)
        if group.epochs is not None:
            obj |= self.part(group.epochs, group.type)
        if group.share_topics is not None:
            obj["topics"] = self.part(group.share_topics, group.type)
        if group.regexes:
            obj["regexes"] = [
                {"regex": regex, **self.part(found, group.type)}
                for regex, found in group.regexes.items()
            ]
        if group.topology is not None:
            obj["topology"] = self.part(group.topology, group.type)
        return obj

    def members(self, group: GroupState) -> Json:
        """The members of a group."""
        return {"members": [self.part(m, group.type) for m in group.members.values()]}

    def offsets(self, group: GroupState) -> Json:
        """The offsets of a group, and how far a share group has come."""
        obj: Json = {
            "offsets": [
                _place(at) | self.part(offset, group.type)
                for at, offset in sorted(group.offsets.items())
            ],
            "pending": [
                _place(at) | self.part(offset, group.type)
                for at, waiting in sorted(group.pending.items())
                for offset in waiting.values()
            ],
        }
        if group.share_partitions:
            obj["sharePartitions"] = [
                self.topic(None, at.topic_id)
                | {"partition": at.partition}
                | self.part(progress.get(), group.type)
                for at, progress in sorted(group.share_partitions.items())
            ]
        return obj

    def event(self, event: Event) -> Json:
        """Something that happened."""
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
            obj |= self.topic(change.topic, change.topic_id) | {"partition": change.partition}
        for name, part in (("before", change.before), ("after", change.after)):
            obj[name] = None if part is None else self.part(part, event.kind)
        return obj

    def topic(self, name: str | None, topic_id: UUID | None) -> Json:
        """A topic, by what is known of it."""
        return {"topic": self.name(name, topic_id), "topicId": _id(topic_id)}

    def name(self, name: str | None, topic_id: UUID | None) -> str | None:
        """The name of a topic; None where it is not known."""
        if name is None and topic_id is not None:
            return self.names.get(topic_id)
        return name

    def part(self, part: Part, kind: GroupType) -> Json:
        """One part of a group; `kind` says what the numbers of members' states mean."""
        match part:
            case CommittedOffset():
                return _offset(part)
            case Classic():
                return {
                    "protocolType": part.protocol_type,
                    "protocol": part.protocol,
                    "generation": part.generation,
                    "leader": part.leader,
                    "stateTimestamp": part.state_timestamp,
                }
            case Epochs():
                return _epochs(part)
            case Member():
                return self._member(part, kind)
            case ResolvedRegex():
                return {
                    "topics": list(part.topics),
                    "version": part.version,
                    "timestamp": part.timestamp,
                }
            case ShareTopics():
                return {
                    "initializing": self._assignment(part.initializing),
                    "initialized": self._assignment(part.initialized),
                    "deleting": self._assignment(part.deleting),
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
        obj: Json = {
            "instanceId": info.instance_id,
            "clientId": info.client_id,
            "clientHost": info.client_host,
            "rackId": info.rack_id,
            "rebalanceTimeoutMs": info.rebalance_timeout_ms,
            "sessionTimeoutMs": info.session_timeout_ms,
            "subscription": None if info.subscription is None else list(info.subscription),
            "subscriptionRegex": info.regex,
        }
        more = {
            "assignor": info.assignor,
            "ownedPartitions": self._assignment(info.owned),
            "classicProtocols": list(info.classic_protocols),
            "subscriptionBytes": _bytes(info.protocol_bytes),
            "topologyEpoch": info.topology_epoch,
            "processId": info.process_id,
            "endpoint": info.endpoint,
            "clientTags": dict(info.client_tags),
        }
        return obj | _present(more)

    def _current(self, current: Current, kind: GroupType) -> Json:
        obj: Json = {}
        if current.epoch is not None:
            obj["epoch"] = current.epoch
            obj["previousEpoch"] = current.previous_epoch
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

    def _assigned(self, assigned: Assigned) -> Json:
        partitions = {"partitions": list(assigned.partitions)}
        if assigned.subtopology is not None:
            return {"subtopology": assigned.subtopology, "role": assigned.role, **partitions}
        return self.topic(assigned.topic, assigned.topic_id) | partitions

    def assignment_text(self, assignment: Iterable[Assigned]) -> str:
        """An assignment for people: `tea 0-2, 5; cups 0`."""
        texts = []
        for assigned in assignment:
            what = self.name(assigned.topic, assigned.topic_id) or _id(assigned.topic_id)
            if assigned.subtopology is not None:
                what = f"{assigned.role} {assigned.subtopology}"
            texts.append(f"{what} {ranges(assigned.partitions)}".rstrip())
        return "; ".join(texts)


def member_state(kind: GroupType, state: int | None) -> str | None:
    """The name of a member's state; None where it has none."""
    return None if state is None else MEMBER_STATES[kind].get(state)


def client_text(info: MemberInfo) -> str:
    """Who a member is, for people: `console-consumer /172.17.0.1`."""
    return f"{info.client_id} {info.client_host}"


def subscription_text(info: MemberInfo) -> str:
    """What a member subscribes to, for people: topics, then the regular expression."""
    return ", ".join(filter(None, (*(info.subscription or ()), info.regex)))


def ranges(numbers: Iterable[int]) -> str:
    """Numbers for people: `0-2, 5`."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][1] + 1 == number:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(f"{low}" if low == high else f"{low}-{high}" for low, high in runs)


def batches_text(batches: Iterable[StateBatch]) -> str:
    """The states of records for people: `5-39 Available, 1 delivery`."""
    texts = []
    for batch in batches:
        state = DELIVERY_STATES.get(batch.delivery_state, batch.delivery_state)
        offsets = f"{batch.first_offset}-{batch.last_offset}"
        times = "delivery" if batch.delivery_count == 1 else "deliveries"
        texts.append(f"{offsets} {state}, {batch.delivery_count} {times}")
    return "; ".join(texts)


def _offset(offset: CommittedOffset) -> Json:
    return {
        "topicId": _id(offset.topic_id),
        "offset": offset.offset,
        "leaderEpoch": offset.leader_epoch,
        "metadata": offset.metadata,
        "commitTimestamp": offset.commit_timestamp,
        "expireTimestamp": offset.expire_timestamp,
        "recordOffset": offset.record_offset,
        "producerId": offset.producer_id,
    }


def _epochs(epochs: Epochs) -> Json:
    obj: Json = {
        "epoch": epochs.epoch,
        "metadataHash": epochs.metadata_hash,
        "assignmentEpoch": epochs.assignment_epoch,
        "assignmentTimestamp": epochs.assignment_timestamp,
    }
    return obj | _present({"validatedTopologyEpoch": epochs.validated_topology_epoch})


def _share_partition(part: SharePartition) -> Json:
    return {
        "startOffset": part.start_offset,
        "snapshotEpoch": part.snapshot_epoch,
        "stateEpoch": part.state_epoch,
        "leaderEpoch": part.leader_epoch,
        "deliveryCompleteCount": part.delivery_complete_count,
        "createTimestamp": part.create_timestamp,
        "writeTimestamp": part.write_timestamp,
        "batches": [
            {
                "firstOffset": batch.first_offset,
                "lastOffset": batch.last_offset,
                "deliveryState": batch.delivery_state,
                "deliveryStateName": DELIVERY_STATES.get(batch.delivery_state),
                "deliveryCount": batch.delivery_count,
            }
            for batch in part.batches
        ],
    }


def _present(obj: Json) -> Json:
    """Without what is empty: most groups lack most of it."""
    return {name: value for name, value in obj.items() if value not in (None, [], {})}


def _place(at: TopicPartition) -> Json:
    return {"topic": at.topic, "partition": at.partition}


def _id(topic_id: UUID | None) -> str | None:
    return None if topic_id is None else format_uuid(topic_id)


def _bytes(value: bytes | None) -> str | None:
    return None if value is None else base64.b64encode(value).decode()
