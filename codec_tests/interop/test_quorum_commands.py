"""`kraftwire quorum` beside Kafka's own tool, through controllers and through a broker."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kraftwire.log.properties import format_uuid

from interop.kafka_server import KafkaCluster
from interop.kafka_tools import run_tool
from interop.our_node import OurNode, aside, command, run, until

pytestmark = pytest.mark.interop

TOOL = "MetadataQuorumCommand"


def places(quorum: KafkaCluster) -> dict[str, tuple[str, str]]:
    """Both ways to ask."""
    return {
        "controllers": ("--bootstrap-controller", quorum.bootstrap_controllers),
        "broker": ("--bootstrap-server", quorum.bootstrap),
    }


def told(*arguments: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in command("quorum", *arguments, "-o", "json").splitlines()]


@pytest.mark.parametrize("through", ["controllers", "broker"])
def test_replicas_are_those_of_kafkas_tool(through: str, quorum: KafkaCluster) -> None:
    where = places(quorum)[through]
    printed = run_tool(TOOL, *where, "describe", "--replication")
    heads, *rows = (line.split() for line in printed.strip().splitlines())
    theirs = [dict(zip(heads, row, strict=True)) for row in rows]
    ours = told("describe", "--replication", *where)
    wanted = {(one["NodeId"], one["DirectoryId"], one["Status"]) for one in theirs}
    found = {(str(one["nodeId"]), one["directoryId"], one["status"]) for one in ours}
    assert len(found) == 4
    assert found == wanted


@pytest.mark.parametrize("through", ["controllers", "broker"])
def test_the_status_is_that_of_kafkas_tool(through: str, quorum: KafkaCluster) -> None:
    where = places(quorum)[through]
    printed = run_tool(TOOL, *where, "describe", "--status")
    theirs = dict(line.split(":", 1) for line in printed.strip().splitlines())
    (ours,) = told("describe", "--status", *where)
    assert ours["clusterId"] == theirs["ClusterId"].strip()
    assert ours["leaderId"] == int(theirs["LeaderId"])
    assert ours["leaderEpoch"] == int(theirs["LeaderEpoch"])
    assert ours["highWatermark"] >= int(theirs["HighWatermark"]) > 0
    for name, key in (("CurrentVoters", "currentVoters"), ("CurrentObservers", "currentObservers")):
        wanted = {(one["id"], one["directoryId"]) for one in json.loads(theirs[name])}
        assert {(one["id"], one["directoryId"]) for one in ours[key]} == wanted


def test_a_broker_forwards_who_joins_and_who_leaves(quorum: KafkaCluster) -> None:
    ours = OurNode.beside(quorum, 31)
    through = places(quorum)["broker"]
    ids = ("--controller-id", "31", "--directory-id", format_uuid(ours.directory_id))

    def voters() -> set[int]:
        (status,) = told("describe", "--status", *through)
        return {one["id"] for one in status["currentVoters"]}

    async def scene() -> None:
        async with ours.running() as node:
            await until("it has caught up", lambda: node.committed > 0)
            await aside(told, "add-controller", "-c", str(ours.config), *through)
            assert 31 in await aside(voters)
            await aside(told, "remove-controller", *ids, *through)
            assert 31 not in await aside(voters)

    run(scene())
