"""The requests in flight: at most one to each node, and a pause after one that has failed.

Responses to dropped requests are ignored, since the replica may be in another epoch by now. Times
are in ms.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import NamedTuple

from kraftwire.address import Address
from kraftwire.raft.state.voters import ReplicaKey


class VoteQuery(NamedTuple):
    """Asks a voter for its vote, or for its pre-vote."""

    voter: ReplicaKey


class ResignationNotice(NamedTuple):
    """Tells a voter that the leader has resigned."""

    voter: ReplicaKey


class VersionsQuery(NamedTuple):
    """Asks a replica that is to become a voter which versions it supports."""

    voter: ReplicaKey


class SnapshotQuery(NamedTuple):
    """Asks the leader for a piece of a snapshot."""


Query = VoteQuery | ResignationNotice | VersionsQuery | SnapshotQuery
"""What a request is about, for requests whose response or failure does not show it."""


class InFlight(NamedTuple):
    """A request without an answer yet."""

    node: int
    query: Query | None
    deadline: int
    address: Address | None


class Connections:
    """The requests in flight, by the numbers that they are sent with."""

    def __init__(self, *, request_timeout_ms: int, retry_backoff_ms: int) -> None:
        self._timeout = request_timeout_ms
        self._backoff = retry_backoff_ms
        self._numbers = count(1)
        self._in_flight: dict[int, InFlight] = {}
        self._busy: set[int] = set()
        self._paused: dict[int, int] = {}

    def is_ready(self, node: int, now: int) -> bool:
        return node not in self._busy and now >= self._paused.get(node, now)

    def ready(self, nodes: Iterable[int], now: int) -> list[int]:
        return [node for node in nodes if self.is_ready(node, now)]

    @property
    def is_idle(self) -> bool:
        return not self._in_flight

    def send(self, node: int, now: int, query: Query | None, address: Address | None = None) -> int:
        """Add a request to a node that is ready; return the number to send it with."""
        number = next(self._numbers)
        self._in_flight[number] = InFlight(node, query, now + self._timeout, address)
        self._busy.add(node)
        self._paused.pop(node, None)
        return number

    def finish(self, number: int, now: int, *, failed: bool = False) -> InFlight | None:
        """Remove and return the request with a number; return None if it was dropped before."""
        request = self._in_flight.pop(number, None)
        if request is None:
            return None
        self._busy.remove(request.node)
        if failed:
            self.pause(request.node, now)
        return request

    def pause(self, node: int, now: int) -> None:
        self._paused[node] = now + self._backoff

    def expire(self, now: int) -> list[InFlight]:
        if not self._in_flight:
            return []
        late = [number for number, one in self._in_flight.items() if one.deadline <= now]
        return [one for number in late if (one := self.finish(number, now, failed=True))]

    def forget(self) -> None:
        """Drop all requests and pauses, which belong to an earlier role."""
        self._in_flight.clear()
        self._busy.clear()
        self._paused.clear()

    def deadlines(self, now: int) -> list[int]:
        """Return when requests time out, and when the remaining pauses end."""
        times = [one.deadline for one in self._in_flight.values()]
        if self._paused:
            times += [until for until in self._paused.values() if until > now]
        return times
