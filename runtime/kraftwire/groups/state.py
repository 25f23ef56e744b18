"""The state of one group: its kind, its members, its offsets.

All four kinds of groups have one class: classic, consumer (KIP-848), share (KIP-932) and streams
(KIP-1071). Fields that a kind does not have are None or empty. None also replaces Kafka's -1 and
empty ids.

Offsets are separate from the rest, as in Kafka: they remain when a group changes its kind, and a
client can commit some without joining the group.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple
from uuid import UUID

from kraftwire.groups.share_state import ShareProgress
from kraftwire.log.small_files.checkpoints import TopicPartition
from kraftwire_messages.kafka import StreamsGroupTopologyValue


class GroupType(Enum):
    """The kinds of groups, as Kafka names them."""

    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"
    STREAMS = "streams"


class SharedPartition(NamedTuple):
    """A partition of a topic, by the topic's id."""

    topic_id: UUID
    partition: int


class CommittedOffset(NamedTuple):
    """A committed offset."""

    offset: int
    leader_epoch: int | None
    metadata: str
    commit_timestamp: int
    expire_timestamp: int | None
    topic_id: UUID | None
    record_offset: int
    """The offset of the record in its partition of `__consumer_offsets`."""
    producer_id: int | None = None
    """The producer, if the offset was committed in a transaction."""


class AssignedPartitions(NamedTuple):
    """Partitions of one topic, or of one subtopology in a role: `active`, `standby`, `warmup`."""

    partitions: tuple[int, ...]
    topic: str | None = None
    topic_id: UUID | None = None
    subtopology: str | None = None
    role: str | None = None


Assignment = tuple[AssignedPartitions, ...]


@dataclass(frozen=True, slots=True)
class MemberInfo:
    """A member's own data.

    `subscription` and `regex` are the topics it subscribes to. A member of a consumer group that
    uses the classic protocol has `classic_protocols`. `protocol_bytes` is what a member of a
    classic group sent if that is not a consumer's subscription.
    """

    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int | None = None
    session_timeout_ms: int | None = None
    subscription: tuple[str, ...] | None = None
    regex: str | None = None
    assignor: str | None = None
    owned: Assignment = ()
    classic_protocols: tuple[str, ...] = ()
    protocol_bytes: bytes | None = None
    topology_epoch: int | None = None
    process_id: str | None = None
    endpoint: str | None = None
    client_tags: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class CurrentAssignment:
    """The partitions that a member has: `assigned`, and `revoking`, which it has to give up."""

    assigned: Assignment | None = None
    revoking: Assignment = ()
    epoch: int | None = None
    previous_epoch: int | None = None
    state: int | None = None
    assigned_bytes: bytes | None = None
    """The assignment of a classic member, if it cannot be decoded."""


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a group. Each part comes from its own record, and is None without one.

    `target` is the target assignment; members of classic groups have none.
    """

    id: str
    info: MemberInfo | None = None
    current: CurrentAssignment | None = None
    target: Assignment | None = None


@dataclass(frozen=True, slots=True)
class ClassicState:
    """The data of a classic group besides its members."""

    protocol_type: str
    generation: int
    protocol: str | None
    leader: str | None
    state_timestamp: int | None


@dataclass(frozen=True, slots=True)
class GroupEpochs:
    """The epochs of the other kinds of groups."""

    epoch: int | None = None
    metadata_hash: int | None = None
    assignment_epoch: int | None = None
    assignment_timestamp: int | None = None
    validated_topology_epoch: int | None = None


class ResolvedRegex(NamedTuple):
    """The topics that matched a regular expression when it was resolved."""

    topics: tuple[str, ...]
    version: int
    timestamp: int


@dataclass(frozen=True, slots=True)
class ShareTopics:
    """The topics of a share group, by the progress of their initialization."""

    initializing: Assignment = ()
    initialized: Assignment = ()
    deleting: Assignment = ()


_PARTITION_STATES = {
    0: "Stable",
    1: "UnrevokedPartitions",
    2: "UnreleasedPartitions",
    127: "Unknown",
}
_TASK_STATES = {1: "Stable", 2: "UnrevokedTasks", 3: "UnreleasedTasks", 127: "Unknown"}

MEMBER_STATES: dict[GroupType, dict[int, str]] = {
    GroupType.CLASSIC: {},
    GroupType.CONSUMER: _PARTITION_STATES,
    GroupType.SHARE: _PARTITION_STATES,
    GroupType.STREAMS: _TASK_STATES,
}
"""The names of `CurrentAssignment.state`, by the kind of group; streams groups count from 1."""


@dataclass(slots=True)
class GroupState:
    """A group after the records that were applied."""

    name: str
    partition: int | None = None
    """The partition of `__consumer_offsets` that contains it."""
    kind: GroupType | None = None
    """The kind according to its records; see `type`."""
    deleted: bool = False
    """Whether its metadata was deleted, and only offsets or share state are left."""
    classic: ClassicState | None = None
    epochs: GroupEpochs | None = None
    members: dict[str, Member] = field(default_factory=dict)
    regexes: dict[str, ResolvedRegex] = field(default_factory=dict)
    share_topics: ShareTopics | None = None
    topology: StreamsGroupTopologyValue | None = None
    offsets: dict[TopicPartition, CommittedOffset] = field(default_factory=dict)
    pending: dict[TopicPartition, dict[int, CommittedOffset]] = field(default_factory=dict)
    """Offsets of transactions without a marker, by producer."""
    share_partitions: dict[SharedPartition, ShareProgress] = field(default_factory=dict)

    @property
    def type(self) -> GroupType:
        """The kind of group; a group with only offsets counts as classic."""
        if self.kind is not None:
            return self.kind
        return GroupType.SHARE if self.share_partitions else GroupType.CLASSIC

    @property
    def state(self) -> str | None:
        """The state, as Kafka names it, as far as stored records show it.

        Classic groups are stored when they are stable or empty: only the coordinator knows whether
        one is rebalancing. None if only share state is known.
        """
        if self.deleted:
            return "Dead"
        if self.kind is None and self.share_partitions and not self.offsets:
            return None
        if not self.members:
            return "Empty"
        if self.type in (GroupType.CLASSIC, GroupType.SHARE):
            return "Stable"
        if self.type is GroupType.STREAMS and not self._has_valid_topology:
            return "NotReady"
        epochs = self.epochs or GroupEpochs()
        if (epochs.epoch or 0) > (epochs.assignment_epoch or 0):
            return "Assigning"
        return "Stable" if all(map(self._is_reconciled, self.members.values())) else "Reconciling"

    @property
    def is_empty(self) -> bool:
        return not (
            self.offsets
            or self.members
            or self.classic
            or self.epochs
            or self.pending
            or self.share_partitions
            or self.share_topics
            or self.regexes
            or self.topology
        )

    def become(self, kind: GroupType) -> None:
        if self.kind is not kind:
            self.clear()
            self.kind = kind
        self.deleted = False

    def clear(self) -> None:
        """Remove everything except offsets and share state."""
        self.classic = self.epochs = self.share_topics = self.topology = None
        self.members.clear()
        self.regexes.clear()

    @property
    def _has_valid_topology(self) -> bool:
        if self.topology is None:
            return False
        validated = self.epochs.validated_topology_epoch if self.epochs else None
        return validated is None or validated == self.topology.epoch

    def _is_reconciled(self, member: Member) -> bool:
        current = member.current
        if current is None or self.epochs is None:
            return False
        is_stable = MEMBER_STATES[self.type].get(current.state or 0) == "Stable"
        return is_stable and current.epoch == self.epochs.assignment_epoch
