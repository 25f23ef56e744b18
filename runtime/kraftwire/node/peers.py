"""Sends requests to other nodes, over one connection per address that is opened on demand.

A request that times out closes its connection, since later responses would queue behind it.
Any peer that announces a leader can make this node connect to an address. So the number of
connections is bounded: a new one replaces the least recently used, and connections to voters and
bootstrap servers are replaced last.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from kraftwire.address import Address
from kraftwire.net.answers import LARGEST_BATCH
from kraftwire.net.client import Connection
from kraftwire.net.limits import Limits
from kraftwire.net.log_rate import LogRate
from kraftwire.net.security import ClientSecurity
from kraftwire.node.known_peers import KnownPeers
from kraftwire.printing import shortened
from kraftwire.raft.core.effects import Send
from kraftwire.raft.core.inputs import RequestFailed, Response
from kraftwire.raft.core.listeners import announced_problem
from kraftwire_wire.errors import KraftwireError, UnsupportedVersion

_log = logging.getLogger("kraftwire.node.peers")
_MAX_REQUESTS = 8
"""Open requests to one address: a replica waits for one, and may have given up on others."""

Take = Callable[[Response | RequestFailed], None]


@dataclass(eq=False)
class _Peer:
    """An address and its connection."""

    address: Address
    used_at: float
    connection: Connection | None = None
    opening: asyncio.Lock = field(default_factory=asyncio.Lock)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    is_unreachable: bool = False
    """Whether the last request failed, which was logged."""

    def leave(self) -> None:
        """Cancel the open requests and close the connection."""
        for task in self.tasks:
            task.cancel()
        self.disconnect()

    def disconnect(self) -> None:
        connection, self.connection = self.connection, None
        if connection is not None:
            connection.abort()


class Peers:
    """Sends requests and passes each result to `take`, in the loop."""

    def __init__(
        self,
        security: ClientSecurity,
        client_id: str,
        timeout_ms: int,
        take: Take,
        known: KnownPeers,
        limits: Limits = Limits(),  # noqa: B008  # nobody changes it
        *,
        max_batch_bytes: int = LARGEST_BATCH,
    ) -> None:
        self._security = security
        self._max_batch_bytes = max(max_batch_bytes, LARGEST_BATCH)
        self._client_id = client_id
        self._timeout_s = timeout_ms / 1000
        self._take = take
        self._known = known
        self._limits = limits
        self._peers: OrderedDict[Address, _Peer] = OrderedDict()
        """Ordered by their last use."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._sweeping: asyncio.TimerHandle | None = None
        self._rate = LogRate(_log)

    def __len__(self) -> int:
        """The number of addresses that have a connection or are getting one."""
        return len(self._peers)

    def send(self, effect: Send) -> None:
        """Send a request without waiting."""
        peer = self._peer(effect.address)
        task = asyncio.create_task(self._ask(peer, effect))
        for tasks in (self._tasks, peer.tasks):
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        # A task that is cancelled early never runs its own code.
        task.add_done_callback(
            lambda done: self._take(RequestFailed(effect.number)) if done.cancelled() else None
        )

    async def close(self) -> None:
        """Cancel the open requests and close the connections."""
        if self._sweeping is not None:
            self._sweeping.cancel()
        connections = [peer.connection for peer in self._peers.values()]
        for peer in self._peers.values():
            for task in peer.tasks:
                task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for connection in connections:
            if connection is not None:
                await connection.close()
        self._peers.clear()

    # -- a request -----------------------------------------------------------------------------

    async def _ask(self, peer: _Peer, effect: Send) -> None:
        try:
            async with asyncio.timeout(self._timeout_s):
                connection = await self._connect(peer)
                message = await connection.ask(effect.message)
        except UnsupportedVersion as error:
            _log.debug("not sent", extra={"to": shortened(peer.address), "why": shortened(error)})
            self._take(RequestFailed(effect.number, is_unsupported=True))
        except (OSError, KraftwireError) as error:
            self._note_failure(peer, error)
            self._take(RequestFailed(effect.number))
        else:
            if peer.is_unreachable:
                peer.is_unreachable = False
                if self._rate.allows():
                    _log.info("answers again", extra={"node": shortened(peer.address)})
            problem = announced_problem(message)
            if problem is not None and self._rate.allows(("announced", peer.address)):
                extra = {"node": shortened(peer.address), "why": problem}
                _log.warning("announces a leader that cannot be reached", extra=extra)
            self._take(Response(effect.number, message))
        finally:
            if self._peers.get(peer.address) is not peer:  # it was removed while this was opening
                peer.disconnect()

    async def _connect(self, peer: _Peer) -> Connection:
        async with peer.opening:
            connection = peer.connection
            if connection is None or connection.is_closed:
                connection = peer.connection = await Connection.open(
                    *peer.address,
                    self._security,
                    client_id=self._client_id,
                    max_batch_bytes=self._max_batch_bytes,
                )
                if connection.found_at is not None:
                    self._known.note_reached(peer.address, connection.found_at)
            return connection

    def _note_failure(self, peer: _Peer, error: Exception) -> None:
        peer.disconnect()
        is_news, peer.is_unreachable = not peer.is_unreachable, True
        if is_news and self._rate.allows(peer.address):
            why = "no answer in time" if isinstance(error, TimeoutError) else error
            extra = {"node": shortened(peer.address), "why": shortened(why)}
            _log.warning("does not answer", extra=extra)

    # -- addresses -----------------------------------------------------------------------------

    def _peer(self, address: Address) -> _Peer:
        """Return the entry of an address; a new one may replace the entry of another."""
        now = asyncio.get_running_loop().time()
        peer = self._peers.get(address)
        if peer is not None and len(peer.tasks) >= _MAX_REQUESTS:
            self._remove(peer)
            peer = None
        if peer is None:
            if len(self._peers) >= self._limits.peer_connections:
                # Among equals, `min` returns the least recently used.
                self._remove(
                    min(self._peers.values(), key=lambda one: self._known.is_known(one.address))
                )
            peer = self._peers[address] = _Peer(address, now)
        self._peers.move_to_end(address)
        peer.used_at = now
        if self._sweeping is None:
            self._sweep_later()
        return peer

    def _remove(self, peer: _Peer) -> None:
        del self._peers[peer.address]
        peer.leave()

    def _sweep_later(self) -> None:
        loop = asyncio.get_running_loop()
        self._sweeping = loop.call_later(self._limits.idle_s, self._sweep)

    def _sweep(self) -> None:
        """Close idle connections."""
        self._sweeping = None
        since = asyncio.get_running_loop().time() - self._limits.idle_s
        for peer in [one for one in self._peers.values() if one.used_at <= since]:
            if not peer.tasks:
                self._remove(peer)
        if self._peers:
            self._sweep_later()
