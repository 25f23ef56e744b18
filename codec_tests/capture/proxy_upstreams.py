"""Brokers for tests of the proxy: each answers with what a test gives it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from kraftwire.address import Address
from kraftwire.capture.frame import Frame
from kraftwire.capture.proxy.proxy import Proxy
from kraftwire_messages.kafka import ApiVersionsResponse, MetadataResponse, registry
from kraftwire_wire.framing import add_size
from kraftwire_wire.message import Message

HOST = "127.0.0.1"
Answer = Callable[[bytes, "Peer"], Awaitable[None]]


class Peer:
    """One end of a connection, which sends and receives frames."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, frame: bytes) -> None:
        self.writer.write(add_size(frame))

    def ask(self, message: Message, version: int, number: int = 1) -> Any:
        """Send a request; its header, to read the response with."""
        header = registry.request_header(message, version, correlation_id=number)
        self.send(registry.encode_request(header, message))
        return header

    def answer(self, request: bytes, message: Message) -> None:
        """Send the response to a request."""
        header, _ = registry.decode_request_header(request)
        self.send(registry.encode_response(header, message))

    async def receive(self) -> bytes:
        size = int.from_bytes(await self.reader.readexactly(4))
        return await self.reader.readexactly(size)

    async def receive_for(self, header: Any) -> Any:
        return registry.decode_response(await self.receive(), header)[1]

    async def is_hung_up_on(self) -> bool:
        try:
            return await self.reader.read() == b""
        except ConnectionError:
            return True

    def close(self) -> None:
        self.writer.close()


@asynccontextmanager
async def upstream(answer: Answer) -> AsyncIterator[Address]:
    """A broker; `answer` is called with every frame of a client."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = Peer(reader, writer)
        try:
            while True:
                await answer(await peer.receive(), peer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, HOST, 0)
    async with server:
        yield Address(HOST, server.sockets[0].getsockname()[1])


class Recorded:
    """What a proxy recorded."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []

    def __call__(self, frame: Frame) -> None:
        assert frame.broker is not None
        self.frames.append(frame)

    def data(self, direction: str) -> list[bytes]:
        return [frame.data for frame in self.frames if frame.direction == direction]


@asynccontextmanager
async def proxying(broker: Address, **settings: Any) -> AsyncIterator[tuple[Proxy, Address]]:
    """A proxy, and where clients bootstrap."""
    proxy = Proxy(broker, **({"record": Recorded()} | settings))
    address = await proxy.start()
    try:
        yield proxy, address
    finally:
        await proxy.close()


@asynccontextmanager
async def client(address: tuple[str, int]) -> AsyncIterator[Peer]:
    """A client of the proxy."""
    peer = Peer(*await asyncio.open_connection(*address))
    try:
        yield peer
    finally:
        peer.close()


@asynccontextmanager
async def scene(answer: Answer, **settings: Any) -> AsyncIterator[tuple[Proxy, Address, Peer]]:
    """A broker, a proxy, where clients bootstrap, and one that is connected."""
    async with (
        upstream(answer) as broker,
        proxying(broker, **settings) as (proxy, own),
        client(own) as peer,
    ):
        yield proxy, own, peer


def metadata(*brokers: tuple[str, int]) -> MetadataResponse:
    """A response that names brokers, with an unknown tagged field in it."""
    named = [
        MetadataResponse.MetadataResponseBroker(node_id=number, host=host, port=port)
        for number, (host, port) in enumerate(brokers)
    ]
    response = MetadataResponse(brokers=named, cluster_id="c")
    response.unknown_tagged_fields = [(900, b"kept")]
    return response


async def say_versions(request: bytes, peer: Peer) -> None:
    """Answer any request with an ApiVersionsResponse."""
    peer.answer(request, ApiVersionsResponse())
