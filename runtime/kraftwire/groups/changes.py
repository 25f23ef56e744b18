"""What a record changed in a group."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple
from uuid import UUID

from kraftwire.groups.share_state import SharePartition
from kraftwire.groups.state import (
    ClassicState,
    CommittedOffset,
    GroupEpochs,
    GroupType,
    Member,
    ResolvedRegex,
    ShareTopics,
)
from kraftwire_messages.kafka import StreamsGroupTopologyValue


class GroupChangeKind(Enum):
    """The kinds of changes of a group."""

    OFFSET_COMMITTED = "offset committed"
    OFFSET_DELETED = "offset deleted"
    GENERATION = "generation"
    GROUP_EPOCH = "group epoch"
    ASSIGNMENT_EPOCH = "target assignment epoch"
    GROUP_DELETED = "group deleted"
    MEMBER_JOINED = "member joined"
    MEMBER_CHANGED = "member changed"
    MEMBER_LEFT = "member left"
    TARGET_CHANGED = "target assignment changed"
    ASSIGNMENT_CHANGED = "assignment changed"
    REGEX_RESOLVED = "regex resolved"
    SHARE_TOPICS = "share topics"
    SHARE_STATE = "share state"
    SHARE_STATE_DELETED = "share state deleted"
    TOPOLOGY = "topology"


GroupPart = (
    CommittedOffset
    | ClassicState
    | GroupEpochs
    | Member
    | ResolvedRegex
    | ShareTopics
    | SharePartition
    | StreamsGroupTopologyValue
)
"""What changed: its state before or after."""


class GroupChange(NamedTuple):
    """One change of a group.

    `before` and `after` have the same type; None means that the object did not exist or no longer
    does. For `SHARE_STATE`, `after` is the content of the record, not the sum of all records.
    """

    what: GroupChangeKind
    before: GroupPart | None = None
    after: GroupPart | None = None
    member: str | None = None
    topic: str | None = None
    topic_id: UUID | None = None
    partition: int | None = None
    regex: str | None = None


class GroupEvent(NamedTuple):
    """A change, and the record that caused it.

    An offset committed in a transaction changes with the transaction's marker; the commit itself
    is at `CommittedOffset.record_offset`.
    """

    topic: str
    log_partition: int | None
    offset: int
    timestamp: int
    group: str
    kind: GroupType
    """The kind of the group, even if it is deleted."""
    change: GroupChange
