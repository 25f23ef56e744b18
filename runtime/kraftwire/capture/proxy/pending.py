"""What all connections of a proxy hold back together: frames that are not whole or not passed on.

Each connection may hold a frame of 100 MiB in both directions, so what they have in all is
bounded: the connection that holds most is closed, which is seldom one that does its work.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ProxyLimits:
    """How much clients may take of a proxy."""

    connections: int = 500
    pending_bytes: int = 256 << 20


class PendingBytes:
    """The sum over all connections."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.total = 0
        self._shares: set[Share] = set()

    def share(self, close: Callable[[], None]) -> Share:
        """Return the share of a new connection; `close` is called to end it."""
        share = Share(self, close)
        self._shares.add(share)
        return share

    def bound(self) -> None:
        """Close the connections with most pending, until the limit is kept."""
        while self.total > self.most:
            biggest = max(self._shares, key=lambda share: share.size)
            biggest.end()
            biggest.close()

    def remove(self, share: Share) -> None:
        """Count a connection no more."""
        self._shares.discard(share)


class Share:
    """What one connection holds back, in both directions."""

    def __init__(self, all_shares: PendingBytes, close: Callable[[], None]) -> None:
        self.close = close
        self.size = 0
        self._all = all_shares
        self._has_ended = False

    def add(self, count: int) -> None:
        """Count bytes that were read, or with a negative number bytes that were passed on."""
        if not self._has_ended:
            self.size += count
            self._all.total += count
            if count > 0:
                self._all.bound()

    def end(self) -> None:
        """The connection is closed, and holds nothing; it may have ended before."""
        self._all.total -= self.size
        self.size = 0
        self._has_ended = True
        self._all.remove(self)
