"""What clients of the example machine are told about the leader."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from kraftwire.node.key_value import KeyValues, KeyValueServer
from kraftwire.node.node import Node
from kraftwire.raft.core.inputs import Resign
from kraftwire.raft.core.roles import Leader, Resigned
from kraftwire.raft.state.config import Membership

from codec_tests.held_ports import HOST
from codec_tests.node.clusters import cluster, keys_of, run, until

NOBODY = "error no leader takes changes now; try again"

Ask = Callable[[str], Awaitable[str]]


@asynccontextmanager
async def client_of(node: Node) -> AsyncIterator[Ask]:
    """Serve the keys of a node; yields what sends a line and returns the answer."""
    assert isinstance(node.machine, KeyValues)
    server = KeyValueServer(node, node.machine)
    reader, writer = await asyncio.open_connection(HOST, await server.start(HOST, 0))

    async def ask(line: str) -> str:
        writer.write(f"{line}\n".encode())
        return (await reader.readline()).decode().strip()

    try:
        yield ask
    finally:
        writer.close()
        await writer.wait_closed()
        await server.close()


@pytest.mark.slow
def test_every_node_names_the_leader_that_takes_changes() -> None:
    async def scene() -> None:
        async with cluster(2) as two:
            leader = await two.leader()
            number = leader.config.key.id
            (other,) = (node for node in two.nodes.values() if node is not leader)
            await until(lambda: other.leader_id == number)
            async with client_of(leader) as ask, client_of(other) as ask_other:
                assert await ask("leader") == await ask_other("leader") == f"leader {number}"
                assert await ask_other("put a 1") == f"error not the leader, which is {number}"
                assert (await ask("put a 1")).startswith("ok ")

    run(scene())


@pytest.mark.slow
def test_a_leader_that_has_resigned_does_not_name_itself() -> None:
    async def scene() -> None:
        async with cluster(3) as three:
            leader = await three.leader()
            for number in set(three.nodes) - {leader.config.key.id}:
                await three.stop(number)
            leader._step(Resign())
            assert isinstance(leader._driver.replica.core.role, Resigned)
            assert leader.leader_id is None
            async with client_of(leader) as ask:
                assert await ask("leader") == "none"
                assert await ask("put a 1") == NOBODY

    run(scene())


@pytest.mark.slow
def test_a_leader_that_waits_for_a_voter_to_be_named_does_not_name_itself() -> None:
    async def scene() -> None:
        async with cluster(3, 0, Membership.KIP_856, absent=1) as three:
            await until(lambda: any(map(_is_leader, three.nodes.values())))
            leader = next(filter(_is_leader, three.nodes.values()))
            async with client_of(leader) as ask:
                assert await ask("leader") == "none"
                assert await ask("put a 1") == NOBODY
                await three.start(3)
                leader = await three.leader()
                await leader.propose([b'["put", "a", "1"]'])
                assert keys_of(leader) == {"a": "1"}

    run(scene())


def _is_leader(node: Node) -> bool:
    return isinstance(node._driver.replica.core.role, Leader)
