"""Peers that mean harm, or are broken: the server goes on, and takes a bounded amount."""

from __future__ import annotations

import asyncio
import logging
import random
import tracemalloc
from contextlib import AsyncExitStack

import pytest

from kraftwire.net.calls import Call
from kraftwire.net.complaints import Reason
from kraftwire.net.limits import Limits
from kraftwire.net.server import Server
from kraftwire_messages.kafka import (
    DescribeQuorumRequest,
    FetchRequest,
    VoteRequest,
    registry,
)
from kraftwire_wire.framing import add_size

from codec_tests.net.servers import (
    answer,
    connected,
    in_loop,
    number_of,
    raw_peer,
    serving,
    vote,
)

_LENGTHS = {"negative": -1, "least": -(2**31), "giant": 2**31 - 1, "no header": 7, "nothing": 0}


async def still_serves(server: Server) -> None:
    async with connected(server) as connection:
        assert number_of(await connection.ask(vote(9))) == 9


@pytest.mark.parametrize("size", _LENGTHS.values(), ids=_LENGTHS)
def test_a_length_that_no_request_has_ends_the_connection(size: int) -> None:
    @in_loop
    async def run() -> None:
        async with serving() as server, raw_peer(server) as peer:
            peer.send(size.to_bytes(4, signed=True) + bytes(8))
            assert await peer.is_hung_up_on()
            assert server.complaints[Reason.SIZE] == 1
            await still_serves(server)

    run()


@in_loop
async def test_random_bytes_end_connections_and_nothing_else() -> None:
    chance = random.Random(1)
    async with serving(limits=Limits(frame_s=0.2)) as server:
        for _ in range(200):
            async with raw_peer(server) as peer:
                size = chance.randrange(8, 200)
                peer.send(size.to_bytes(4) + chance.randbytes(size))
                assert await peer.is_hung_up_on()
        await still_serves(server)
        assert sum(server.complaints.values()) == 200


@in_loop
async def test_a_damaged_request_is_answered_or_ends_the_connection() -> None:
    chance = random.Random(2)
    header = registry.request_header(vote(1), 2, correlation_id=1, client_id="x")
    sound = registry.encode_request(header, vote(1))
    async with serving(limits=Limits(frame_s=0.2)) as server:
        for at in range(len(sound)):
            damaged = bytearray(sound)
            damaged[at] = chance.randrange(256)
            async with raw_peer(server) as peer:
                peer.send(add_size(bytes(damaged)))
                peer.writer.write_eof()
                await peer.reader.read()
        await still_serves(server)


@in_loop
async def test_an_api_that_is_not_spoken_ends_the_connection() -> None:
    async with serving() as server, raw_peer(server) as peer:
        peer.ask(DescribeQuorumRequest(), 2)
        assert await peer.is_hung_up_on()
        assert server.complaints[Reason.UNKNOWN_API] == 1


@in_loop
async def test_a_version_that_is_not_spoken_ends_the_connection() -> None:
    async with serving() as server, raw_peer(server) as peer:
        peer.ask(VoteRequest(), 0)
        assert await peer.is_hung_up_on()
        assert server.complaints[Reason.UNKNOWN_VERSION] == 1


@in_loop
async def test_a_first_request_that_does_not_come_ends_the_connection() -> None:
    async with serving(limits=Limits(frame_s=0.05)) as server, raw_peer(server) as peer:
        assert await peer.is_hung_up_on()
        assert server.complaints[Reason.HALF_FRAME] == 1


@in_loop
async def test_half_a_request_ends_the_connection() -> None:
    async with serving(limits=Limits(frame_s=0.3)) as server, raw_peer(server) as peer:
        peer.ask(vote(1), 2)
        await peer.receive()
        peer.send((100).to_bytes(4) + b"half")
        assert await peer.is_hung_up_on()
        assert server.complaints[Reason.HALF_FRAME] == 1


@in_loop
async def test_a_long_request_needs_a_sound_one_before() -> None:
    long = _vote_of(10_000)
    async with serving() as server, raw_peer(server) as first, raw_peer(server) as second:
        first.ask(long, 2)
        assert await first.is_hung_up_on()
        second.ask(vote(1), 2)
        second.ask(long, 2, 2)
        await second.receive()
        await second.receive()


@in_loop
async def test_long_requests_take_no_more_than_their_share() -> None:
    calls: list[Call] = []
    came = asyncio.Event()

    def handle(call: Call) -> None:
        calls.append(call)
        came.set()

    limits = Limits(held_bytes=15_000)
    async with (
        serving(handle, limits) as server,
        raw_peer(server) as first,
        raw_peer(server) as second,
    ):
        for peer in (first, second):
            peer.ask(vote(1), 2)
            await came.wait()
            came.clear()
            answer(calls[-1])
            await peer.receive()
        first.ask(_vote_of(10_000), 2)
        await came.wait()
        second.ask(_vote_of(10_000), 2)
        assert await second.is_hung_up_on()
        assert server.complaints[Reason.NO_ROOM] == 1
        came.clear()
        answer(calls[-1])
        await first.receive()
        first.ask(_vote_of(10_000), 2)
        await came.wait()


