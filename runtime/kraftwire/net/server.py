"""Listeners: accept connections and pass valid requests to a handler, one per connection at a time.

Whatever peers send, the server continues and stays within its `Limits`. An invalid or unsupported
request closes its connection, which is counted and logged (`complaints`). Nothing here blocks on a
peer.
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
"""Wait after a failed accept: file descriptors may have run out."""
_ABORTED_S = 1.0


class Endpoint(NamedTuple):
    """A listener: its name, its address (port 0 picks a free one), and TLS or None."""

    name: str
    host: str
    port: int
    security: ServerSecurity | None = None


class Server:
    """A server; call `start` and `close` once."""

    def __init__(
        self,
        endpoints: Iterable[Endpoint],
        apis: Mapping[int, range] | Mapping[ApiKey, range],
        handle: Callable[[Call], None],
        limits: Limits = Limits(),  # noqa: B008 - nobody changes it
        on_lost: Callable[[Call], None] | None = None,
        is_known: Callable[[str], bool] = lambda _: False,
    ) -> None:
        """`apis` has the supported versions by API key.

        `handle` gets every request and must not block; it may answer later. `on_lost` gets a
        request whose connection closed before the answer. `is_known` returns whether the host at an
        address may use a reserved connection (`admission`).
        """
        self.ports: dict[str, int] = {}
        """The ports of listeners, by name."""
        self._endpoints = tuple(endpoints)
        self._complaints = Complaints(_logger)
        spoken = {int(key): versions for key, versions in apis.items()}
        self._service = Service(spoken, handle, on_lost, limits, self._complaints, is_known)
        self._rate = LogRate(_logger)
        self._sockets: list[socket.socket] = []
        self._accepting: list[asyncio.Task[None]] = []

    @property
    def connections(self) -> int:
        """The number of open connections."""
        return len(self._service.admission)

    @property
    def complaints(self) -> Mapping[Reason, int]:
        """How many connections the server closed, by reason."""
        return self._complaints.counts

    async def start(self) -> None:
        """Listen; close all listeners and raise `OSError` or `BadSecurity` if one fails."""
        try:
            for endpoint in self._endpoints:
                if endpoint.security is not None:
                    _ = endpoint.security.context  # read its files now, not for the first peer
                await self._listen(endpoint)
        except BaseException:
            await self.close()
            raise
        for endpoint, listening in zip(self._endpoints, self._sockets, strict=True):
            self._accepting.append(asyncio.create_task(self._accept(endpoint, listening)))

    async def close(self) -> None:
        """Stop accepting, wait a moment for open requests, and close all connections."""
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
            reason = (
                "anyone who can connect can read and change everything; use SSL with client auth"
            )
            _logger.warning("listener %s is PLAINTEXT on %s: %s", endpoint.name, host, reason)

    async def _accept(self, endpoint: Endpoint, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, address = await loop.sock_accept(listening)
            except OSError as error:
                if not isinstance(error, ConnectionError):  # which is about this peer only
                    if self._rate.allows(endpoint.name):
                        _logger.error(
                            "listener %s cannot accept connections: %s", endpoint.name, error
                        )
                    await asyncio.sleep(_PAUSE_S)
                continue
            self._admit(endpoint, accepted, address[:2])
            await asyncio.sleep(0)  # let the loop do other work during a flood

    def _admit(self, endpoint: Endpoint, accepted: socket.socket, address: tuple[str, int]) -> None:
        host, port = address
        peer = str(Address(host, port))
        served = ServerConnection(self._service, endpoint.name, host, peer)
        is_scarce = is_reserved(accepted.fileno())
        if not self._service.admission.admit(served, is_scarce=is_scarce):
            reason = "the new one is refused"
            if is_scarce:
                reason += ", since the remaining file descriptors are reserved (raise ulimit -n)"
            self._complaints.add(host, peer, Reason.FLOOD, reason)
            accepted.close()
            return
        arrival = asyncio.create_task(self._set_up(endpoint, accepted, served))
        arrival.add_done_callback(lambda task: accepted.close() if task.cancelled() else None)
        served.arrival = arrival

    async def _set_up(
        self, endpoint: Endpoint, accepted: socket.socket, served: ServerConnection
    ) -> None:
        """Set up the connection of a socket; a TLS handshake takes bounded time."""
        context = None if endpoint.security is None else endpoint.security.context
        limit = None if context is None else self._service.limits.frame_s
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: served, accepted, ssl=context, ssl_handshake_timeout=limit
            )
        except OSError as error:
            served.drop(Reason.HANDSHAKE, error)
