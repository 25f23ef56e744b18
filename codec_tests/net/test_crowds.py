"""Connections of many addresses at once: the honest and the authenticated keep their places."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from pathlib import Path

import pytest

from kraftwire.net.admission import Guest
from kraftwire.net.calls import Call
from kraftwire.net.limits import Limits
from kraftwire.net.security import ClientAuth, ClientSecurity, ServerSecurity, Tls
from kraftwire.net.server import Endpoint, Server
from kraftwire_messages.kafka import ApiVersionsRequest, registry
from kraftwire_wire.framing import add_size

from codec_tests.net.certificates import Authority
from codec_tests.net.servers import (
    APIS,
    HOST,
    answer,
    connected,
    crowd,
    in_loop,
    number_of,
    serving,
    tell_versions,
    vote,
)

SILENT = {"silent": b"", "half a size": b"\0", "half a request": b"\0\0\0\x40half"}


@pytest.mark.parametrize("data", SILENT.values(), ids=SILENT)
def test_half_open_connections_of_many_addresses_keep_nobody_out(data: bytes) -> None:
    @in_loop
    async def run() -> None:
        limits = Limits(connections=20)
        async with serving(limits=limits) as server, connected(server) as early:
            with ExitStack() as stack:
                await crowd(stack, server.ports["CONTROLLER"], 100, data)
                assert number_of(await early.ask(vote(1))) == 1
                async with connected(server) as late:
                    assert number_of(await late.ask(vote(2))) == 2
                assert server.connections <= 20

    run()


@in_loop
async def test_a_known_host_comes_in_where_strangers_are_all_busy() -> None:
    waiting: list[Call] = []

    def handle(call: Call) -> None:
        if isinstance(call.message, ApiVersionsRequest):
            tell_versions(call)
        elif call.peer.startswith("127.0.0.1:"):
            answer(call)
        else:
            waiting.append(call)

    server = Server(
        [Endpoint("CONTROLLER", HOST, 0)],
        APIS,
        handle,
        Limits(connections=20, reserved_connections=5, closing_s=0.1),
        is_known=lambda host: host == HOST,
    )
    await server.start()
    try:
        with ExitStack() as stack:
            await crowd(stack, server.ports["CONTROLLER"], 50, _framed_vote())
            while len(waiting) < 15:
                await asyncio.sleep(0.001)
            for number in range(5):
                async with connected(server) as one:
                    assert number_of(await one.ask(vote(number))) == number
            assert len(waiting) == 15
    finally:
        await server.close()


def _framed_vote() -> bytes:
    header = registry.request_header(vote(1), 2, correlation_id=1)
    return add_size(registry.encode_request(header, vote(1)))


@in_loop
async def test_an_authenticated_client_keeps_its_place(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    tls = Tls(certificates=authority.issue("server"), authorities=authority.file)
    own = Tls(certificates=authority.issue("node"), authorities=authority.file)
    security = ServerSecurity(tls=tls, client_auth=ClientAuth.REQUIRED)
    limits = Limits(connections=20, reserved_connections=5)
    async with (
        serving(limits=limits, security=security) as server,
        connected(server, ClientSecurity(tls=own)) as early,
    ):
        (guest,) = _guests(server)
        assert guest.is_trusted
        with ExitStack() as stack:
            await crowd(
                stack, server.ports["CONTROLLER"], 100, b"\x16\x03\x01"
            )  # the start of a handshake
            assert number_of(await early.ask(vote(1))) == 1
            async with connected(server, ClientSecurity(tls=own)) as late:
                assert number_of(await late.ask(vote(2))) == 2
            assert sum(not guest.is_trusted for guest in _guests(server)) <= 15


def _guests(server: Server) -> list[Guest]:
    return list(server._service.admission)
