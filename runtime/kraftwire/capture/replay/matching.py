"""The rules for how a request may differ from the recorded one that it matches.

Requests are compared by their decoded fields. A volatile field need not be equal, but of several
matching requests, the one with the fewest differences in volatile fields is the nearest. A field
that only one of two versions has is ignored if it is ignorable or has its default. The order of
lists does not matter, since clients keep topics in sets.

`RULES` lists the volatile fields, `POLLED` the APIs that clients may call more often than recorded,
`QUIET` those that get an answer without a recording, and `BOUND` the ids that clients choose and
brokers repeat.
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

RULES: dict[str, tuple[str, ...]] = {
    "*": (
        # How long a client waits.
        *("timeout_ms", "transaction_timeout_ms"),
        # Chosen by either side.
        *("member_id", "group_instance_id", "members.member_id", "groups.member_id"),
        *("generation_id", "generation_id_or_member_epoch", "member_epoch", "groups.member_epoch"),
        # Assigned by brokers.
        *("producer_id", "producer_epoch"),
        *("transactions.producer_id", "transactions.producer_epoch"),
        # Known or not, depending on timing.
        "topics.partitions.current_leader_epoch",
        "topics.partitions.committed_leader_epoch",
        "topics.partitions.leader_epoch",
    ),
    "ApiVersionsRequest": (
        *("client_software_name", "client_software_version", "cluster_id", "node_id"),
    ),
    # Clients ask with either value.
    "MetadataRequest": (
        "allow_auto_topic_creation",
        "include_cluster_authorized_operations",
        "include_topic_authorized_operations",
        "topics.topic_id",
    ),
    "JoinGroupRequest": ("session_timeout_ms", "rebalance_timeout_ms", "reason"),
    "LeaveGroupRequest": ("members.reason", "members.group_instance_id"),
    "SyncGroupRequest": ("assignments.member_id",),
    # The progress of a member's assignment.
    "*GroupHeartbeatRequest": ("rebalance_timeout_ms", "topic_partitions"),
    # May be redacted.
    "SaslAuthenticateRequest": ("auth_bytes",),
    "*Telemetry*Request": ("client_instance_id", "subscription_id", "metrics"),
    "Share*Request": (
        *("share_session_epoch", "max_wait_ms", "min_bytes", "max_bytes", "batch_size"),
    ),
}
"""Volatile fields: paths without indexes, by a pattern of message names.

Fetch and Produce are matched by their records instead: see `partition_logs`.
"""

POLLED = (
    *("ApiVersions", "SaslHandshake", "SaslAuthenticate", "Metadata", "FindCoordinator"),
    *("*Heartbeat", "ListOffsets", "OffsetFetch", "OffsetForLeaderEpoch", "ShareFetch"),
    *("Describe*", "*Describe", "List*", "Get*", "PushTelemetry"),
)
"""APIs that clients poll: when the recorded answers are used up, the last one is repeated."""

QUIET = ("Heartbeat",)
"""Polled APIs that get a response of defaults if no recorded answer fits: the member or generation
was not recorded, or the event that the recorded answer announces has not happened yet."""

BOUND = {
    "ConsumerGroupHeartbeatRequest": "member_id",
    "ShareGroupHeartbeatRequest": "member_id",
    "StreamsGroupHeartbeatRequest": "member_id",
}
"""Fields with an id that a client chooses at random (KIP-848); answers get the live one."""


_MEMBER_EPOCH = "member_epoch"
"""A negative value means that a member leaves, which is never volatile."""


class RequestShape(NamedTuple):
    """The fields of a request that must be equal, and those that only measure the distance."""

    fixed: Any
    volatile: Counter[tuple[str, str]]


class MatchRules:
    """The rules of `RULES`, and those that a user adds as `Message.path`."""

    def __init__(self, ignore: Iterable[str] = ()) -> None:
        """Raise `ValueError` if a string in `ignore` is not such a path."""
        table = [(messages, path) for messages, paths in RULES.items() for path in paths]
        self._patterns = list(dict.fromkeys(table + [split_pattern(text) for text in ignore]))
        self._known: dict[tuple[str, str], bool] = {}

    def is_volatile(self, name: str, path: str) -> bool:
        """Whether a field may differ; `path` is without indexes."""
        key = name, path
        if key not in self._known:
            self._known[key] = any(is_ignored(name, path, each) for each in self._patterns)
        return self._known[key]

    def shape(self, message: Message, versions: tuple[int, ...]) -> RequestShape:
        """Return the fields of a request to compare between versions."""
        volatile: Counter[tuple[str, str]] = Counter()
        shaper = _Shaper(self, type(message).__name__, versions, volatile)
        return RequestShape(shaper.value(message, ""), volatile)

    def differences(self, actual: Any, expected: Any, name: str) -> list[Difference]:
        """Return the differences between two request trees, except in volatile fields."""
        return [
            found
            for found in differences(actual, expected)
            if not any(is_ignored(name, found.path, each) for each in self._patterns)
        ]


class _Shaper(NamedTuple):
    """Builds the shape of one message."""

    rules: MatchRules
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
    live: RequestShape, recorded: RequestShape, names: Mapping[str, str] = MappingProxyType({})
) -> int:
    """Return in how many volatile fields two requests differ; `names` maps recorded to live ids."""
    other = recorded.volatile
    if names:
        other = Counter()
        live_texts = {repr(old): repr(new) for old, new in names.items()}
        for (path, text), count in recorded.volatile.items():
            other[path, live_texts.get(text, text)] += count
    return sum(max(0, count - other.get(key, 0)) for key, count in live.volatile.items())


def is_polled(api: str) -> bool:
    """Whether the last answer may be repeated."""
    return any(fnmatchcase(api, pattern) for pattern in POLLED)
