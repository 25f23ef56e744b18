"""What a server gives to peers that nobody knows: bytes, connections and time.

A request becomes objects of up to sixty times its size, and nothing else is done meanwhile, so
the limits on bytes are far below Kafka's `socket.request.max.bytes` of 100 MiB, which has
produce requests in mind: what the replicas of a quorum ask takes a few hundred bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

MOST_PEERS = 32
"""The descriptors that are kept free of clients have room for no more."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """See the module; times are in seconds."""

    request_bytes: int = 64 << 10
    """The longest request."""
    small_request_bytes: int = 4 << 10
    """The longest that any connection may send at any time; others must have sent a sound one."""
    held_bytes: int = 1 << 20
    """What all requests longer than that may take together, until they are answered."""
    unsent_bytes: int = 64 << 20
    """What all answers may take together that are not sent; those stuck longest are dropped."""
    connections: int = 500
    """Kafka's `max.connections`."""
    connections_per_address: int = 100
    """Kafka's `max.connections.per.ip`."""
    reserved_connections: int | None = None
    """How many of all only authenticated clients and known hosts get; None for a tenth."""
    peer_connections: int = MOST_PEERS
    """How many connections a node opens to others."""
    frame_s: float = 10
    """From the start of a connection to its first request, and of a request to its end."""
    idle_s: float = 600
    """Between requests; Kafka's `connections.max.idle.ms`."""
    send_s: float = 30
    """How long a peer may take to read an answer."""
    closing_s: float = 2
    """How long a server that closes waits for answers."""

    @property
    def open_connections(self) -> int:
        """How many connections all clients may have that are not trusted."""
        reserved = self.reserved_connections
        return self.connections - (self.connections // 10 if reserved is None else reserved)
