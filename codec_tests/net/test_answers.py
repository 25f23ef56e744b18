"""Responses have a limit that fits what was asked, so a hostile server cannot fill the memory."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kraftwire.net.answers import LARGEST_BATCH, max_answer_bytes
from kraftwire.net.calls import Call
from kraftwire.net.client import Connection
from kraftwire.net.errors import BadAddress
from kraftwire_messages.kafka import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    FetchRequest,
    FetchSnapshotRequest,
    MetadataRequest,
    VoteRequest,
    registry,
)
from kraftwire_wire.framing import add_size
from kraftwire_wire.message import Message
from kraftwire_wire.numbers import ApiKey

from codec_tests.net.servers import HOST, connected, in_loop, serving, tell_versions

APIS = {ApiKey.API_VERSIONS: range(5), ApiKey.FETCH: range(12, 19)}


@asynccontextmanager
async def answering(response: Message) -> AsyncIterator[int]:
    """A port where every request is answered with a response; ApiVersions too."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                size = int.from_bytes(await reader.readexactly(4))
                header, _ = registry.decode_request_header(await reader.readexactly(size))
                writer.write(add_size(registry.encode_response(header, response)))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(serve, HOST, 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


def _versions(count: int) -> ApiVersionsResponse:
    one = ApiVersionsResponse.ApiVersion(api_key=1, min_version=0, max_version=1)
    return ApiVersionsResponse(api_keys=[one] * count)


@in_loop
async def test_an_endless_answer_about_versions_is_refused_before_it_is_read() -> None:
    async with answering(_versions(1_000_000)) as port:  # 7 MB on the wire
        tracemalloc.start()
        try:
            before, _ = tracemalloc.get_traced_memory()
            with pytest.raises(
                ConnectionError, match=r"ApiVersionsRequest with 7.* limit is 65536"
            ):
                await Connection.open(HOST, port)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        # What the server of this test writes is three times its size.
        assert peak - before < 25_000_000


def test_every_api_that_a_node_asks_has_a_limit_of_its_own() -> None:
    most = 100 << 20
    assert max_answer_bytes(ApiVersionsRequest(), most) == 64 << 10
    assert max_answer_bytes(VoteRequest(), most) == 64 << 10
    assert max_answer_bytes(MetadataRequest(), most) == most
    assert max_answer_bytes(ApiVersionsRequest(), 100) == 100


@pytest.mark.parametrize("asked", [-(2**31), 0, 1 << 20, 16 << 20, 2**31 - 1])
def test_fetches_are_answered_with_what_they_ask_for_or_one_batch(asked: int) -> None:
    limit = max_answer_bytes(FetchRequest(max_bytes=asked), 100 << 20)
    assert limit == min(max(asked, LARGEST_BATCH) + (64 << 10), 100 << 20)
    piece = max_answer_bytes(FetchSnapshotRequest(max_bytes=asked), 100 << 20)
    assert piece == min(max(asked, 0) + (64 << 10), 100 << 20)


@in_loop
async def test_the_limit_is_that_of_the_request_which_an_answer_names() -> None:
    """A Fetch on its way does not let another answer grow to its size."""
    asked = asyncio.Event()

    def handle(call: Call) -> None:
        if isinstance(call.message, ApiVersionsRequest) and not asked.is_set():
            asked.set()
            tell_versions(call, APIS)
        elif isinstance(call.message, ApiVersionsRequest):
            call.answer(_versions(20_000))

    async with serving(handle, apis=APIS) as server, connected(server) as connection:
        versions = asyncio.ensure_future(connection.ask(ApiVersionsRequest(), 3))
        fetch = asyncio.ensure_future(connection.ask(FetchRequest(max_bytes=1 << 20)))
        with pytest.raises(ConnectionError, match=r"ApiVersionsRequest with .* limit is 65536"):
            await versions
        with pytest.raises(ConnectionError):
            await fetch


@in_loop
async def test_bytes_that_nobody_asked_for_end_the_connection() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        size = int.from_bytes(await reader.readexactly(4))
        header, _ = registry.decode_request_header(await reader.readexactly(size))
        writer.write(add_size(registry.encode_response(header, _versions(1))))
        writer.write((1 << 20).to_bytes(4) + bytes(100))
        await reader.read()
        writer.close()

    server = await asyncio.start_server(serve, HOST, 0)
    async with server:
        connection = await Connection.open(HOST, server.sockets[0].getsockname()[1])
        while not connection.is_closed:
            await asyncio.sleep(0.001)
        with pytest.raises(ConnectionError, match="without a request"):
            await connection.ask(ApiVersionsRequest(), 3)


@pytest.mark.parametrize(
    ("host", "port"),
    [("a\0b", 1), ("x" * 64, 1), ("a..b", 1), ("", 1), (HOST, 0), (HOST, 65536), (HOST, -1)],
)
def test_an_address_that_nobody_can_connect_to_is_an_error_of_ours(host: str, port: int) -> None:
    @in_loop
    async def run() -> None:
        with pytest.raises(BadAddress):
            await Connection.open(host, port)

    run()


def test_a_fetch_response_may_have_the_largest_batch_that_is_accepted() -> None:
    request = FetchRequest(max_bytes=1 << 20)
    assert max_answer_bytes(request, 100 << 20) > 8 << 20
    assert max_answer_bytes(request, 100 << 20, 16 << 20) > 16 << 20
