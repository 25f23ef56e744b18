"""A connection that asks."""

from __future__ import annotations

import asyncio

import pytest

from kraftwire.net.calls import Call
from kraftwire.net.client import Connection
from kraftwire.net.errors import NoCommonVersion
from kraftwire_messages.kafka import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    DescribeQuorumRequest,
    FetchRequest,
    FetchResponse,
    VoteRequest,
    VoteResponse,
    registry,
)
from kraftwire_wire.errors import DecodeError, KraftwireError, UnsupportedVersion
from kraftwire_wire.framing import add_size
from kraftwire_wire.numbers import ApiKey

from codec_tests.net.servers import (
    APIS,
    HOST,
    answer,
    connected,
    in_loop,
    number_of,
    serving,
    tell_versions,
    vote,
)


@in_loop
async def test_many_questions_are_on_their_way_at_once() -> None:
    async with serving() as server, connected(server) as connection:
        answers = await asyncio.gather(*(connection.ask(vote(number)) for number in range(50)))
        assert [number_of(one) for one in answers] == list(range(50))


@in_loop
async def test_a_question_that_is_given_up_does_not_disturb_others() -> None:
    open_calls: list[Call] = []

    def handle(call: Call) -> None:
        if isinstance(call.message, VoteRequest):
            open_calls.append(call)
            first_came.set()
        else:
            answer(call)

    first_came = asyncio.Event()
    async with serving(handle) as server, connected(server) as connection:
        given_up = asyncio.create_task(connection.ask(vote(1)))
        other = asyncio.create_task(connection.ask(vote(2)))
        await first_came.wait()
        given_up.cancel()
        await asyncio.wait([given_up])
        first_came.clear()
        answer(open_calls[0])
        await first_came.wait()
        answer(open_calls[1])
        assert number_of(await other) == 2


@in_loop
async def test_the_newest_version_that_both_speak_is_asked() -> None:
    async with serving() as server, connected(server) as connection:
        assert connection.version_for(FetchRequest()) == 17
        assert connection.version_for(VoteRequest()) == 2


@in_loop
async def test_a_version_without_room_for_what_is_said_is_not_asked() -> None:
    apis = {**APIS, ApiKey.VOTE: range(2)}

    def handle(call: Call) -> None:
        tell_versions(call, apis)

    async with serving(handle, apis=apis) as server, connected(server) as connection:
        with pytest.raises(NoCommonVersion, match="pre_vote"):
            connection.version_for(_pre_vote())


def _pre_vote() -> VoteRequest:
    partition = VoteRequest.PartitionData(pre_vote=True)
    return VoteRequest(topics=[VoteRequest.TopicData(partitions=[partition])])


@in_loop
async def test_an_api_that_the_peer_does_not_speak_is_unsupported() -> None:
    async with serving() as server, connected(server) as connection:
        with pytest.raises(UnsupportedVersion, match="does not speak DescribeQuorumRequest"):
            await connection.ask(DescribeQuorumRequest())


@in_loop
async def test_a_lost_connection_ends_every_open_question() -> None:
    def handle(call: Call) -> None:
        if isinstance(call.message, VoteRequest):
            call.disconnect()
        else:
            answer(call)

    async with serving(handle) as server, connected(server) as connection:
        asked = [asyncio.ensure_future(connection.ask(vote(number))) for number in range(3)]
        outcomes = await asyncio.gather(*asked, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [ConnectionError] * 3
        assert connection.is_closed
        with pytest.raises(ConnectionError, match=f"{HOST}:.*connection"):
            await connection.ask(vote(1))


@in_loop
async def test_a_closed_connection_ends_open_questions() -> None:
    def handle(call: Call) -> None:
        if not isinstance(call.message, VoteRequest):
            answer(call)

    async with serving(handle) as server:
        connection = await Connection.open(HOST, server.ports["CONTROLLER"])
        asked = asyncio.ensure_future(connection.ask(vote(1)))
        await asyncio.sleep(0)
        await connection.close()
        assert connection.is_closed
        with pytest.raises(ConnectionError, match="closed by this end"):
            await asked
        await connection.close()


@in_loop
async def test_nobody_there_is_an_os_error() -> None:
    async with serving() as server:
        port = server.ports["CONTROLLER"]
    with pytest.raises(OSError):
        await Connection.open(HOST, port)


@in_loop
async def test_an_older_server_is_asked_again_in_a_version_it_knows() -> None:
    apis = {ApiKey.API_VERSIONS: range(3), ApiKey.VOTE: range(1, 2)}
    asked: list[int] = []

    def handle(call: Call) -> None:
        asked.append(call.version)
        tell_versions(call, apis)

    async with serving(handle, apis=apis) as server, connected(server) as connection:
        assert asked == [2]
        assert connection.version_for(VoteRequest()) == 1


@in_loop
async def test_a_response_that_nobody_asked_for_closes_the_connection() -> None:
    await _refuses(lambda frame: add_size(bytes(8)), "was not sent")


@in_loop
async def test_a_response_of_negative_size_closes_the_connection() -> None:
    await _refuses(lambda frame: b"\xff\xff\xff\xff", "-1 bytes")


@in_loop
async def test_a_response_beyond_the_limit_closes_the_connection() -> None:
    await _refuses(lambda frame: (1 << 30).to_bytes(4), "1073741824 bytes")


async def _refuses(bad: object, reason: str) -> None:
    """A server sends something else than an answer to ApiVersions."""
    assert callable(bad)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        size = int.from_bytes(await reader.readexactly(4))
        writer.write(bad(await reader.readexactly(size)))
        await reader.read()
        writer.close()

    async with await asyncio.start_server(talk, HOST, 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(ConnectionError, match=reason):
            await Connection.open(HOST, port)


@in_loop
async def test_a_torn_response_is_a_decode_error() -> None:
    versions = ApiVersionsResponse(
        api_keys=[ApiVersionsResponse.ApiVersion(api_key=ApiKey.VOTE, max_version=1)]
    )

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for torn in (0, 1):
            size = int.from_bytes(await reader.readexactly(4))
            header, request = registry.decode_request(await reader.readexactly(size))
            answers = isinstance(request, ApiVersionsRequest)
            response = versions if answers else VoteResponse()
            frame = registry.encode_response(header, response)
            writer.write(add_size(frame[: len(frame) - torn]))
        await reader.read()
        writer.close()

    async with await asyncio.start_server(talk, HOST, 0) as server:
        connection = await Connection.open(HOST, server.sockets[0].getsockname()[1])
        with pytest.raises(DecodeError):
            await connection.ask(VoteRequest())
        assert not connection.is_closed
        await connection.close()


@in_loop
async def test_large_answers_come_whole() -> None:
    async with serving() as server, connected(server) as connection:
        response = await connection.ask(FetchRequest(max_bytes=5_000_000))
        assert isinstance(response, FetchResponse)
        assert response.responses[0].partitions[0].records == bytes(5_000_000)


@in_loop
async def test_the_limit_of_responses_is_the_callers() -> None:
    async with serving() as server, connected(server, max_bytes=10_000) as connection:
        with pytest.raises(ConnectionError, match="limit is 10000"):
            await connection.ask(FetchRequest(max_bytes=20_000))


@in_loop
async def test_an_error_instead_of_versions_is_told() -> None:
    def handle(call: Call) -> None:
        call.answer(ApiVersionsResponse(error_code=31))

    async with serving(handle) as server:
        with pytest.raises(KraftwireError, match="error 31"):
            await Connection.open(HOST, server.ports["CONTROLLER"])
