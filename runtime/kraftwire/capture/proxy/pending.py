"""Limits the bytes that a proxy's connections hold: frames not yet complete or not yet passed on.

Each connection may hold a frame of 100 MiB in either direction, so the total has a limit. Beyond
it, the connection that holds the most is closed; that one rarely makes progress.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ProxyLimits:
    """How many clients a proxy accepts, and how much they may have pending."""

    connections: int = 500
    pending_bytes: int = 256 << 20


class PendingBytes:
    """The pending bytes of all connections."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.total = 0
        self._shares: set[PendingShare] = set()

    def share(self, close: Callable[[], None]) -> PendingShare:
        """Return the share of a new connection; `close` is called if it holds too much."""
        share = PendingShare(self, close)
        self._shares.add(share)
        return share

    def bound(self) -> None:
        """Close the connections with most pending bytes until the total is within the limit."""
        while self.total > self.most:
            biggest = max(self._shares, key=lambda share: share.size)
            biggest.end()
            biggest.close()

    def remove(self, share: PendingShare) -> None:
        self._shares.discard(share)


class PendingShare:
    """The pending bytes of one connection, in both directions."""

    def __init__(self, all_shares: PendingBytes, close: Callable[[], None]) -> None:
        self.close = close
        self.size = 0
        self._all = all_shares
        self._has_ended = False

    def add(self, count: int) -> None:
        """Count bytes that were read; a negative number counts bytes that were passed on."""
        if not self._has_ended:
            self.size += count
            self._all.total += count
            if count > 0:
                self._all.bound()

    def end(self) -> None:
        """Stop counting a closed connection; may be called again."""
        self._all.total -= self.size
        self.size = 0
        self._has_ended = True
        self._all.remove(self)