def _vote_of(size: int) -> VoteRequest:
    return VoteRequest(cluster_id="0" * size, voter_id=1)


@in_loop
async def test_a_peer_that_does_not_read_is_closed() -> None:
    async with serving(limits=Limits(send_s=0.1)) as server, raw_peer(server) as peer:
        peer.writer.transport.pause_reading()  # type: ignore[attr-defined]
        peer.ask(FetchRequest(max_bytes=20_000_000), 12)
        await until(lambda: server.complaints.get(Reason.SLOW_READER) == 1)
        await still_serves(server)


@pytest.mark.slow
@in_loop
async def test_answers_that_are_not_read_take_a_bounded_amount() -> None:
    limits = Limits(unsent_bytes=30_000_000, closing_s=0.1)
    async with serving(limits=limits) as server, AsyncExitStack() as stack:
        tracemalloc.start()
        try:
            for _ in range(10):
                peer = await stack.enter_async_context(raw_peer(server))
                peer.writer.transport.pause_reading()  # type: ignore[attr-defined]
                peer.ask(FetchRequest(max_bytes=20_000_000), 12)
                await still_serves(server)
            # What is unsent, and while one is written the message, its bytes and its frame.
            assert tracemalloc.get_traced_memory()[1] < 30_000_000 + 5 * 20_000_000
        finally:
            tracemalloc.stop()
        assert server.complaints[Reason.SLOW_READER] >= 8


@in_loop
async def test_pipelined_requests_take_no_memory() -> None:
    calls: list[Call] = []
    came = asyncio.Event()

    def handle(call: Call) -> None:
        calls.append(call)
        came.set()

    async with serving(handle, Limits(closing_s=0.1)) as server, raw_peer(server) as peer:
        header = registry.request_header(vote(1), 2, correlation_id=1)
        frame = add_size(registry.encode_request(header, vote(1)))
        many = frame * (8_000_000 // len(frame))
        tracemalloc.start()
        try:
            peer.send(many)
            await came.wait()
            before, _ = tracemalloc.get_traced_memory()
            async with serving() as other:
                await still_serves(other)
            after, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert len(calls) == 1
        assert after - before < 500_000


@in_loop
async def test_half_requests_take_the_memory_of_what_came() -> None:
    limits = Limits(request_bytes=1 << 20, held_bytes=4 << 20)
    async with serving(limits=limits) as server, AsyncExitStack() as stack:
        peers = [await stack.enter_async_context(raw_peer(server)) for _ in range(4)]
        for peer in peers:
            peer.ask(vote(1), 2)
            await peer.receive()
        tracemalloc.start()
        try:
            for peer in peers:
                peer.send((1 << 20).to_bytes(4) + bytes(1000))
            await still_serves(server)
            assert tracemalloc.get_traced_memory()[1] < 4 * (256 << 10) + 1_000_000
        finally:
            tracemalloc.stop()


@in_loop
async def test_a_flood_closes_connections_that_say_nothing_first() -> None:
    limits = Limits(connections_per_address=10)
    async with (
        serving(limits=limits) as server,
        connected(server) as connection,
        AsyncExitStack() as stack,
    ):
        for _ in range(50):
            await stack.enter_async_context(raw_peer(server))
        await until(lambda: server.complaints.get(Reason.FLOOD) == 41)
        assert server.connections == 10
        assert number_of(await connection.ask(vote(3))) == 3


@in_loop
async def test_where_all_are_busy_the_newest_is_refused() -> None:
    came = asyncio.Event()
    async with (
        serving(lambda call: came.set(), Limits(connections=2)) as server,
        raw_peer(server) as first,
        raw_peer(server) as second,
    ):
        for peer in (first, second):
            peer.ask(vote(1), 2)
            await came.wait()
            came.clear()
        async with raw_peer(server) as third:
            assert await third.is_hung_up_on()
        assert server.connections == 2


@in_loop
async def test_nothing_a_peer_does_writes_a_traceback(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        async with serving(limits=Limits(frame_s=0.2)) as server:
            for data in (bytes(12), b"\0\0\0\x10" + bytes(16), b"\x7f" * 8, b"GET / HTTP/1.1\r\n"):
                async with raw_peer(server) as peer:
                    peer.send(data)
                    assert await peer.is_hung_up_on()
    ours = [one for one in caplog.records if one.name.startswith("kraftwire")]
    assert any(one.levelno == logging.WARNING for one in ours)
    assert not any(one.exc_info for one in caplog.records)


async def until(happened: object) -> None:
    """Let the loop run until something has happened; the test's own limit bounds it."""
    assert callable(happened)
    while not happened():
        await asyncio.sleep(0.001)
