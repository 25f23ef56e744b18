"""One request at a time to each node, and a pause behind one that has failed.

A response that comes when its request is given up is not taken: the replica may have gone on.
Times are in ms.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from itertools import count
from typing import Generic, NamedTuple, TypeVar

from kraftwire.address import Address

Node = TypeVar("Node", bound=Hashable)
Asked = TypeVar("Asked")


class InFlight(NamedTuple, Generic[Node, Asked]):
    """A request that is not answered yet."""

    node: Node
    asked: Asked
    deadline: int
    address: Address | None


class Connections(Generic[Node, Asked]):
    """What was asked of whom, by the numbers that requests are sent with."""

    def __init__(self, *, request_timeout_ms: int, retry_backoff_ms: int) -> None:
        self._timeout = request_timeout_ms
        self._backoff = retry_backoff_ms
        self._numbers = count(1)
        self._in_flight: dict[int, InFlight[Node, Asked]] = {}
        self._busy: dict[Node, int] = {}
        self._paused: dict[Node, int] = {}

    def is_ready(self, node: Node, now: int) -> bool:
        """Whether a node can be sent a request."""
        return node not in self._busy and now >= self._paused.get(node, now)

    def ready(self, nodes: Iterable[Node], now: int) -> list[Node]:
        """The nodes that can be sent one."""
        return [node for node in nodes if self.is_ready(node, now)]

    @property
    def is_idle(self) -> bool:
        """Whether nothing is in flight."""
        return not self._in_flight

    def asked(self) -> list[Asked]:
        """What is in flight."""
        return [one.asked for one in self._in_flight.values()]

    def send(self, node: Node, now: int, asked: Asked, address: Address | None = None) -> int:
        """Note a request to a node that is ready; return the number to send it with."""
        number = next(self._numbers)
        self._in_flight[number] = InFlight(node, asked, now + self._timeout, address)
        self._busy[node] = number
        self._paused.pop(node, None)
        return number

    def in_flight(self, number: int) -> InFlight[Node, Asked] | None:
        """Return the request with a number; None if it was given up."""
        return self._in_flight.get(number)

    def finish(self, number: int, now: int, *, failed: bool = False) -> Asked | None:
        """What was asked with a number, now that it is answered; None where it was given up."""
        one = self._in_flight.pop(number, None)
        if one is None:
            return None
        del self._busy[one.node]
        if failed:
            self.pause(one.node, now)
        return one.asked

    def pause(self, node: Node, now: int) -> None:
        """Leave a node alone for a while."""
        self._paused[node] = now + self._backoff

    def expire(self, now: int) -> list[Asked]:
        """Give up the requests whose time is over; what they asked."""
        if not self._in_flight:
            return []
        numbers = [number for number, one in self._in_flight.items() if one.deadline <= now]
        found = [self.finish(number, now, failed=True) for number in numbers]
        return [asked for asked in found if asked is not None]

    def forget(self) -> None:
        """Give up all requests, and all pauses: in another epoch other things are asked."""
        self._in_flight.clear()
        self._busy.clear()
        self._paused.clear()

    def deadlines(self, now: int) -> list[int]:
        """When requests are over, and pauses that are not over yet."""
        times = [one.deadline for one in self._in_flight.values()]
        if self._paused:
            times += [until for until in self._paused.values() if until > now]
        return times
