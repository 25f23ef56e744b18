"""What a server does with peers that behave."""

from __future__ import annotations

import asyncio
import logging
from typing import NoReturn

import pytest

from kraftwire.net.calls import Call
from kraftwire.net.client import Connection
from kraftwire.net.complaints import Reason
from kraftwire.net.limits import Limits
from kraftwire.net.server import Endpoint, Server
from kraftwire_messages.kafka import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    FetchRequest,
    FetchResponse,
    RequestHeader,
    VoteRequest,
    VoteResponse,
    registry,
)
from kraftwire_wire.errors import EncodeError
from kraftwire_wire.framing import add_size

from codec_tests.net.servers import (
    APIS,
    HOST,
    answer,
    connected,
    in_loop,
    number_of,
    raw_peer,
    serving,
    vote,
)


@in_loop
async def test_a_call_says_where_it_comes_from_and_what_it_asks() -> None:
    calls: list[Call] = []

    def handle(call: Call) -> None:
        calls.append(call)
        answer(call)

    async with serving(handle) as server, connected(server, client_id="me") as connection:
        await connection.ask(vote(1), 1)
    call = calls[-1]
    assert call.message == vote(1)
    assert call.version == 1
    assert call.listener == "CONTROLLER"
    assert call.peer.startswith(f"{HOST}:")
    assert call.client_id == "me"
    assert call.principal is None


@in_loop
async def test_the_next_request_is_read_once_the_one_before_is_answered() -> None:
    calls: list[Call] = []
    came = asyncio.Event()

    def handle(call: Call) -> None:
        calls.append(call)
        came.set()

    async with serving(handle) as server, raw_peer(server) as peer:
        for number in range(3):
            peer.ask(vote(number), 2, number)
        for number in range(3):
            await came.wait()
            came.clear()
            assert len(calls) == number + 1
            calls[-1].answer(VoteResponse())
            assert int.from_bytes((await peer.receive())[:4]) == number


@in_loop
async def test_connections_do_not_wait_for_one_another() -> None:
    def handle(call: Call) -> None:
        if call.message != vote(1):
            answer(call)

    async with serving(handle) as server, connected(server) as one, connected(server) as other:
        waiting = asyncio.ensure_future(one.ask(vote(1)))
        assert number_of(await other.ask(vote(2))) == 2
        assert not waiting.done()
        waiting.cancel()


@in_loop
async def test_a_call_is_answered_once() -> None:
    def handle(call: Call) -> None:
        answer(call)
        answer(call)

    async with serving(handle) as server, connected(server) as connection:
        for number in range(3):
            assert number_of(await connection.ask(vote(number))) == number


@in_loop
async def test_a_call_whose_connection_is_gone_is_told_and_its_answer_dropped() -> None:
    lost: asyncio.Future[Call] = asyncio.get_running_loop().create_future()
    came = asyncio.Event()
    async with serving(lambda call: came.set(), on_lost=lost.set_result) as server:
        async with raw_peer(server) as peer:
            peer.ask(vote(1), 2)
            await came.wait()
        call = await lost
        assert not call.is_open
        answer(call)


@in_loop
async def test_a_peer_that_goes_away_is_noticed_behind_the_start_of_a_request() -> None:
    lost: asyncio.Future[Call] = asyncio.get_running_loop().create_future()
    came = asyncio.Event()
    async with serving(lambda call: came.set(), on_lost=lost.set_result) as server:
        async with raw_peer(server) as peer:
            peer.ask(vote(1), 2)
            await came.wait()
            peer.send(b"\0\0\0")
        assert (await lost).message == vote(1)


@in_loop
async def test_a_response_without_a_form_ends_the_connection_and_is_told() -> None:
    errors: list[Exception] = []

    def handle(call: Call) -> None:
        try:
            call.answer(ApiVersionsResponse())
        except EncodeError as error:
            errors.append(error)

    async with serving(handle) as server, raw_peer(server) as peer:
        peer.ask(vote(1), 2)
        assert await peer.is_hung_up_on()
    assert len(errors) == 1


