"""Metrics over HTTP: clients that say nothing, or are too many, cost the node nothing for long."""

from __future__ import annotations

import asyncio

import pytest

from kraftwire.address import Address
from kraftwire.node import prometheus
from kraftwire.node.prometheus import PrometheusServer

from codec_tests.held_ports import HOST
from codec_tests.node.clusters import cluster, run


async def _get(port: int) -> bytes:
    reader, writer = await asyncio.open_connection(HOST, port)
    try:
        writer.write(b"GET /metrics HTTP/1.0\r\n\r\n")
        return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


@pytest.mark.slow
def test_a_silent_client_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prometheus, "_MOST_S", 0.2)

    async def scene() -> None:
        async with cluster(1) as one:
            server = PrometheusServer(await one.leader(), Address(HOST, 0))
            try:
                reader, writer = await asyncio.open_connection(HOST, server.port)
                writer.write(b"GET ")
                assert await reader.read() == b""
                writer.close()
            finally:
                await asyncio.to_thread(server.close)

    run(scene())


@pytest.mark.slow
def test_scarce_descriptors_are_left_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene() -> None:
        async with cluster(1) as one:
            server = PrometheusServer(await one.leader(), Address(HOST, 0))
            try:
                assert b"kraft_current_epoch" in await _get(server.port)
                monkeypatch.setattr(prometheus, "is_reserved", lambda *_: True)
                assert await _get(server.port) == b""
            finally:
                await asyncio.to_thread(server.close)

    run(scene())
