"""A voter loses its disk and becomes a voter again (KIP-853), among our nodes and real ones.

The node starts with an empty disk and another directory id. An operator removes the lost voter,
which never returns, and adds the new observer with the same node id.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from kraftwire.address import Address
from kraftwire.node.node import Node
from kraftwire.quorum.admin import add_voter, describe_quorum, remove_voter
from kraftwire.raft.state.voters import Listener, ReplicaKey
from kraftwire_messages.kafka import NoOpRecord
from kraftwire_wire.records import encode_metadata_record

from codec_tests.interop.kafka_connection import HOST
from codec_tests.interop.kafka_server import kafka_cluster
from codec_tests.interop.our_node import OurNode, aside, caught_up, command, patiently, run, until

pytestmark = pytest.mark.interop

CLUSTER = "RGlzay1sb3NzLWNsdXN0ZXI"
RECORD = encode_metadata_record(NoOpRecord(), 0)


async def voters_and_observers(at: Address) -> tuple[set[ReplicaKey], set[ReplicaKey]]:
    """Return the keys of voters and observers that the leader reports."""
    quorum = await describe_quorum([at])
    sets = [
        {ReplicaKey(one.replica_id, one.directory_id) for one in some if one.directory_id}
        for some in (quorum.voters, quorum.observers)
    ]
    return sets[0], sets[1]


async def replace_voter(at: Address, ours: OurNode, lost: ReplicaKey) -> None:
    """Do what an operator does."""
    voters, observers = await voters_and_observers(at)
    assert lost in voters
    assert ours.key in observers
    await patiently(lambda: remove_voter([at], lost))
    voters, _ = await voters_and_observers(at)
    assert lost not in voters
    listeners = (Listener("CONTROLLER", *ours.address),)
    await patiently(lambda: add_voter([at], ours.key, listeners))
    voters, observers = await voters_and_observers(at)
    assert ours.key in voters
    assert ours.key not in observers


def test_one_of_three_of_ours(tmp_path: Path) -> None:
    three = [OurNode(tmp_path / f"ours_{n}", n, CLUSTER, {}) for n in (1, 2, 3)]
    ids = [command("storage", "random-uuid").strip() for _ in three]
    first = ",".join(
        f"{one.number}@{HOST}:{one.port}:{one_id}" for one, one_id in zip(three, ids, strict=True)
    )
    for one in three:
        one.format("--initial-controllers", first)

    async def scene() -> None:
        async with AsyncExitStack() as running, AsyncExitStack() as third:
            nodes = [await running.enter_async_context(one.running()) for one in three[:2]]
            nodes.append(await third.enter_async_context(three[2].running()))
            await (await leader_of(nodes)).propose([RECORD])
            lost = three[2].key
            await third.aclose()
            await aside(three[2].lose_disk)
            nodes[2] = await running.enter_async_context(three[2].running())
            leader = await leader_of(nodes[:2])
            end = await leader.propose([RECORD])
            await until("the observer has all", lambda: nodes[2].committed >= end)
            at = three[nodes.index(leader)].address
            await replace_voter(at, three[2], lost)
            # With one of the others gone, the new voter is needed.
            await next(node for node in nodes[:2] if node is not leader).close()
            await leader.propose([RECORD])

    run(scene())


def test_ours_among_real_ones() -> None:
    with kafka_cluster(controllers=2, brokers=0) as cluster:
        ours = OurNode.beside(cluster, 9)
        at = Address(HOST, cluster.controllers[0].ports["CONTROLLER"])

        async def scene() -> None:
            async with ours.running() as node:
                await until("it has caught up", lambda: node.committed > 0)
                listeners = (Listener("CONTROLLER", *ours.address),)
                await patiently(lambda: add_voter([at], ours.key, listeners))
            lost = ours.key
            await aside(ours.lose_disk)
            async with ours.running() as node:
                await caught_up(node, cluster)
                await replace_voter(at, ours, lost)
                leader = await aside(cluster.wait_for_leader)
                (other,) = (one for one in cluster.controllers if one is not leader)
                await aside(other.stop)
                now = node.committed
                await until("our vote is enough", lambda: node.committed > now + 2)

        run(scene())


async def leader_of(nodes: list[Node]) -> Node:
    """Wait until one of the nodes leads and return it."""
    await until("one of ours leads", lambda: any(node.leads for node in nodes))
    return next(node for node in nodes if node.leads)
