"""Which recorded request a request is: rules for what may differ.

Requests are compared by their decoded fields. A field is volatile where a rule says so: it
does not have to be equal, but of several requests that match, the one with the fewest
differences in volatile fields is the nearest. Between versions, a field that only one of them
has is left out where it is ignorable or has its default. Lists are compared without regard to
their order, since clients keep topics in sets.

`RULES` is the table of what is volatile, `POLLED` of what may be asked more often than it was
recorded, `QUIET` of what has an answer without a recording, `BOUND` of the ids that clients
make up and brokers repeat.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Any, NamedTuple

from kraftwire.difference import Difference, differences, is_ignored, split_pattern
from kraftwire_wire.layout import Field
from kraftwire_wire.message import Message, Struct


class Rule(NamedTuple):
    """Volatile fields: messages by a pattern, paths without indexes, and why."""

    messages: str
    paths: tuple[str, ...]
    why: str


RULES = (
    Rule("*", ("timeout_ms", "transaction_timeout_ms"), "how long a client waits"),
    Rule("*", ("member_id", "group_instance_id", "members.member_id"), "made up by either side"),
    Rule("*", ("generation_id", "generation_id_or_member_epoch", "member_epoch"), "generations"),
    Rule("*", ("groups.member_id", "groups.member_epoch"), "the same in OffsetFetch"),
    Rule("*", ("producer_id", "producer_epoch"), "handed out by brokers"),
    Rule("*", ("transactions.producer_id", "transactions.producer_epoch"), "the same in batches"),
    Rule("*", ("topics.partitions.current_leader_epoch",), "known or not, by timing"),
    Rule("*", ("topics.partitions.committed_leader_epoch",), "known or not, by timing"),
    Rule("*", ("topics.partitions.leader_epoch",), "known or not, by timing"),
    Rule("ApiVersionsRequest", ("client_software_name", "client_software_version"), "the client"),
    Rule("ApiVersionsRequest", ("cluster_id", "node_id"), "the cluster"),
    Rule(
        "MetadataRequest",
        (
            "allow_auto_topic_creation",
            "include_cluster_authorized_operations",
            "include_topic_authorized_operations",
            "topics.topic_id",
        ),
        "clients ask now so, now so",
    ),
    Rule(
        "JoinGroupRequest", ("session_timeout_ms", "rebalance_timeout_ms", "reason"), "for people"
    ),
    Rule("LeaveGroupRequest", ("members.reason", "members.group_instance_id"), "for people"),
    Rule("SyncGroupRequest", ("assignments.member_id",), "made up by either side"),
    Rule(
        "*GroupHeartbeatRequest",
        ("rebalance_timeout_ms", "topic_partitions"),
        "how far a member is with its assignment",
    ),
    Rule("SaslAuthenticateRequest", ("auth_bytes",), "may be redacted"),
    Rule("*Telemetry*Request", ("client_instance_id", "subscription_id", "metrics"), "measured"),
    Rule(
        "Share*Request",
        ("share_session_epoch", "max_wait_ms", "min_bytes", "max_bytes", "batch_size"),
        "sessions",
    ),
)
"""Volatile fields. Fetch and Produce are not here: see `log`."""

POLLED = (
    *("ApiVersions", "SaslHandshake", "SaslAuthenticate", "Metadata", "FindCoordinator"),
    *("*Heartbeat", "ListOffsets", "OffsetFetch", "OffsetForLeaderEpoch", "ShareFetch"),
    *("Describe*", "*Describe", "List*", "Get*", "PushTelemetry"),
)
"""APIs that clients ask again and again: the last answer is good for what was not recorded."""

QUIET = ("Heartbeat",)
"""Polled APIs that answer with defaults where nothing happened: from a member or in a generation
that was not recorded, or before that had happened of which the recorded answer tells."""

BOUND = {
    "ConsumerGroupHeartbeatRequest": "member_id",
    "ShareGroupHeartbeatRequest": "member_id",
    "StreamsGroupHeartbeatRequest": "member_id",
}
"""Fields in which a client names itself by chance (KIP-848); answers get the living name."""


_MEMBER_EPOCH = "member_epoch"
"""Below 0 it says that a member leaves, which is never volatile."""


class Shape(NamedTuple):
    """What of a request must be equal, and what only tells how near another is."""

    fixed: Any
    volatile: Counter[tuple[str, str]]


class Rules:
    """The rules of `RULES`, and those that a user adds as `Message.path`."""

    def __init__(self, ignore: Iterable[str] = ()) -> None:
        """`ValueError` where a text of `ignore` is no such path."""
        table = [(rule.messages, path) for rule in RULES for path in rule.paths]
        self._patterns = list(dict.fromkeys(table + [split_pattern(text) for text in ignore]))
        self._known: dict[tuple[str, str], bool] = {}

    def is_volatile(self, name: str, path: str) -> bool:
        """Whether a field may differ; `path` is without indexes."""
        key = name, path
        if key not in self._known:
            self._known[key] = any(is_ignored(name, path, each) for each in self._patterns)
        return self._known[key]

    def shape(self, message: Message, versions: tuple[int, ...]) -> Shape:
        """A request in the fields that all versions have, and those that cannot be left out."""
        volatile: Counter[tuple[str, str]] = Counter()
        shaper = _Shaper(self, type(message).__name__, versions, volatile)
        return Shape(shaper.value(message, ""), volatile)

    def differences(self, actual: Any, expected: Any, name: str) -> list[Difference]:
        """Where two trees of requests differ in what is not volatile."""
        return [
            found
            for found in differences(actual, expected)
            if not any(is_ignored(name, found.path, each) for each in self._patterns)
        ]


class _Shaper(NamedTuple):
    """Makes the shape of one message."""

    rules: Rules
    name: str
    versions: tuple[int, ...]
    volatile: Counter[tuple[str, str]]

    def value(self, value: Any, path: str) -> Any:
        if isinstance(value, Struct):
            return self._struct(value, path)
        if isinstance(value, list):
            return tuple(sorted((self.value(item, path) for item in value), key=repr))
        return value

    def _struct(self, value: Struct, path: str) -> Any:
        fixed = []
        for field in value.LAYOUT.fields:
            step = f"{path}.{field.name}" if path else field.name
            inner: Any = getattr(value, field.name)
            if self._is_left_out(field, inner):
                continue
            if field.name == _MEMBER_EPOCH and inner < 0:
                fixed.append((field.name, inner))
            elif self.rules.is_volatile(self.name, step):
                self.volatile[step, repr(inner)] += 1
            else:
                fixed.append((field.name, self.value(inner, step)))
        return tuple(fixed)

    def _is_left_out(self, field: Field, value: object) -> bool:
        if all(version in field.versions for version in self.versions):
            return False
        return field.ignorable or value == ([] if field.is_array else field.default)


def distance(
    living: Shape, recorded: Shape, names: Mapping[str, str] = MappingProxyType({})
) -> int:
    """In how many volatile fields two requests differ; `names` maps recorded to living texts."""
    other = recorded.volatile
    if names:
        other = Counter()
        living_texts = {repr(old): repr(new) for old, new in names.items()}
        for (path, text), count in recorded.volatile.items():
            other[path, living_texts.get(text, text)] += count
    return sum(max(0, count - other.get(key, 0)) for key, count in living.volatile.items())


def is_polled(api: str) -> bool:
    """Whether the last answer may be given again."""
    return any(fnmatchcase(api, pattern) for pattern in POLLED)
