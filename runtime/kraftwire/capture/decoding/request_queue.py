"""Requests held until their responses come; the oldest are forgotten if there are too many."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Hashable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kraftwire.capture.decoding.decoder import DecodedFrame


class RequestQueue:
    """Requests by a key; those with the same key are returned in the order they were added."""

    def __init__(self, max_requests: int, max_bytes: int) -> None:
        self._max_requests = max_requests
        self._max_bytes = max_bytes
        # Not a dict: finding its first key would visit all keys deleted before it.
        self._requests: OrderedDict[Hashable, deque[DecodedFrame]] = OrderedDict()
        self._count = 0
        self._size_bytes = 0

    def add(self, key: Hashable, request: DecodedFrame) -> None:
        """Hold a request; forget the oldest ones if the limits are exceeded."""
        self._requests.setdefault(key, deque()).append(request)
        self._count += 1
        self._size_bytes += len(request.frame.data)
        while self._count > self._max_requests or self._size_bytes > self._max_bytes:
            self.take(next(iter(self._requests)))

    def take(self, key: Hashable) -> DecodedFrame | None:
        """Remove and return the oldest request with a key; None if there is none."""
        requests = self._requests.get(key)
        if requests is None:
            return None
        request = requests.popleft()
        if not requests:
            del self._requests[key]
        self._count -= 1
        self._size_bytes -= len(request.frame.data)
        return request
