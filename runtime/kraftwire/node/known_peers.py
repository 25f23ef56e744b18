"""The addresses of voters and bootstrap servers, for outgoing and incoming connections.

The node closes connections to them last, and reserves connections for clients on their hosts. It
recognizes a client of a named host only after it has connected to that host itself, so that nothing
here waits for name resolution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kraftwire.address import Address
from kraftwire.net.admission import plain_address
from kraftwire.raft.state.voters import VoterSet


class KnownPeers:
    """The addresses and hosts, derived again whenever the voter set changes."""

    def __init__(self, bootstrap: Iterable[Address], voters: Callable[[], VoterSet]) -> None:
        self._bootstrap = frozenset(bootstrap)
        self._voters = voters
        self._seen: VoterSet | None = None
        self._addresses: frozenset[Address] = frozenset()
        self._hosts: frozenset[str] = frozenset()
        """As IP addresses if known, since a client has only that."""
        self._reached: dict[str, str] = {}
        """The IP address at which this node last reached a host, by host name."""

    def is_known(self, address: Address) -> bool:
        """Whether a voter or a bootstrap server listens at an address."""
        self._refresh()
        return address in self._addresses

    def is_host_known(self, host: str) -> bool:
        """Whether a client's address is the host of a voter or a bootstrap server."""
        self._refresh()
        return plain_address(host) in self._hosts

    def note_reached(self, address: Address, found: str) -> None:
        """Remember the IP address at which a known host was reached."""
        if self.is_known(address) and self._reached.get(address.host) != found:
            self._reached[address.host] = found
            self._seen = None

    def _refresh(self) -> None:
        voters = self._voters()
        if voters is self._seen:
            return
        self._seen = voters
        self._addresses = self._bootstrap | {
            Address(host, port) for voter in voters for _, host, port in voter.listeners
        }
        hosts = {address.host for address in self._addresses}
        self._reached = {host: found for host, found in self._reached.items() if host in hosts}
        self._hosts = frozenset(plain_address(self._reached.get(host, host)) for host in hosts)
