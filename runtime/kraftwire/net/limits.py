"""Limits of a server for its clients: bytes, connections and time.

Decoding a request takes memory of up to sixty times its size and blocks the loop. So the limits are
far below Kafka's `socket.request.max.bytes` of 100 MiB, which allows for produce requests; requests
of a quorum have a few hundred bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

MOST_PEERS = 32
"""As many as the reserved file descriptors allow."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Sizes are in bytes, times in seconds."""

    request_bytes: int = 64 << 10
    """The longest request."""
    small_request_bytes: int = 4 << 10
    """The longest request on a connection that has not sent a valid one yet."""
    held_bytes: int = 1 << 20
    """The total of all longer requests that are not answered yet."""
    unsent_bytes: int = 64 << 20
    """The total of unsent responses; the slowest readers are dropped first."""
    connections: int = 500
    """Kafka's `max.connections`."""
    connections_per_address: int = 100
    """Kafka's `max.connections.per.ip`."""
    reserved_connections: int | None = None
    """Connections for authenticated clients and known hosts; None for a tenth of all."""
    peer_connections: int = MOST_PEERS
    """How many connections a node opens to others."""
    frame_s: float = 10
    """For the first request of a connection, and for the rest of any request."""
    idle_s: float = 600
    """Between requests; Kafka's `connections.max.idle.ms`."""
    send_s: float = 30
    """For the client to read a response."""
    closing_s: float = 2
    """For open requests when the server closes."""

    @property
    def open_connections(self) -> int:
        """The number of connections of untrusted clients."""
        reserved = self.reserved_connections
        return self.connections - (self.connections // 10 if reserved is None else reserved)
