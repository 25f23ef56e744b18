"""Servers for tests: what they speak, and how they answer."""

from __future__ import annotations

import asyncio
import functools
import socket
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import ExitStack, asynccontextmanager, suppress
from typing import Any, ParamSpec

from kraftwire.net.calls import Call
from kraftwire.net.client import Connection
from kraftwire.net.limits import Limits
from kraftwire.net.security import PLAINTEXT, ClientSecurity, ServerSecurity
from kraftwire.net.server import Endpoint, Server
from kraftwire_messages.kafka import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    FetchRequest,
    FetchResponse,
    VoteRequest,
    VoteResponse,
    registry,
)
from kraftwire_wire.framing import add_size
from kraftwire_wire.message import Message
from kraftwire_wire.numbers import ApiKey

P = ParamSpec("P")
Apis = Mapping[int, range] | Mapping[ApiKey, range]

HOST = "127.0.0.1"
APIS: dict[int, range] = {
    ApiKey.API_VERSIONS: range(5),
    ApiKey.VOTE: range(1, 3),
    ApiKey.FETCH: range(12, 18),
}
_SECONDS = 20
_LIMITS = Limits()


def in_loop(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Run a test that is a coroutine, for a bounded time."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        async def bounded() -> None:
            async with asyncio.timeout(_SECONDS):
                await test(*args, **kwargs)

        asyncio.run(bounded())

    return run


def tell_versions(call: Call, apis: Apis = APIS) -> None:
    """Answer ApiVersions."""
    keys = [
        ApiVersionsResponse.ApiVersion(api_key=key, min_version=one[0], max_version=one[-1])
        for key, one in apis.items()
    ]
    call.answer(ApiVersionsResponse(api_keys=keys))


def answer(call: Call) -> None:
    """Answer a Vote with what it asks and a Fetch with as many bytes as it wants."""
    message = call.message
    if isinstance(message, ApiVersionsRequest):
        tell_versions(call)
    elif isinstance(message, VoteRequest):
        number = int((message.cluster_id or "0")[-3:])
        call.answer(VoteResponse(error_code=number))
    elif isinstance(message, FetchRequest):
        topic = FetchResponse.FetchableTopicResponse()
        records = bytes(message.max_bytes)
        topic.partitions.append(FetchResponse.PartitionData(records=records))
        call.answer(FetchResponse(responses=[topic]))


def vote(number: int) -> VoteRequest:
    """A Vote that `answer` answers with a number."""
    return VoteRequest(cluster_id=str(number), voter_id=1)


def number_of(response: Message) -> int:
    """The number that a Vote was answered with."""
    assert isinstance(response, VoteResponse)
    return response.error_code


@asynccontextmanager
async def serving(
    handle: Callable[[Call], None] = answer,
    limits: Limits = _LIMITS,
    security: ServerSecurity | None = None,
    on_lost: Callable[[Call], None] | None = None,
    apis: Apis = APIS,
) -> AsyncIterator[Server]:
    """A server with one listener, CONTROLLER."""
    server = Server([Endpoint("CONTROLLER", HOST, 0, security)], apis, handle, limits, on_lost)
    await server.start()
    try:
        yield server
    finally:
        await server.close()


@asynccontextmanager
async def connected(
    server: Server, security: ClientSecurity = PLAINTEXT, **settings: Any
) -> AsyncIterator[Connection]:
    """A connection to a server."""
    connection = await Connection.open(HOST, server.ports["CONTROLLER"], security, **settings)
    try:
        yield connection
    finally:
        await connection.close()


class RawPeer:
    """A peer that sends whatever a test wants."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def connect(cls, server: Server) -> RawPeer:
        return cls(*await asyncio.open_connection(HOST, server.ports["CONTROLLER"]))

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    def ask(self, message: Message, version: int, number: int = 1) -> None:
        header = registry.request_header(message, version, correlation_id=number)
        self.send(add_size(registry.encode_request(header, message)))

    async def receive(self) -> bytes:
        """The next frame."""
        size = int.from_bytes(await self.reader.readexactly(4))
        return await self.reader.readexactly(size)

    async def is_hung_up_on(self) -> bool:
        """Wait until the server closes the connection, without having sent anything."""
        try:
            return await self.reader.read() == b""
        except ConnectionError:
            return True

    async def close(self) -> None:
        self.writer.transport.abort()


@asynccontextmanager
async def raw_peer(server: Server) -> AsyncIterator[RawPeer]:
    """A peer of no manners."""
    peer = await RawPeer.connect(server)
    try:
        yield peer
    finally:
        await peer.close()


async def crowd(stack: ExitStack, port: int, count: int, data: bytes = b"") -> None:
    """Connect from as many addresses of loopback, and send the same over each connection."""
    for number in range(count):
        one = stack.enter_context(socket.socket())
        one.bind((f"127.1.{number // 250}.{number % 250 + 1}", 0))
        one.setblocking(False)
        with suppress(ConnectionError):  # it was refused, or closed for another one already
            await asyncio.get_running_loop().sock_connect(one, (HOST, port))
            one.send(data)
