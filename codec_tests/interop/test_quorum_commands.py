"""`kraftwire quorum` agrees with Kafka's own tool, through controllers and through a broker."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from kraftwire_wire.uuids import format_uuid

from codec_tests.interop.kafka_server import KafkaCluster
from codec_tests.interop.kafka_tools import run_tool
from codec_tests.interop.our_node import OurNode, aside, command, run, until

pytestmark = pytest.mark.interop

T = TypeVar("T")
TOOL = "MetadataQuorumCommand"


def bootstraps(quorum: KafkaCluster) -> dict[str, tuple[str, str]]:
    """Return the options to connect, through controllers or a broker."""
    return {
        "controllers": ("--bootstrap-controller", quorum.bootstrap_controllers),
        "broker": ("--bootstrap-server", quorum.bootstrap),
    }


def run_quorum(*arguments: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in command("quorum", *arguments, "-o", "json").splitlines()]


def while_one_leads(where: tuple[str, str], work: Callable[[], T]) -> T:
    """Return a result from within one epoch: on a busy machine the leader may change."""
    for _ in range(5):
        before = run_quorum("describe", "--status", *where)[0]["leaderEpoch"]
        found = work()
        if run_quorum("describe", "--status", *where)[0]["leaderEpoch"] == before:
            return found
    raise AssertionError("no leader stayed one for long enough")


@pytest.mark.parametrize("through", ["controllers", "broker"])
def test_replicas_are_those_of_kafkas_tool(through: str, quorum: KafkaCluster) -> None:
    where = bootstraps(quorum)[through]

    def ask() -> set[tuple[str, str, str]]:
        ours = run_quorum("describe", "--replication", *where)
        return {(str(one["nodeId"]), one["directoryId"], one["status"]) for one in ours}

    printed, found = while_one_leads(
        where, lambda: (run_tool(TOOL, *where, "describe", "--replication"), ask())
    )
    heads, *rows = (line.split() for line in printed.strip().splitlines())
    theirs = [dict(zip(heads, row, strict=True)) for row in rows]
    assert found == {(one["NodeId"], one["DirectoryId"], one["Status"]) for one in theirs}
    # The leader remembers observers for minutes, so there may be more.
    assert {number for number, _, _ in found} >= {"1", "2", "3", "4"}


@pytest.mark.parametrize("through", ["controllers", "broker"])
def test_the_status_is_that_of_kafkas_tool(through: str, quorum: KafkaCluster) -> None:
    where = bootstraps(quorum)[through]
    printed, (ours,) = while_one_leads(
        where,
        lambda: (
            run_tool(TOOL, *where, "describe", "--status"),
            run_quorum("describe", "--status", *where),
        ),
    )
    theirs = dict(line.split(":", 1) for line in printed.strip().splitlines())
    assert ours["clusterId"] == theirs["ClusterId"].strip()
    assert ours["leaderId"] == int(theirs["LeaderId"])
    assert ours["leaderEpoch"] == int(theirs["LeaderEpoch"])
    assert ours["highWatermark"] >= int(theirs["HighWatermark"]) > 0
    for name, key in (("CurrentVoters", "currentVoters"), ("CurrentObservers", "currentObservers")):
        wanted = {(one["id"], one["directoryId"]) for one in json.loads(theirs[name])}
        assert {(one["id"], one["directoryId"]) for one in ours[key]} == wanted


def test_a_broker_forwards_who_joins_and_who_leaves(quorum: KafkaCluster) -> None:
    ours = OurNode.beside(quorum, 31)
    through = bootstraps(quorum)["broker"]
    ids = ("--controller-id", "31", "--directory-id", format_uuid(ours.directory_id))

    def voters() -> set[int]:
        (status,) = run_quorum("describe", "--status", *through)
        return {one["id"] for one in status["currentVoters"]}

    async def scene() -> None:
        async with ours.running() as node:
            await until("it has caught up", lambda: node.committed > 0)
            await aside(run_quorum, "add-controller", "-c", str(ours.config), *through)
            assert 31 in await aside(voters)
            await aside(run_quorum, "remove-controller", *ids, *through)
            assert 31 not in await aside(voters)

    run(scene())
