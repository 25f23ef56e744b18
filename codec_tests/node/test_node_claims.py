"""Nodes over loopback to which a stranger announces epochs that cannot be: they go on."""

from __future__ import annotations

import asyncio
from uuid import UUID

import pytest

from kraftwire.net.client import Connection
from kraftwire.node.key_value import put
from kraftwire.node.node import Node
from kraftwire.raft.core.messages import (
    begin_quorum_epoch_request,
    end_quorum_epoch_request,
    fetch_request,
    vote_request,
)
from kraftwire.raft.metadata_log.log_state import OffsetAndEpoch, UpToDate
from kraftwire.raft.state.bounds import MAX_EPOCH, MAX_JUMP
from kraftwire.raft.state.voters import Listener, ReplicaKey
from kraftwire_wire.message import Message
from kraftwire_wire.numbers import ErrorCode

from codec_tests.node.clusters import LISTENER, Cluster, cluster, keys_of, run, until

LAST = (1 << 31) - 1
STRANGER = ReplicaKey(99, UUID(int=99))
NOWHERE = (Listener(LISTENER, "127.0.0.1", 1),)
NAME = "a cluster"


def vote(voter: int, epoch: int, *, pre_vote: bool = False) -> Message:
    end = UpToDate(epoch - 1, 1 << 40)
    return vote_request(NAME, STRANGER, ReplicaKey(voter), epoch, end, pre_vote=pre_vote)


def begin(voter: int, epoch: int) -> Message:
    return begin_quorum_epoch_request(NAME, 99, ReplicaKey(voter), epoch, NOWHERE)


def claims(voter: int, epoch: int) -> list[Message]:
    """All that a stranger can say an epoch with."""
    fetched = OffsetAndEpoch(0, 0)
    return [
        vote(voter, epoch, pre_vote=True),
        vote(voter, epoch),
        begin(voter, epoch),
        end_quorum_epoch_request(NAME, 99, epoch, [STRANGER], NOWHERE),
        fetch_request(NAME, STRANGER, epoch, fetched, 0, max_wait_ms=0, max_bytes=100),
    ]


async def tell(node: Node, messages: list[Message]) -> list[Message]:
    """Have a stranger ask a node, one thing after the other; the answers."""
    connection = await Connection.open("127.0.0.1", node.ports[LISTENER])
    try:
        return [await connection.ask(message) for message in messages]
    finally:
        await connection.close()


async def commit(three: Cluster, key: str) -> None:
    """Have a record committed and applied everywhere, whoever leads by then."""
    while True:
        leader = await three.leader()
        try:
            await leader.propose([put(key, "1")])
            break
        except Exception:  # noqa: BLE001  # it has just lost the leadership
            await asyncio.sleep(0.01)
    await until(lambda: all(key in keys_of(node) for node in three.nodes.values()))


@pytest.mark.slow
def test_no_request_ends_a_quorum_or_an_epoch(caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        async with cluster(3) as three:
            await commit(three, "before")
            for number, node in three.nodes.items():
                for epoch in (LAST, LAST - 1, MAX_EPOCH + 1, MAX_EPOCH, 1 << 24):
                    answers = await tell(node, claims(number, epoch) * 20)
                    assert len(answers) == 100
            for node in three.nodes.values():
                metrics = node.metrics()
                assert int(metrics["current-epoch"]) < 100
                assert int(metrics["number-of-refused-claims"]) >= 20 * 5 * 3
            await commit(three, "after")
            assert not any(node.ended.done() for node in three.nodes.values())

    run(scene())
    lines = [one for one in caplog.records if one.getMessage() == "refused an impossible claim"]
    assert 3 <= len(lines) <= 9, "one for each node and minute, however many there were"
    assert "VoteRequest with epoch 2147483647" in vars(lines[0])["why"]
    assert vars(lines[0])["who"].startswith("127.0.0.1:")


def test_a_refused_request_is_answered_with_an_error() -> None:
    async def scene() -> None:
        async with cluster(1) as one:
            node = await one.leader()
            answers = await tell(node, claims(1, LAST)[:4])
            errors = [vars_of(answer) for answer in answers]
            assert errors == [ErrorCode.INVALID_REQUEST] * 4

    run(scene())


def vars_of(answer: Message) -> int:
    error: int = getattr(answer, "error_code", 0)
    return error


@pytest.mark.slow
def test_a_cluster_commits_again_after_a_stranger_has_moved_its_voters() -> None:
    """As far as it is believed, each voter to another epoch, under other leaders."""

    async def scene() -> None:
        async with cluster(3, observers=1) as three:
            observer = await three.start(4)
            await commit(three, "before")
            for number, node in three.nodes.items():
                epoch = node._driver.replica.core.epoch
                await tell(node, [begin(number, epoch + MAX_JUMP // 4 * number)])
            await tell(observer, claims(4, observer._driver.replica.core.epoch + 9))
            await commit(three, "after")
            for number in (1, 2, 3):
                await three.stop(number)
                await three.start(number)
            await commit(three, "restarted")

    run(scene())