@in_loop
async def test_api_versions_of_the_future_is_answered_in_version_0() -> None:
    async with serving() as server, raw_peer(server) as peer:
        header = RequestHeader(
            request_api_key=18, request_api_version=99, correlation_id=7, client_id="new"
        )
        peer.send(add_size(header.encode(2) + b"whatever comes then"))
        frame = await peer.receive()
        asked = registry.request_header(ApiVersionsRequest(), 99, correlation_id=7)
        _, response = registry.decode_response(frame, asked)
        assert isinstance(response, ApiVersionsResponse)
        assert response.error_code == 35
        (spoken,) = response.api_keys
        assert (spoken.api_key, spoken.min_version, spoken.max_version) == (18, 0, 4)
        peer.ask(vote(1), 2)
        await peer.receive()


@in_loop
async def test_closing_waits_for_answers_and_no_longer_for_requests() -> None:
    calls: list[Call] = []
    came = asyncio.Event()

    def handle(call: Call) -> None:
        if call.message == vote(1):
            calls.append(call)
            came.set()
        else:
            answer(call)

    async with serving(handle) as server, connected(server) as idle, connected(server) as one:
        asked = asyncio.ensure_future(one.ask(vote(1)))
        await came.wait()
        closing = asyncio.ensure_future(server.close())
        with pytest.raises(ConnectionError):
            await _ask_on(idle)
        answer(calls[0])
        assert number_of(await asked) == 1
        await closing
        assert server.connections == 0
        with pytest.raises(OSError):
            await asyncio.open_connection(HOST, server.ports["CONTROLLER"])


async def _ask_on(connection: Connection) -> NoReturn:
    while True:
        await connection.ask(vote(2))


@in_loop
async def test_closing_does_not_wait_for_ever() -> None:
    limits = Limits(closing_s=0.05)
    came = asyncio.Event()

    def handle(call: Call) -> None:
        if isinstance(call.message, FetchRequest):
            topic = FetchResponse.FetchableTopicResponse()
            topic.partitions.append(FetchResponse.PartitionData(records=bytes(50_000_000)))
            call.answer(FetchResponse(responses=[topic]))
        came.set()

    async with (
        serving(handle, limits) as server,
        raw_peer(server) as silent,
        raw_peer(server) as slow,
    ):
        silent.ask(vote(1), 2)
        await came.wait()
        came.clear()
        slow.writer.transport.pause_reading()  # type: ignore[attr-defined]
        slow.ask(FetchRequest(), 12)
        await came.wait()
        await server.close()
        assert server.connections == 0


@in_loop
async def test_every_listener_has_a_name_and_a_port() -> None:
    names: list[str] = []

    def handle(call: Call) -> None:
        names.append(call.listener)
        answer(call)

    server = Server([Endpoint("ONE", HOST, 0), Endpoint("TWO", "localhost", 0)], APIS, handle)
    await server.start()
    try:
        assert set(server.ports) == {"ONE", "TWO"}
        for name, port in server.ports.items():
            reader, writer = await asyncio.open_connection("localhost", port)
            header = registry.request_header(VoteRequest(), 2, correlation_id=1)
            writer.write(add_size(registry.encode_request(header, VoteRequest())))
            await reader.readexactly(4)
            assert names[-1] == name
            writer.close()
    finally:
        await server.close()


@in_loop
async def test_a_port_that_is_taken_is_told_with_its_listener() -> None:
    async with serving() as server:
        taken = server.ports["CONTROLLER"]
        other = Server([Endpoint("FREE", HOST, 0), Endpoint("MINE", HOST, taken)], APIS, answer)
        with pytest.raises(OSError, match=f"MINE cannot listen on {HOST}:{taken}"):
            await other.start()
        with pytest.raises(OSError):
            await asyncio.open_connection(HOST, other.ports["FREE"])


@in_loop
async def test_plaintext_is_warned_of_beyond_loopback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for host, warnings in (("", 1), ("127.0.0.1", 0)):
        caplog.clear()
        server = Server([Endpoint("CONTROLLER", host, 0)], APIS, answer)
        with caplog.at_level(logging.WARNING, "kraftwire.net"):
            await server.start()
            await server.close()
        assert len([one for one in caplog.messages if "PLAINTEXT" in one]) == warnings


@in_loop
async def test_idle_connections_are_closed() -> None:
    async with serving(limits=Limits(idle_s=0.02)) as server, raw_peer(server) as peer:
        peer.ask(vote(1), 2)
        await peer.receive()
        assert await peer.is_hung_up_on()
        assert server.complaints[Reason.IDLE] == 1
