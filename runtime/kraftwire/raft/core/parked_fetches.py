"""Fetches that wait at a leader for something to answer, by the time they may wait.

Clients choose how long they wait, up to 24 days, so what they leave behind is bounded: a Fetch
goes when its client does, and of too many the oldest is answered. Nothing here is looked
through for the next deadline, nor for what is due.
"""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

from kraftwire.raft.core.inputs import Request


class Parked(NamedTuple):
    """A Fetch that waits for something to answer."""

    request: Request
    deadline: int


class ParkedFetches:
    """See the module; times are in ms."""

    def __init__(self) -> None:
        self._numbers = count()
        self._waiting: dict[int, Parked] = {}
        """In the order in which they came."""
        self._deadlines: list[tuple[int, int]] = []
        """A heap of deadlines and numbers, some of which do not wait any more."""

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, request: Request, deadline: int) -> None:
        """Let a Fetch wait."""
        number = next(self._numbers)
        self._waiting[number] = Parked(request, deadline)
        heappush(self._deadlines, (deadline, number))

    def remove(self, token: object) -> None:
        """Forget the Fetches that came with a token, if any waits."""
        for number in [key for key, one in self._waiting.items() if one.request.token is token]:
            del self._waiting[number]
        self._drop_gone()

    def take_oldest(self) -> Request:
        """Remove and return the Fetch that came first."""
        request = self._waiting.pop(next(iter(self._waiting))).request
        self._drop_gone()
        return request

    def take_all(self) -> list[Request]:
        """Remove and return all, in the order in which they came."""
        requests = [one.request for one in self._waiting.values()]
        self._waiting.clear()
        self._deadlines.clear()
        return requests

    def take_due(self, now: int) -> list[Request]:
        """Remove and return those that have waited long enough, in the order of their times."""
        due = []
        while self._deadlines and self._deadlines[0][0] <= now:
            _, number = heappop(self._deadlines)
            one = self._waiting.pop(number, None)
            if one is not None:
                due.append(one.request)
        self._drop_gone()
        return due

    def next_deadline(self) -> int | None:
        """When the first of them has waited long enough; None if nothing waits."""
        return self._deadlines[0][0] if self._deadlines else None

    def _drop_gone(self) -> None:
        """Keep a Fetch that waits in front, and no more entries than twice those."""
        if len(self._deadlines) > 2 * len(self._waiting) + 16:
            self._deadlines = sorted((one.deadline, key) for key, one in self._waiting.items())
        while self._deadlines and self._deadlines[0][1] not in self._waiting:
            heappop(self._deadlines)
