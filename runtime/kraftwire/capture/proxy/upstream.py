"""Connects the proxy to brokers: over TCP or TLS, with a login if the settings have one."""

from __future__ import annotations

import asyncio
import itertools

from kraftwire.address import Address
from kraftwire.capture.proxy.relay import ConnectionEnd
from kraftwire.net.errors import AuthenticationFailed
from kraftwire.net.sasl import log_in
from kraftwire.net.security import ClientSecurity
from kraftwire_messages.kafka import registry
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.forms import INT32
from kraftwire_wire.framing import add_size
from kraftwire_wire.message import Message

_CONNECT_S = 10.0
_MAX_ANSWER = 1 << 20
_CLIENT_ID = "kraftwire-proxy"


async def connect(address: Address, security: ClientSecurity) -> ConnectionEnd:
    """Return a connection that is ready for a client's requests.

    Raise `OSError` on failure and timeout, `KraftwireError` if the broker refuses the login.
    """
    context = security.context
    async with asyncio.timeout(_CONNECT_S):
        reader, writer = await asyncio.open_connection(
            *address, ssl=context, server_hostname=address.host if context else None
        )
        end = ConnectionEnd(reader, writer, str(address))
        try:
            if security.sasl is not None:
                await log_in(_LoginClient(end).ask, security.sasl)
        except BaseException:
            writer.transport.abort()
            raise
    return end


class _LoginClient:
    """Sends one request at a time, in versions that every broker has (KIP-152)."""

    def __init__(self, end: ConnectionEnd) -> None:
        self._end = end
        self._numbers = itertools.count()

    async def ask(self, message: Message) -> Message:
        version = min(1, message.VALID_VERSIONS[-1])
        header = registry.request_header(
            message, version, correlation_id=next(self._numbers), client_id=_CLIENT_ID
        )
        self._end.writer.write(add_size(registry.encode_request(header, message)))
        await self._end.writer.drain()
        try:
            (size,) = INT32.unpack(await self._end.reader.readexactly(INT32.size))
            if not 0 <= size <= _MAX_ANSWER:
                raise KraftwireError(f"{self._end.name}: its answer to the login has {size} bytes")
            frame = await self._end.reader.readexactly(size)
        except asyncio.IncompleteReadError:
            raise AuthenticationFailed("the broker closed the connection during login") from None
        return registry.decode_response(frame, header)[1]
