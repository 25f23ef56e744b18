"""Clients that mean harm to the proxy: they take a bounded amount, and others go on."""

from __future__ import annotations

import asyncio
import random
import tracemalloc
from contextlib import AsyncExitStack, suppress
from functools import partial

import pytest

from kraftwire.capture.proxy import proxy as proxy_module
from kraftwire.capture.proxy.pending import PendingBytes, PendingShare, ProxyLimits
from kraftwire.capture.proxy.proxy import Proxy
from kraftwire_messages.kafka import ApiVersionsRequest, ApiVersionsResponse

from codec_tests.capture.proxy_upstreams import (
    Peer,
    client,
    proxying,
    say_versions,
    scene,
    upstream,
)
from codec_tests.net.servers import in_loop

_MIB = 1 << 20


async def still_passes(peer: Peer) -> None:
    assert await peer.receive_for(peer.ask(ApiVersionsRequest(), 0)) == ApiVersionsResponse()


async def until_told(proxy: Proxy, what: str) -> None:
    while not any(what in problem for problem in proxy.problems):
        await asyncio.sleep(0.001)


@in_loop
async def test_connections_are_limited_and_others_continue() -> None:
    limits = ProxyLimits(connections=5)
    async with scene(say_versions, limits=limits) as (proxy, own, peer), AsyncExitStack() as stack:
        await still_passes(peer)
        crowd = [await stack.enter_async_context(client(own)) for _ in range(50)]
        hung_up = [asyncio.ensure_future(one.is_hung_up_on()) for one in crowd]
        await until_told(proxy, "5 are connected already (--max-connections)")
        while sum(one.done() for one in hung_up) < 46:
            await asyncio.sleep(0.001)
        await still_passes(peer)
        assert len(proxy.problems) == 1
        for waiting in hung_up:
            waiting.cancel()
    assert proxy.connections == 5


@in_loop
async def test_a_client_gets_the_place_of_a_disconnected_one() -> None:
    async with (
        upstream(say_versions) as broker,
        proxying(broker, limits=ProxyLimits(connections=1)) as (proxy, own),
    ):
        for _ in range(5):
            async with client(own) as peer:
                await still_passes(peer)
            while len(proxy._clients):
                await asyncio.sleep(0.001)
    assert proxy.problems == []


@in_loop
async def test_descriptors_are_kept_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    async with scene(say_versions) as (proxy, own, peer):
        await still_passes(peer)
        monkeypatch.setattr(proxy_module, "is_reserved", lambda _: True)
        async with client(own) as other:
            assert await other.is_hung_up_on()
        await still_passes(peer)
    assert proxy.problems == ["a client was refused: too few open files are left (raise ulimit -n)"]


@in_loop
async def test_incomplete_frames_take_bounded_memory() -> None:
    limits = ProxyLimits(pending_bytes=4 * _MIB)
    async with scene(say_versions, limits=limits) as (proxy, own, peer), AsyncExitStack() as stack:
        tracemalloc.start()
        try:
            half = (90 * _MIB).to_bytes(4) + bytes(2 * _MIB)
            before, _ = tracemalloc.get_traced_memory()
            for _ in range(20):
                other = await stack.enter_async_context(client(own))
                other.writer.write(half)
                with suppress(ConnectionError):
                    await other.writer.drain()
                await still_passes(peer)
            await until_told(proxy, "(--max-pending-bytes)")
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert proxy._pending.total <= limits.pending_bytes
        # The test's own copies are 2 MiB for each connection, and buffers of the proxy grow.
        assert most - before < 70 * _MIB
        await still_passes(peer)
    assert proxy._pending.total == 0


@in_loop
async def test_unread_responses_count_too() -> None:
    async def much(request: bytes, peer: Peer) -> None:
        number = request[4:8]
        peer.send(number + bytes(3 * _MIB))

    limits = ProxyLimits(pending_bytes=8 * _MIB)
    async with scene(much, limits=limits) as (proxy, own, _), AsyncExitStack() as stack:
        for _ in range(20):
            other = await stack.enter_async_context(client(own))
            other.writer.transport.pause_reading()  # type: ignore[attr-defined]
            other.ask(ApiVersionsRequest(), 0)
        await until_told(proxy, "(--max-pending-bytes)")
        assert proxy._pending.total <= limits.pending_bytes


def test_the_largest_is_closed_and_every_byte_is_counted() -> None:
    rng = random.Random(3)
    closed: list[int] = []
    everyone = PendingBytes(1000)
    shares: list[PendingShare] = [
        everyone.share(partial(closed.append, number)) for number in range(20)
    ]
    for _ in range(5000):
        number = rng.randrange(20)
        if rng.random() < 0.6:
            shares[number].add(rng.randrange(1, 50))
        elif shares[number].size:
            shares[number].add(-rng.randrange(1, shares[number].size + 1))
        assert everyone.total == sum(share.size for share in shares) <= 1000
    assert len(closed) == len(set(closed))
    for share in shares:
        share.end()
        share.end()
    assert everyone.total == 0
    everyone = PendingBytes(10)
    small, large = (everyone.share(partial(closed.append, number)) for number in range(2))
    large.add(8)
    closed.clear()
    small.add(3)
    assert closed == [1]
    assert everyone.total == 3
