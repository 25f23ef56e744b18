"""Reads the numeric settings of a node: timeouts, sizes and limits."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

from kraftwire.net.limits import MOST_PEERS, Limits
from kraftwire.node.settings.property_reader import (
    MAX_INT,
    MAX_LONG,
    PropertyReader,
    parse_number,
)

T = TypeVar("T")

_HOUR_MS = 3_600_000
_WEEK_MS = 7 * 24 * _HOUR_MS
_MIN_SEGMENT = 8 << 20
_MIN_PEERS = 8
"""More voters than a useful quorum has, so that they keep their connections to one another."""
_MIN_BATCH = 1 << 20
_RETAINED = "kraftwire.retained.snapshots bounds what is kept"
_NO_EFFECT = {
    "controller.quorum.election.backoff.max.ms": (
        (0, MAX_INT),
        "elections wait up to twice the election timeout",
    ),
    "controller.quorum.append.linger.ms": (
        (0, MAX_INT),
        "records are written immediately, together with others that wait",
    ),
    "metadata.max.retention.bytes": ((-1, MAX_LONG), _RETAINED),
    "metadata.max.retention.ms": ((-1, MAX_LONG), _RETAINED),
}
"""Kafka's settings that are checked and otherwise ignored: their bounds, and the reason."""


def _number(key: str, default: int, least: int = 0, most: int = MAX_INT) -> Any:
    return field(default=default, metadata={"key": key, "bounds": (least, most)})


@dataclass(frozen=True, kw_only=True)
class QuorumProperties:
    """Timeouts of a replica in ms, and sizes in bytes; the names are those of `Config`."""

    election_timeout_ms: int = _number("controller.quorum.election.timeout.ms", 1000, 1)
    fetch_timeout_ms: int = _number("controller.quorum.fetch.timeout.ms", 2000, 1)
    request_timeout_ms: int = _number("controller.quorum.request.timeout.ms", 2000, 1)
    retry_backoff_ms: int = _number("controller.quorum.retry.backoff.ms", 20)
    auto_join: bool = field(
        default=False, metadata={"key": "controller.quorum.auto.join.enable", "bounds": None}
    )
    fetch_max_bytes: int = _number("controller.quorum.fetch.max.bytes", 1 << 20, 1)
    fetch_snapshot_max_bytes: int = _number(
        "controller.quorum.fetch.snapshot.max.bytes", 1 << 20, 1
    )
    max_batch_bytes: int = _number("kraftwire.max.batch.bytes", 8 << 20, _MIN_BATCH)
    """The largest batch that this node writes or decompresses."""


@dataclass(frozen=True, kw_only=True)
class LogProperties:
    """Sizes of segments, and intervals and number of snapshots."""

    segment_bytes: int = _number("metadata.log.segment.bytes", 1 << 30, _MIN_SEGMENT)
    segment_ms: int = _number("metadata.log.segment.ms", _WEEK_MS, 1, MAX_LONG)
    snapshot_bytes: int = _number(
        "metadata.log.max.record.bytes.between.snapshots", 20 << 20, 1, MAX_LONG
    )
    """How many bytes may be committed after a snapshot before the next one."""
    snapshot_interval_ms: int = _number(
        "metadata.log.max.snapshot.interval.ms", _HOUR_MS, 0, MAX_LONG
    )
    """The longest time between a commit and the next snapshot; 0 disables it."""
    retained_snapshots: int = _number("kraftwire.retained.snapshots", 2, 1)


def _read(reader: PropertyReader, kind: type[T]) -> T:
    values: dict[str, Any] = {}
    for one in fields(kind):  # type: ignore[arg-type]
        key, bounds = one.metadata["key"], one.metadata["bounds"]
        default: Any = one.default
        if bounds is None:
            values[one.name] = reader.flag(key, default)
        else:
            values[one.name] = reader.number(key, default, *bounds)
    return kind(**values)


def read_quorum(reader: PropertyReader) -> QuorumProperties:
    """Read `controller.quorum.*`."""
    return _read(reader, QuorumProperties)


def read_log(reader: PropertyReader) -> LogProperties:
    """Read `metadata.log.*`."""
    log = _read(reader, LogProperties)
    # Kafka's own tests get below the minimum with this setting.
    small = reader.number("internal.metadata.log.segment.bytes", log.segment_bytes, 1)
    return replace(log, segment_bytes=small)


def read_limits(reader: PropertyReader) -> Limits:
    """Read the limits of the transport; `socket.request.max.bytes` can only lower its own."""
    default = Limits()
    idle_ms = reader.number("connections.max.idle.ms", 600_000, 1, MAX_LONG)
    given = reader.number("socket.request.max.bytes", default.request_bytes, 1)
    longest = min(given, default.request_bytes)
    connections = reader.number("max.connections", default.connections, 1)
    return replace(
        default,
        request_bytes=longest,
        small_request_bytes=min(longest, default.small_request_bytes),
        idle_s=idle_ms / 1000,
        connections=connections,
        connections_per_address=reader.number(
            "max.connections.per.ip", default.connections_per_address, 1
        ),
        # Fewer than max.connections, so that new clients can get one that is not reserved.
        reserved_connections=reader.value(
            "kraftwire.reserved.connections",
            lambda text: parse_number(text, 0, connections - 1),
            None,
        ),
        peer_connections=reader.number(
            "kraftwire.peer.connections", default.peer_connections, _MIN_PEERS, MOST_PEERS
        ),
    )


def warn_of_no_effect(reader: PropertyReader) -> None:
    """Check Kafka's settings that have no effect here, and warn of each."""
    for key, (bounds, reason) in _NO_EFFECT.items():
        if reader.has(key):
            reader.number(key, 0, *bounds)
            reader.warn(key, f"it has no effect: {reason}")
