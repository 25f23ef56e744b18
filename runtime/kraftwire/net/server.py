"""Listeners, and what comes in over them: requests that are sound, one a connection.

Whatever peers send, the server goes on and takes no more than its `Limits`: what is not a
request that it speaks ends the connection that it came over, and is counted and logged
(`complaints`). Nothing here waits for a peer.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple

from kraftwire.address import Address
from kraftwire.net.calls import Call
from kraftwire.net.complaints import Complaints, Reason
from kraftwire.net.descriptors import is_reserved
from kraftwire.net.limits import Limits
from kraftwire.net.log_rate import LogRate
from kraftwire.net.security import ServerSecurity
from kraftwire.net.server_connection import ServerConnection, Service
from kraftwire_wire.numbers import ApiKey

__all__ = ["Call", "Endpoint", "Limits", "Server"]

_logger = logging.getLogger(__name__)
_BACKLOG = 128
_PAUSE_S = 0.2
"""After a connection could not be taken, for the want of file descriptors perhaps."""
_ABORTED_S = 1.0


class Endpoint(NamedTuple):
    """A listener: its name, where it listens (port 0 picks one), TLS or PLAINTEXT."""

    name: str
    host: str
    port: int
    security: ServerSecurity | None = None


class Server:
    """See the module; `start`, then `close`, once."""

    def __init__(
        self,
        endpoints: Iterable[Endpoint],
        apis: Mapping[int, range] | Mapping[ApiKey, range],
        handle: Callable[[Call], None],
        limits: Limits = Limits(),  # noqa: B008 - nobody changes it
        on_lost: Callable[[Call], None] | None = None,
        is_known: Callable[[str], bool] = lambda _: False,
    ) -> None:
        """`apis` says which versions are spoken, by API key.

        `handle` gets every request and must not wait; it or anybody later answers. `on_lost`
        gets a request whose connection is gone before it was answered. `is_known` says whether
        a client's address is of a host that may have one of the reserved places (`admission`).
        """
        self.ports: dict[str, int] = {}
        """Where listeners listen, by name."""
        self._endpoints = tuple(endpoints)
        self._complaints = Complaints(_logger)
        spoken = {int(key): versions for key, versions in apis.items()}
        self._service = Service(spoken, handle, on_lost, limits, self._complaints, is_known)
        self._rate = LogRate(_logger)
        self._sockets: list[socket.socket] = []
        self._accepting: list[asyncio.Task[None]] = []

    @property
    def connections(self) -> int:
        """How many connections there are."""
        return len(self._service.admission)

    @property
    def complaints(self) -> Mapping[Reason, int]:
        """How many connections were closed for what their peers did, by reason."""
        return self._complaints.counts

    async def start(self) -> None:
        """Listen; `OSError` or `BadSecurity` where that cannot be, and then nobody listens."""
        try:
            for endpoint in self._endpoints:
                if endpoint.security is not None:
                    _ = endpoint.security.context  # its files are read now, not by the first peer
                await self._listen(endpoint)
        except BaseException:
            await self.close()
            raise
        for endpoint, listening in zip(self._endpoints, self._sockets, strict=True):
            self._accepting.append(asyncio.create_task(self._accept(endpoint, listening)))

    async def close(self) -> None:
        """Take no more connections, let open requests be answered for a moment, close all."""
        service = self._service
        service.is_closing = True
        for task in self._accepting:
            task.cancel()
        await asyncio.gather(*self._accepting, return_exceptions=True)
        self._accepting.clear()
        for listening in self._sockets:
            listening.close()
        self._sockets.clear()
        for served in self._connections():
            served.leave()
        with suppress(TimeoutError):
            async with asyncio.timeout(service.limits.closing_s):
                await service.admission.wait_until_empty()
                return
        for served in self._connections():
            served.abort()
        with suppress(TimeoutError):
            async with asyncio.timeout(_ABORTED_S):
                await service.admission.wait_until_empty()

    def _connections(self) -> list[ServerConnection]:
        return [guest for guest in self._service.admission if isinstance(guest, ServerConnection)]

    async def _listen(self, endpoint: Endpoint) -> None:
        where = f"{endpoint.host}:{endpoint.port}"
        try:
            family, _, _, _, address = (
                await asyncio.get_running_loop().getaddrinfo(
                    endpoint.host or None,
                    endpoint.port,
                    type=socket.SOCK_STREAM,
                    flags=socket.AI_PASSIVE,
                )
            )[0]
            listening = socket.create_server(address, family=family, backlog=_BACKLOG)
        except OSError as error:
            reason = f"listener {endpoint.name} cannot listen on {where}: {error.strerror or error}"
            raise OSError(error.errno, reason) from None
        listening.setblocking(False)
        self._sockets.append(listening)
        host, port = listening.getsockname()[:2]
        self.ports[endpoint.name] = port
        protocol = "PLAINTEXT" if endpoint.security is None else "SSL"
        _logger.info("listener %s listens on %s:%d, %s", endpoint.name, host, port, protocol)
        if endpoint.security is None and not Address(host, port).is_loopback:
            reason = "whoever reaches it reads and changes everything; use SSL with client auth"
            _logger.warning("listener %s is PLAINTEXT on %s: %s", endpoint.name, host, reason)

    async def _accept(self, endpoint: Endpoint, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, address = await loop.sock_accept(listening)
            except OSError as error:
                if not isinstance(error, ConnectionError):  # the peer's business
                    if self._rate.allows(endpoint.name):
                        _logger.error("listener %s takes no connections: %s", endpoint.name, error)
                    await asyncio.sleep(_PAUSE_S)
                continue
            self._greet(endpoint, accepted, address[:2])
            await asyncio.sleep(0)  # a flood must not keep the loop from everything else

    def _greet(self, endpoint: Endpoint, accepted: socket.socket, address: tuple[str, int]) -> None:
        host, port = address
        peer = str(Address(host, port))
        served = ServerConnection(self._service, endpoint.name, host, peer)
        is_scarce = is_reserved(accepted.fileno())
        if not self._service.admission.admit(served, is_scarce=is_scarce):
            reason = "the newest is refused"
            if is_scarce:
                reason += ", since the rest of the open files is reserved (raise ulimit -n)"
            self._complaints.add(host, peer, Reason.FLOOD, reason)
            accepted.close()
            return
        arrival = asyncio.create_task(self._welcome(endpoint, accepted, served))
        arrival.add_done_callback(lambda task: accepted.close() if task.cancelled() else None)
        served.arrival = arrival

    async def _welcome(
        self, endpoint: Endpoint, accepted: socket.socket, served: ServerConnection
    ) -> None:
        """Make a connection of a socket; with TLS that takes a handshake, of a bounded time."""
        context = None if endpoint.security is None else endpoint.security.context
        limit = None if context is None else self._service.limits.frame_s
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: served, accepted, ssl=context, ssl_handshake_timeout=limit
            )
        except OSError as error:
            served.drop(Reason.HANDSHAKE, error)
