"""Which connections there may be: so many in all, so many of one address.

Where there are too many, one that is idle makes room: of the same address if that has its
fill, else of the address that has most; first one that has never sent a sound request, then
the one that has been idle longest. Where none is idle the newest is refused. So a flood from
one address closes its own connections, and a replica at work keeps its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from ipaddress import IPv6Address, IPv6Network, ip_address
from typing import Protocol

from kraftwire.net.complaints import Reason
from kraftwire.net.limits import Limits

_SITE_BITS = 64
"""An IPv6 host has as many addresses of its network as it likes."""


class Guest(Protocol):
    """A connection, as far as it matters here."""

    address: str
    is_proven: bool
    idle_since: float

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way."""
        ...

    def drop(self, reason: Reason, detail: object) -> None:
        """Close it."""
        ...


class Admission:
    """The connections of a server."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._sites: dict[str, set[Guest]] = {}
        self._count = 0
        self._is_empty = asyncio.Event()
        self._is_empty.set()

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Guest]:
        """All connections; they may be closed meanwhile."""
        return iter([guest for guests in self._sites.values() for guest in guests])

    def admit(self, guest: Guest) -> bool:
        """Take a new connection in, if need be in the place of another; False if it is refused."""
        site = _site(guest.address)
        if not self._has_room(site):
            return False
        self._sites.setdefault(site, set()).add(guest)
        self._count += 1
        self._is_empty.clear()
        return True

    def remove(self, guest: Guest) -> None:
        """The connection is closed, or about to be; it may have been removed before."""
        site = _site(guest.address)
        guests = self._sites.get(site)
        if guests is None or guest not in guests:
            return
        guests.discard(guest)
        if not guests:
            del self._sites[site]
        self._count -= 1
        if not self._count:
            self._is_empty.set()

    async def wait_until_empty(self) -> None:
        """Wait until all connections are closed."""
        await self._is_empty.wait()

    def _has_room(self, site: str) -> bool:
        """Whether one more may come, after another has gone for it if need be."""
        same = self._sites.get(site, set())
        if len(same) >= self._limits.connections_per_address:
            crowd = same
        elif self._count >= self._limits.connections:
            crowd = max(self._sites.values(), key=len)
        else:
            return True
        idle = (guest for guest in crowd if guest.is_idle)
        leaving = min(idle, key=lambda guest: (guest.is_proven, guest.idle_since), default=None)
        if leaving is None:
            return False
        leaving.drop(Reason.FLOOD, "it was idle, and others came")
        return True


def _site(address: str) -> str:
    """Whose an address is: itself, or its network with IPv6."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(IPv6Network((parsed.packed, _SITE_BITS), strict=False))
