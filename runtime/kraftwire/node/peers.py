"""Asking other nodes: one connection to each address, opened when there is something to ask.

A request that is not answered in time takes its connection along: what came later would be
answered behind it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from kraftwire.address import Address
from kraftwire.net.client import Connection
from kraftwire.net.security import ClientSecurity
from kraftwire.raft.effects import Send
from kraftwire.raft.inputs import RequestFailed, Response
from kraftwire_wire.errors import KraftwireError, UnsupportedVersion

_log = logging.getLogger("kraftwire.node.peers")

Take = Callable[[Response | RequestFailed], None]


class Peers:
    """Sends requests; what becomes of each is handed to `take`, in the loop."""

    def __init__(
        self, security: ClientSecurity, client_id: str, timeout_ms: int, take: Take
    ) -> None:
        self._security = security
        self._client_id = client_id
        self._timeout_s = timeout_ms / 1000
        self._take = take
        self._connections: dict[Address, Connection] = {}
        self._opening: dict[Address, asyncio.Lock] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._unreached: set[Address] = set()
        """Of whom it was told that they do not answer, and not yet that they do."""

    def send(self, effect: Send) -> None:
        """Ask; does not wait."""
        task = asyncio.create_task(self._ask(effect))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Give up what is asked, and close the connections."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for connection in self._connections.values():
            await connection.close()
        self._connections.clear()

    async def _ask(self, effect: Send) -> None:
        address = effect.address
        try:
            async with asyncio.timeout(self._timeout_s):
                connection = await self._connect(address)
                message = await connection.ask(effect.message)
        except UnsupportedVersion as error:
            _log.debug("not sent", extra={"to": str(address), "why": str(error)})
            self._take(RequestFailed(effect.number, is_unsupported=True))
        except (OSError, KraftwireError) as error:
            await self._drop(address, error)
            self._take(RequestFailed(effect.number))
        else:
            if address in self._unreached:
                self._unreached.remove(address)
                _log.info("answers again", extra={"node": str(address)})
            self._take(Response(effect.number, message))

    async def _connect(self, address: Address) -> Connection:
        async with self._opening.setdefault(address, asyncio.Lock()):
            known = self._connections.get(address)
            if known is None or known.is_closed:
                known = await Connection.open(*address, self._security, client_id=self._client_id)
                self._connections[address] = known
            return known

    async def _drop(self, address: Address, error: Exception) -> None:
        if address not in self._unreached:
            self._unreached.add(address)
            why = "no answer in time" if isinstance(error, TimeoutError) else str(error)
            _log.warning("does not answer", extra={"node": str(address), "why": why})
        connection = self._connections.pop(address, None)
        if connection is not None:
            await connection.close()
