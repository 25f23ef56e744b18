"""The proxy's listeners: one for bootstrapping, and one for each broker named in a response.

A broker's listener is opened when it is first needed, and stays open. Its port is the next free one
of a range, or one that the system chooses.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Awaitable, Callable

from kraftwire.address import Address

Serve = Callable[[Address, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
"""Serves a client that has connected to the listener of a broker."""

MAX_LISTENERS = 200
_BACKLOG = 32
"""asyncio accepts this many clients before it serves the first; the reserve has room for them."""


class Listeners:
    """The open listeners, by broker."""

    def __init__(self, serve: Serve, ports: range | None) -> None:
        """`ports` are for all listeners but the first; None for any."""
        self._serve = serve
        self._ports = None if ports is None else iter(ports)
        self._range = ports
        self._host = ""
        self._servers: list[asyncio.Server] = []
        self._by_broker: dict[tuple[str, int], int] = {}
        self._lock = asyncio.Lock()

    async def open_first(self, listen: Address, broker: Address) -> Address:
        """Listen for the bootstrap broker; return the address. Raise `OSError`."""
        found = await asyncio.get_running_loop().getaddrinfo(
            *listen, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        found.sort(key=lambda one: one[0] != socket.AF_INET)
        self._host = str(found[0][4][0])
        return Address(self._host, await self._open(listen.port, broker))

    async def open(self, broker: Address) -> None:
        """Listen for a broker if it has no listener yet. Raise `OSError`."""
        async with self._lock:
            if broker in self._by_broker or self.is_own(broker):
                return
            if len(self._servers) >= MAX_LISTENERS:
                raise OSError(errno.EMFILE, f"the limit of {MAX_LISTENERS} listeners is reached")
            if self._ports is None:
                await self._open(0, broker)
                return
            for port in self._ports:
                try:
                    await self._open(port, broker)
                except OSError as error:
                    if error.errno != errno.EADDRINUSE:
                        raise
                else:
                    return
        assert self._range is not None
        first, last = self._range[0], self._range[-1]
        raise OSError(errno.EADDRINUSE, f"no port of {first}-{last} is free")

    def port_of(self, broker: tuple[str, int]) -> int | None:
        return self._by_broker.get(broker)

    def is_own(self, address: tuple[str, int]) -> bool:
        return address[0] == self._host and address[1] in self._by_broker.values()

    def close(self) -> None:
        """Close all listeners; connections stay open."""
        for server in self._servers:
            server.close()

    async def _open(self, port: int, broker: Address) -> int:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await self._serve(broker, reader, writer)

        server = await asyncio.start_server(serve, self._host, port, backlog=_BACKLOG)
        self._servers.append(server)
        own: int = server.sockets[0].getsockname()[1]
        self._by_broker[broker] = own
        return own
