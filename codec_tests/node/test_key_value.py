"""The example's listener: clients that say nothing or read nothing do not keep their places."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kraftwire.net.limits import Limits
from kraftwire.node import key_value
from kraftwire.node.key_value import KeyValues, KeyValueServer, put
from kraftwire.node.node import Node

from codec_tests.held_ports import HOST
from codec_tests.node.clusters import cluster, run


@asynccontextmanager
async def serving(limits: Limits) -> AsyncIterator[tuple[Node, int]]:
    """A sole voter, and the port of its example."""
    async with cluster(1) as one:
        node = await one.leader()
        assert isinstance(node.machine, KeyValues)
        server = KeyValueServer(node, node.machine, limits)
        port = await server.start(HOST, 0)
        try:
            yield node, port
        finally:
            await server.close()


async def _ends(reader: asyncio.StreamReader) -> bool:
    """Wait until the server closes the connection, without another line."""
    try:
        return await reader.read() == b""
    except ConnectionError:
        return True


def test_a_client_that_never_says_anything_is_closed() -> None:
    async def scene() -> None:
        async with serving(Limits(frame_s=0.1)) as (_, port):
            reader, writer = await asyncio.open_connection(HOST, port)
            assert await _ends(reader)
            writer.close()

    run(scene())


@pytest.mark.parametrize("half", [b"", b"get "], ids=["nothing", "half a line"])
def test_a_client_that_falls_silent_is_closed(half: bytes) -> None:
    async def scene() -> None:
        async with serving(Limits(idle_s=0.1)) as (_, port):
            reader, writer = await asyncio.open_connection(HOST, port)
            writer.write(b"leader\n")
            assert await reader.readline() == b"leader 1\n"
            writer.write(half)
            assert await _ends(reader)
            writer.close()

    run(scene())


def test_a_client_that_does_not_read_is_closed() -> None:
    async def scene() -> None:
        async with serving(Limits(send_s=0.2)) as (node, port):
            await node.propose([put("a", "x" * 60_000)])
            reader, writer = await asyncio.open_connection(HOST, port, limit=1)
            gone = asyncio.get_running_loop().create_future()
            writer.transport.pause_reading()  # type: ignore[attr-defined]
            writer.write(b"get a\n" * 1000)

            async def drain() -> None:
                try:
                    while True:
                        writer.write(b"get a\n" * 1000)
                        await writer.drain()
                except OSError:
                    gone.set_result(None)

            asking = asyncio.ensure_future(drain())
            await gone
            await asking
            del reader

    run(scene())


def test_too_many_clients_are_refused_and_logged_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(key_value, "_MOST_CLIENTS", 3)

    async def scene() -> None:
        async with serving(Limits()) as (_, port):
            kept = []
            for _ in range(3):
                kept.append(await asyncio.open_connection(HOST, port))
                kept[-1][1].write(b"leader\n")
                assert await kept[-1][0].readline() == b"leader 1\n"
            for _ in range(5):
                reader, writer = await asyncio.open_connection(HOST, port)
                assert await _ends(reader)
                writer.close()
            for _, writer in kept:
                writer.close()

    run(scene())
    assert [one.getMessage() for one in caplog.records].count("refused a client") == 1


def test_a_value_that_is_no_text_is_answered(caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        async with serving(Limits()) as (node, port):
            await node.propose([b'["put", "a", "\\ud800"]'])
            reader, writer = await asyncio.open_connection(HOST, port)
            writer.write(b"get a\nleader\n")
            assert await reader.readline() == b"value \\ud800\n"
            assert await reader.readline() == b"leader 1\n"
            writer.close()

    run(scene())
    assert not any(one.exc_info for one in caplog.records)
