"""How long a node waits and how much it takes: the settings that are numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kraftwire.net.limits import MOST_PEERS, Limits
from kraftwire.node.settings.property_reader import MAX_LONG, PropertyReader, parse_number

_HOUR_MS = 3_600_000
_WEEK_MS = 7 * 24 * _HOUR_MS
_LEAST_SEGMENT = 8 << 20
_LEAST_PEERS = 8
"""More than a quorum has that is of any use; so voters do not lose their places to one another."""
_LEAST_BATCH = 1 << 20
_NOT_DONE = {
    "controller.quorum.election.backoff.max.ms": "elections wait up to twice the election timeout",
    "controller.quorum.append.linger.ms": "records are written at once, with those that wait",
    "metadata.max.retention.bytes": "kraftwire.retained.snapshots says what is kept",
    "metadata.max.retention.ms": "kraftwire.retained.snapshots says what is kept",
}
"""What is checked, and has no effect."""


@dataclass(frozen=True, kw_only=True)
class QuorumProperties:
    """`controller.quorum.*`: how long a replica waits, in ms, and how much it asks for."""

    election_timeout_ms: int = 1000
    fetch_timeout_ms: int = 2000
    election_backoff_max_ms: int = 1000
    append_linger_ms: int = 25
    request_timeout_ms: int = 2000
    retry_backoff_ms: int = 20
    auto_join: bool = False
    fetch_max_bytes: int = 1 << 20
    fetch_snapshot_max_bytes: int = 1 << 20
    max_batch_bytes: int = 8 << 20
    """How large a batch may become, that this node writes or that it decompresses."""


@dataclass(frozen=True, kw_only=True)
class LogProperties:
    """`metadata.log.*` and `metadata.max.*`: segments, snapshots, and how long they are kept."""

    segment_bytes: int = 1 << 30
    segment_ms: int = _WEEK_MS
    retention_bytes: int = 100 << 20
    """How much log and snapshots may be before old ones go; negative for no limit."""
    retention_ms: int = _WEEK_MS
    """How long they are kept; negative for ever."""
    snapshot_bytes: int = 20 << 20
    """How much may be committed behind a snapshot before there is another one."""
    snapshot_interval_ms: int = _HOUR_MS
    """How long a snapshot may be behind what is committed; 0 for no such limit."""
    retained_snapshots: int = 2


def read_quorum(reader: PropertyReader) -> QuorumProperties:
    """`controller.quorum.*`."""
    default = QuorumProperties()

    def number(name: str, preset: int, least: int = 0) -> int:
        return reader.number(f"controller.quorum.{name}", preset, least)

    return QuorumProperties(
        election_timeout_ms=number("election.timeout.ms", default.election_timeout_ms, 1),
        fetch_timeout_ms=number("fetch.timeout.ms", default.fetch_timeout_ms, 1),
        election_backoff_max_ms=number("election.backoff.max.ms", default.election_backoff_max_ms),
        append_linger_ms=number("append.linger.ms", default.append_linger_ms),
        request_timeout_ms=number("request.timeout.ms", default.request_timeout_ms, 1),
        retry_backoff_ms=number("retry.backoff.ms", default.retry_backoff_ms),
        auto_join=reader.flag("controller.quorum.auto.join.enable", default.auto_join),
        fetch_max_bytes=number("fetch.max.bytes", default.fetch_max_bytes, 1),
        fetch_snapshot_max_bytes=number(
            "fetch.snapshot.max.bytes", default.fetch_snapshot_max_bytes, 1
        ),
        max_batch_bytes=reader.number(
            "kraftwire.max.batch.bytes", default.max_batch_bytes, _LEAST_BATCH
        ),
    )


def read_log(reader: PropertyReader) -> LogProperties:
    """`metadata.*`."""
    default = LogProperties()

    def number(name: str, preset: int, least: int) -> int:
        return reader.number(f"metadata.{name}", preset, least, MAX_LONG)

    segment_bytes = reader.number(
        "metadata.log.segment.bytes", default.segment_bytes, _LEAST_SEGMENT
    )
    return LogProperties(
        # Kafka's own way around the least size, for tests.
        segment_bytes=reader.number("internal.metadata.log.segment.bytes", segment_bytes, 1),
        segment_ms=number("log.segment.ms", default.segment_ms, 1),
        retention_bytes=number("max.retention.bytes", default.retention_bytes, -1),
        retention_ms=number("max.retention.ms", default.retention_ms, -1),
        snapshot_bytes=number("log.max.record.bytes.between.snapshots", default.snapshot_bytes, 1),
        snapshot_interval_ms=number(
            "log.max.snapshot.interval.ms", default.snapshot_interval_ms, 0
        ),
        retained_snapshots=reader.number(
            "kraftwire.retained.snapshots", default.retained_snapshots, 1
        ),
    )


def read_limits(reader: PropertyReader) -> Limits:
    """Return the limits of the transport, Kafka's and our own; requests never get longer."""
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
        # Of max.connections; those that no stranger gets. A newcomer always needs one of the rest.
        reserved_connections=reader.value(
            "kraftwire.reserved.connections",
            lambda text: parse_number(text, 0, connections - 1),
            None,
        ),
        peer_connections=reader.number(
            "kraftwire.peer.connections", default.peer_connections, _LEAST_PEERS, MOST_PEERS
        ),
    )


def warn_of_no_effect(reader: PropertyReader) -> None:
    """Tell of settings that are Kafka's, and known, and change nothing here."""
    for key, instead in _NOT_DONE.items():
        if reader.has(key):
            reader.warn(key, f"it has no effect: {instead}")
