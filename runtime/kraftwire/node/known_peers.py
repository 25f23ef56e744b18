"""The addresses of voters and bootstrap servers, for outgoing and incoming connections.

Connections to them are the last to be closed, and reserved connections are for their hosts. A
host name matches incoming connections once this node has connected to it: nothing here waits for
name resolution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kraftwire.address import Address
from kraftwire.net.admission import plain_address
from kraftwire.raft.state.voters import VoterSet


class KnownPeers:
    """Reads the voter set again when it has changed."""

    def __init__(self, bootstrap: Iterable[Address], voters: Callable[[], VoterSet]) -> None:
        self._bootstrap = frozenset(bootstrap)
        self._voters = voters
        self._seen: VoterSet | None = None
        self._addresses: frozenset[Address] = frozenset()
        self._hosts: frozenset[str] = frozenset()
        """As IP addresses, since that is all that is known of a client."""
        self._reached: dict[str, str] = {}
        """The IP addresses at which host names were last reached."""

    def is_known(self, address: Address) -> bool:
        """Whether a voter or a bootstrap server listens at an address."""
        self._refresh()
        return address in self._addresses

    def is_host_known(self, host: str) -> bool:
        """Whether a client's address is that of a voter's or a bootstrap server's host."""
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
