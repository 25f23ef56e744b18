"""Which connections there may be: so many in all, so many of one address, some for known peers.

A client is trusted if TLS has authenticated it, or if the server knows its host: strangers never
get the places that are reserved for those. Where there are too many connections, one of those
that may have to leave makes room: of the same address if that has its fill, else of the address
that has most; first one that has not sent a sound request yet, whatever else it is doing, and
the oldest of those; then the one that has been idle longest. If there is none, a trusted
newcomer replaces a stranger at work, and any other is refused. So half-open connections, from
however many addresses, push out one another, and a replica at work keeps its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from ipaddress import IPv6Address, IPv6Network, ip_address
from typing import NamedTuple, Protocol

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

    @property
    def is_trusted(self) -> bool:
        """Whether it is authenticated, or of a host that is known."""

    def drop(self, reason: Reason, detail: object) -> None:
        """Close it."""


class _Sited(NamedTuple):
    """A connection, and how many its address has."""

    crowd: int
    guest: Guest


class Admission:
    """The connections of a server."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._sites: dict[str, set[Guest]] = {}
        self._count = 0
        self._most = limits.connections
        """How many there may be, as far as descriptors go."""
        self._is_empty = asyncio.Event()
        self._is_empty.set()

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Guest]:
        """All connections; they may be closed meanwhile."""
        return iter([guest for guests in self._sites.values() for guest in guests])

    def admit(self, guest: Guest, *, is_scarce: bool = False) -> bool:
        """Add a new connection, which may replace another; False if it is refused.

        `is_scarce` means that there is no file descriptor for one more than there are. From then
        on there are no more, until half of them have gone: who leaves for a newcomer gives up a
        low descriptor, which alone would look like plenty.
        """
        site = _site(guest.address)
        if is_scarce:
            self._most = min(self._most, self._count)
        elif self._count <= self._most // 2:
            self._most = self._limits.connections
        if not self._has_room(guest, site):
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

    def _has_room(self, guest: Guest, site: str) -> bool:
        """Whether one more may come, after another has left for it if need be."""
        limits = self._limits
        if len(self._sites.get(site, ())) >= limits.connections_per_address:
            return _make_room(self._sites_and_guests(site))
        if self._count >= self._most:
            if _make_room(self._strangers()):
                return True
            return guest.is_trusted and (
                _make_room(self._sites_and_guests(*self._sites))
                or _make_room(self._strangers(), even_busy=True)
            )
        if self._count < limits.open_connections or guest.is_trusted:
            return True
        strangers = self._strangers()
        return len(strangers) < limits.open_connections or _make_room(strangers)

    def _strangers(self) -> list[_Sited]:
        return [one for one in self._sites_and_guests(*self._sites) if not one.guest.is_trusted]

    def _sites_and_guests(self, *sites: str) -> list[_Sited]:
        return [
            _Sited(len(self._sites[site]), guest) for site in sites for guest in self._sites[site]
        ]


def _make_room(guests: Iterable[_Sited], *, even_busy: bool = False) -> bool:
    """Close the connection among these that is missed least; whether there is one."""

    def is_at_work(guest: Guest) -> bool:
        return guest.is_proven and not guest.is_idle

    leaving = min(
        (one for one in guests if even_busy or not is_at_work(one.guest)),
        key=lambda one: (
            is_at_work(one.guest),
            -one.crowd,
            one.guest.is_proven,
            one.guest.idle_since,
        ),
        default=None,
    )
    if leaving is None:
        return False
    leaving.guest.drop(Reason.FLOOD, "others came, and it is missed least")
    return True


def plain_address(address: str) -> str:
    """Return an address as IPv4 if that is what it stands for, else in its shortest form."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    mapped = parsed.ipv4_mapped if isinstance(parsed, IPv6Address) else None
    return str(parsed if mapped is None else mapped)


def _site(address: str) -> str:
    """Return the owner of an address: itself, or its network with IPv6."""
    plain = plain_address(address)
    if ":" not in plain:
        return plain
    try:
        return str(IPv6Network((IPv6Address(plain).packed, _SITE_BITS), strict=False))
    except ValueError:
        return plain
