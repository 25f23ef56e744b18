"""One of our nodes in a quorum of real controllers: it observes, votes, leads and resigns."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kraftwire.address import Address
from kraftwire.node.node import Node
from kraftwire.quorum.admin import describe_quorum, remove_voter
from kraftwire_messages.kafka import NoOpRecord
from kraftwire_wire.records import encode_metadata_record

from codec_tests.interop.kafka_connection import HOST, Connection
from codec_tests.interop.kafka_server import KafkaCluster, KafkaNode, kafka_cluster
from codec_tests.interop.kafka_server import describe_quorum as describe_metadata
from codec_tests.interop.kafka_tools import run_tool
from codec_tests.interop.our_node import (
    OurNode,
    aside,
    caught_up,
    first_segment,
    patiently,
    run,
    until,
)

pytestmark = pytest.mark.interop

RECORD = encode_metadata_record(NoOpRecord(), 0)
TOOL = "MetadataQuorumCommand"


@pytest.fixture(scope="module")
def two() -> Iterator[KafkaCluster]:
    """Two controllers without a broker: brokers need an active controller, which ours is not."""
    with kafka_cluster(controllers=2, brokers=0) as cluster:
        yield cluster


def leader_of(cluster: KafkaCluster) -> tuple[KafkaNode, list[KafkaNode]]:
    """Return the leading controller, and the others."""
    leader = cluster.wait_for_leader()
    return leader, [node for node in cluster.controllers if node is not leader]


def data_of(node: KafkaNode) -> bytes:
    return first_segment(node.directory / "data")


def test_an_observer_has_the_bytes_of_the_leader(quorum: KafkaCluster) -> None:
    ours = OurNode.beside(quorum, 21)

    async def scene() -> None:
        async with ours.running() as node:
            await caught_up(node, quorum)
            leader, _ = await aside(leader_of, quorum)
            mine, theirs = ours.log, data_of(leader)
            end = min(len(mine), len(theirs))
            assert end > 1000
            assert mine[:end] == theirs[:end]
            described = await aside(
                run_tool,
                TOOL,
                "--bootstrap-controller",
                quorum.bootstrap_controllers,
                "describe",
                "--replication",
            )
            (row,) = (line.split() for line in described.splitlines() if line.startswith("21 "))
            assert row[-1] == "Observer"

    run(scene())


def test_a_quorum_commits_with_our_vote_and_not_without(two: KafkaCluster) -> None:
    ours = OurNode.beside(two, 9, controller_quorum_fetch_timeout_ms="1000")

    async def scene() -> None:
        async with ours.running() as node:
            await caught_up(node, two)
            await aside(_add, two, ours)
            await until("it is a voter", lambda: _is_voter(node))
            leader, (other,) = await aside(leader_of, two)
            with paused(other):  # the leader and ours are a majority
                before = node.committed
                await until("records are committed", lambda: node.committed > before + 3)
                await _lead(node, leader)
            await until("the other follows", lambda: data_of(other) == ours.log)
            leader.start()
            await _commit(node, ours, [leader, other])
            ours_at = f"127.0.0.1:{ours.port}"
            status = await aside(
                run_tool, TOOL, "--bootstrap-controller", ours_at, "describe", "--status"
            )
            assert "LeaderId:               9" in status
        await until("a real one leads again", lambda: two.leader() in (1, 2))
        for one in two.controllers:
            assert one.process is not None
            assert one.process.poll() is None
            assert "FATAL" not in one.log.read_text(encoding="utf-8")

    run(scene())


def test_a_quorum_of_three_takes_ours_and_commits_while_our_vote_is_needed(
    quorum: KafkaCluster,
) -> None:
    ours = OurNode.beside(quorum, 23)
    at = [Address(HOST, node.ports["CONTROLLER"]) for node in quorum.controllers]

    async def scene() -> None:
        async with ours.running() as node:
            await caught_up(node, quorum)
            await aside(_add, quorum, ours)
            await until("it is a voter", lambda: _is_voter(node))
            leader, others = await aside(leader_of, quorum)
            with paused(others[0]):  # three of four are a majority, and there are only three
                before = node.committed
                await until("records are committed", lambda: node.committed > before + 3)
        leader, others = await aside(leader_of, quorum)
        with paused(others[0]):
            port = leader.ports["CONTROLLER"]
            await until("without us it resigns", lambda: not _leads(port))
            async with ours.running() as node:
                before = node.committed
                await until("our vote is back", lambda: node.committed > before + 3)
        await patiently(lambda: remove_voter(at, ours.key))
        assert 23 not in {one.replica_id for one in (await describe_quorum(at)).voters}

    run(scene())


def _leads(port: int) -> bool:
    """Whether it reports that it leads; one that does not answer may still lead."""
    try:
        with Connection(port) as connection:
            return describe_metadata(connection).error_code == 0
    except OSError:
        return True


def _add(cluster: KafkaCluster, ours: OurNode) -> None:
    config = ("--command-config", str(ours.config))
    where = ("--bootstrap-controller", cluster.bootstrap_controllers)
    added = run_tool(TOOL, *config, *where, "add-controller")
    assert f"Added controller {ours.number}" in added


def _is_voter(node: Node) -> bool:
    return node.metrics()["current-state"] == "follower"


async def _lead(node: Node, leader: KafkaNode) -> None:
    """Stop the leader; of the rest, only our node has the whole log."""
    await aside(leader.stop)
    await until("our node leads", lambda: node.leads is not None)


async def _commit(node: Node, ours: OurNode, others: list[KafkaNode]) -> None:
    """Commit records as the leader of real followers, and wait until they have the same bytes."""
    for _ in range(20):
        await node.propose([RECORD])
    await asyncio.gather(*(node.propose([RECORD]) for _ in range(2000)))
    await until("all have all", lambda: all(data_of(one) == ours.log for one in others))
    assert node.leads is not None


@contextmanager
def paused(node: KafkaNode) -> Iterator[None]:
    """Stop a process in this context, like a long garbage collection."""
    assert node.process is not None
    os.kill(node.process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(node.process.pid, signal.SIGCONT)
