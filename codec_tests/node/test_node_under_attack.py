"""Peers that mean harm to a node: its descriptors, memory and log stay bounded, and it goes on."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import cast

import pytest

from kraftwire.net.calls import Call
from kraftwire.net.client import Connection
from kraftwire.net.descriptors import RESERVED
from kraftwire.net.limits import MOST_PEERS, Limits
from kraftwire.net.server import Endpoint, Server
from kraftwire.raft.core.messages import begin_quorum_epoch_request, partition_of
from kraftwire.raft.state.voters import Listener, ReplicaKey
from kraftwire_messages.kafka import (
    ApiVersionsRequest,
    BeginQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
)
from kraftwire_wire.numbers import ApiKey, ErrorCode

from codec_tests.held_ports import HOST
from codec_tests.net.servers import crowd, tell_versions
from codec_tests.node.clusters import run
from codec_tests.node.victims import CLUSTER_ID, Victim, victim

_ALL = Limits(connections=2000, connections_per_address=2000)
_WITHIN_S = 120
"""Each epoch is a flush of the disk, and the machine may be busy."""
APIS = {ApiKey.API_VERSIONS: range(5), ApiKey.FETCH: range(12, 19)}


class FalseLeader:
    """Answers every Fetch with an error, and so keeps the connections that it gets."""

    def __init__(self) -> None:
        self.asked: list[Call] = []
        # Every address of loopback is one of its.
        everywhere = Endpoint("CONTROLLER", "0.0.0.0", 0)
        self.server = Server([everywhere], APIS, self._answer, _ALL)
        self.news = asyncio.Event()

    @property
    def port(self) -> int:
        return self.server.ports["CONTROLLER"]

    def _answer(self, call: Call) -> None:
        if isinstance(call.message, ApiVersionsRequest):
            tell_versions(call, APIS)
        elif isinstance(call.message, FetchRequest):
            self.asked.append(call)
            self.news.set()
            call.answer(FetchResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR))


@asynccontextmanager
async def false_leader() -> AsyncIterator[FalseLeader]:
    one = FalseLeader()
    await one.server.start()
    try:
        yield one
    finally:
        await one.server.close()


async def announce(
    connection: Connection, epoch: int, *endpoints: tuple[str, int]
) -> BeginQuorumEpochResponse:
    """Say that replica 2 leads an epoch, and where it listens."""
    listeners = [Listener("CONTROLLER", host, port) for host, port in endpoints]
    request = begin_quorum_epoch_request(CLUSTER_ID, 2, ReplicaKey(1), epoch, tuple(listeners))
    return cast(BeginQuorumEpochResponse, await connection.ask(request))


async def epoch_of(connection: Connection) -> int:
    """The epoch that a node is in."""
    refused = await announce(connection, 0, (HOST, 1))
    return int(partition_of(refused).leader_epoch)


@pytest.mark.slow
def test_announced_endpoints_take_a_bounded_number_of_descriptors(tmp_path: Path) -> None:
    async def scene() -> None:
        async with victim(tmp_path, descriptors=128) as node, false_leader() as leader:
            connection = await Connection.open(HOST, node.port)
            before = most = node.descriptors
            epoch = await epoch_of(connection)
            for number in range(120):
                leader.news.clear()
                epoch += 1
                await announce(connection, epoch, (f"127.0.1.{number}", leader.port))
                await leader.news.wait()
                most = max(most, node.descriptors)
            await connection.close()
            await node.commits("after")
            assert most <= before + MOST_PEERS + 1
            assert len(node.said) < 20_000

    run(scene(), within_s=_WITHIN_S)


@pytest.mark.slow
def test_endpoints_where_nobody_answers_do_not_pile_up(tmp_path: Path) -> None:
    async def scene() -> None:
        with socket.create_server(("0.0.0.0", 0), backlog=1000) as silent:
            port = silent.getsockname()[1]
            slow = {"controller_quorum_request_timeout_ms": "20000"}
            async with victim(tmp_path, descriptors=128, **slow) as node:
                connection = await Connection.open(HOST, node.port)
                before = most = node.descriptors
                epoch = await epoch_of(connection)
                for number in range(120):
                    epoch += 1
                    await announce(connection, epoch, (f"127.0.{number}.1", port))
                    most = max(most, node.descriptors)
                await connection.close()
                await node.commits("after")
                assert most <= before + MOST_PEERS + 2

    run(scene(), within_s=_WITHIN_S)


@pytest.mark.slow
@pytest.mark.parametrize("data", [b"", b"\0\0\0\x40half"], ids=["silent", "half a request"])
def test_half_open_connections_of_many_addresses_leave_files_and_voters_room(
    tmp_path: Path, data: bytes
) -> None:
    async def scene() -> None:
        async with victim(tmp_path, descriptors=128) as node:
            early = await Connection.open(HOST, node.port)
            # The example takes no more than the first quarter of all.
            for port, full in ((node.port, 128 - RESERVED), (node.key_port, 128 // 4)):
                with ExitStack() as stack:
                    await crowd(stack, port, 150, data)
                    while node.descriptors < full:
                        await asyncio.sleep(0.01)
                    # Another epoch is a file that is written anew.
                    epoch = await epoch_of(early) + 1
                    await announce(early, epoch, (HOST, 1))
                    late = await Connection.open(HOST, node.port)
                    assert await epoch_of(late) >= epoch
                    await late.close()
                    assert node.descriptors <= 128 - RESERVED + 2
            await early.close()

    run(scene(), within_s=_WITHIN_S)


def test_a_node_does_not_start_with_too_few_descriptors(tmp_path: Path) -> None:
    one = Victim(tmp_path)
    one.start(100)
    try:
        assert one.process is not None
        assert one.process.wait(30) == 2
    finally:
        one.stop()
    assert "may open 100 files, but a node needs 128: raise the limit (ulimit -n)" in one.said
