"""Bounds a server's connections: in total, per address, and with some reserved for trusted clients.

A client is trusted if TLS has authenticated it or if the server knows its host. Other clients never
get reserved connections. When a limit is reached, a new connection replaces an old one: of the same
address if that has its maximum, and otherwise of the address with most connections. Connections
that have not sent a valid request go first, the oldest before the others; then those that have been
idle longest. If only busy ones are left, a trusted client replaces an untrusted one, and any other
client is refused. So half-open connections only replace each other, and a busy replica keeps its
connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from ipaddress import IPv6Address, IPv6Network, ip_address
from typing import NamedTuple, Protocol

from kraftwire.net.complaints import Reason
from kraftwire.net.limits import Limits

_SITE_BITS = 64
"""The bits of an IPv6 network: a host in it can use any of its addresses."""


class Guest(Protocol):
    """A connection, as far as `Admission` needs to know it."""

    address: str
    is_proven: bool
    idle_since: float

    @property
    def is_idle(self) -> bool:
        """Whether it has no open request or response."""

    @property
    def is_trusted(self) -> bool:
        """Whether it is authenticated or comes from a known host."""

    def drop(self, reason: Reason, detail: object) -> None:
        """Close the connection."""


class _Candidate(NamedTuple):
    """A connection that may be closed, and the number of connections of its address."""

    connections: int
    guest: Guest


class Admission:
    """The connections of a server."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._sites: dict[str, set[Guest]] = {}
        self._count = 0
        self._most = limits.connections
        """The current limit, which is lower while file descriptors are scarce."""
        self._is_empty = asyncio.Event()
        self._is_empty.set()

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Guest]:
        """Iterate over a copy, so that connections may close meanwhile."""
        return iter([guest for guests in self._sites.values() for guest in guests])

    def admit(self, guest: Guest, *, is_scarce: bool = False) -> bool:
        """Add a new connection, which may replace another; return False if it is refused.

        `is_scarce` means that file descriptors have run out. The limit then stays at the current
        number until half of the connections are closed: a connection that is replaced frees a low
        descriptor, which alone would look like plenty.
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
        """Remove a connection that is closing; do nothing if it was removed before."""
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
        await self._is_empty.wait()

    def _has_room(self, guest: Guest, site: str) -> bool:
        """Whether there is room for one more; close another connection if necessary."""
        limits = self._limits
        if len(self._sites.get(site, ())) >= limits.connections_per_address:
            return _make_room(self._candidates(site))
        if self._count >= self._most:
            if _make_room(self._untrusted()):
                return True
            return guest.is_trusted and (
                _make_room(self._candidates(*self._sites))
                or _make_room(self._untrusted(), even_busy=True)
            )
        if self._count < limits.open_connections or guest.is_trusted:
            return True
        strangers = self._untrusted()
        return len(strangers) < limits.open_connections or _make_room(strangers)

    def _untrusted(self) -> list[_Candidate]:
        return [one for one in self._candidates(*self._sites) if not one.guest.is_trusted]

    def _candidates(self, *sites: str) -> list[_Candidate]:
        return [
            _Candidate(len(self._sites[site]), guest)
            for site in sites
            for guest in self._sites[site]
        ]


def _make_room(guests: Iterable[_Candidate], *, even_busy: bool = False) -> bool:
    """Close the least important of these connections; return False if none may be closed."""

    def is_at_work(guest: Guest) -> bool:
        return guest.is_proven and not guest.is_idle

    leaving = min(
        (one for one in guests if even_busy or not is_at_work(one.guest)),
        key=lambda one: (
            is_at_work(one.guest),
            -one.connections,
            one.guest.is_proven,
            one.guest.idle_since,
        ),
        default=None,
    )
    if leaving is None:
        return False
    leaving.guest.drop(Reason.FLOOD, "it made room for a new connection")
    return True


def plain_address(address: str) -> str:
    """Return an IPv4-mapped address as IPv4, and any other in its shortest form."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    mapped = parsed.ipv4_mapped if isinstance(parsed, IPv6Address) else None
    return str(parsed if mapped is None else mapped)


def _site(address: str) -> str:
    """Return what counts as one address: an IPv4 address, or an IPv6 network."""
    plain = plain_address(address)
    if ":" not in plain:
        return plain
    try:
        return str(IPv6Network((IPv6Address(plain).packed, _SITE_BITS), strict=False))
    except ValueError:
        return plain
