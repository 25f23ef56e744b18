"""The Fetches that wait at a leader for new records, by deadline (Kafka's purgatory).

Clients choose how long they wait, up to 24 days, so the leader bounds the number of Fetches: it
removes those of clients that disconnect, and answers the oldest if there are too many. A heap
finds the next deadline and the due Fetches without a search.
"""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count

from kraftwire.raft.core.inputs import Request


class FetchPurgatory:
    """Waiting Fetches in the order of their arrival; times are in ms."""

    def __init__(self) -> None:
        self._numbers = count()
        self._waiting: dict[int, tuple[Request, int]] = {}
        """Requests and deadlines."""
        self._deadlines: list[tuple[int, int]] = []
        """A heap of deadlines and numbers; some of the numbers no longer wait."""

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, request: Request, deadline: int) -> None:
        number = next(self._numbers)
        self._waiting[number] = request, deadline
        heappush(self._deadlines, (deadline, number))

    def remove(self, token: object) -> None:
        for number in [key for key, (one, _) in self._waiting.items() if one.token is token]:
            del self._waiting[number]
        self._prune()

    def pop_oldest(self) -> Request:
        request, _ = self._waiting.pop(next(iter(self._waiting)))
        self._prune()
        return request

    def pop_all(self) -> list[Request]:
        requests = [request for request, _ in self._waiting.values()]
        self._waiting.clear()
        self._deadlines.clear()
        return requests

    def pop_due(self, now: int) -> list[Request]:
        """Remove and return the Fetches whose deadline has come, in the order of the deadlines."""
        due = []
        while self._deadlines and self._deadlines[0][0] <= now:
            _, number = heappop(self._deadlines)
            if number in self._waiting:
                due.append(self._waiting.pop(number)[0])
        self._prune()
        return due

    def next_deadline(self) -> int | None:
        """Return the first deadline; None if no Fetch waits."""
        return self._deadlines[0][0] if self._deadlines else None

    def _prune(self) -> None:
        """Bound the heap by the number of Fetches, and remove done ones from its top."""
        if len(self._deadlines) > 2 * len(self._waiting) + 16:
            self._deadlines = sorted((end, key) for key, (_, end) in self._waiting.items())
        while self._deadlines and self._deadlines[0][1] not in self._waiting:
            heappop(self._deadlines)
