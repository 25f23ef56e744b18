"""Kafka's own tools and Kafka's raft read what our nodes leave on disk."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from uuid import UUID

import pytest

from kraftwire.log.queries.typed_records import log_of_topic
from kraftwire.node.key_value import KeyValues, put
from kraftwire.node.storage.formatting import LOG_NAME
from kraftwire.raft.metadata_log.batches import ControlRecord, control_batch
from kraftwire_messages.kafka import (
    FeatureLevelRecord,
    LeaderChangeMessage,
    NoOpRecord,
    TopicRecord,
)
from kraftwire_wire.records import ControlType, encode_metadata_record
from kraftwire_wire.uuids import format_uuid

from codec_tests.chaos.processes import NodeProcess
from codec_tests.interop.java_dump import compare_dumps
from codec_tests.interop.kafka_tools import run_tool
from codec_tests.interop.our_node import LOG, WITHIN_S, OurNode, run, until

pytestmark = pytest.mark.interop

CLUSTER = "T3VyLWZpbGVzLWNsdXN0ZXI"
RECORDS = [
    encode_metadata_record(NoOpRecord(), 0),
    encode_metadata_record(TopicRecord(name="orders"), 0),
    encode_metadata_record(FeatureLevelRecord(name="group.version", feature_level=1), 0),
]


@pytest.fixture(scope="module")
def metadata(tmp_path_factory: pytest.TempPathFactory) -> OurNode:
    """A stopped node that has led, with metadata records in small segments."""
    small = {"internal.metadata.log.segment.bytes": "20000"}
    ours = OurNode(tmp_path_factory.mktemp("files") / "ours", 1, CLUSTER, small)
    ours.format("--standalone")

    async def scene() -> None:
        async with ours.running() as node:
            await until("it leads", lambda: node.leads is not None)
            for _ in range(400):
                await asyncio.gather(*(node.propose([one]) for one in RECORDS))

    run(scene())
    return ours


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> OurNode:
    """A stopped node with keys and values and snapshots of them."""
    often = {"metadata.log.max.record.bytes.between.snapshots": "4000"}
    ours = OurNode(tmp_path_factory.mktemp("files") / "ours", 1, CLUSTER, often)
    ours.format("--standalone")

    async def scene() -> None:
        async with ours.running(KeyValues()) as node:
            await until("it leads", lambda: node.leads is not None)
            for number in range(100):
                await node.propose([put(f"key{number % 30}", f"value {number}")])
            await until("a snapshot", lambda: len(files_of(ours, "checkpoint")) > 1)

    run(scene())
    return ours


def files_of(ours: OurNode, suffix: str) -> list[Path]:
    return sorted((ours.data / LOG_NAME).glob(f"*.{suffix}"))


def compare(files: list[Path], *options: str) -> int:
    """Compare files with Kafka's dump tool; return the number of lines."""
    log = log_of_topic("__cluster_metadata") if "--cluster-metadata-decoder" in options else None
    return compare_dumps(files, *options, log=log)


def test_dump_log_reads_every_segment(metadata: OurNode) -> None:
    segments = files_of(metadata, "log")
    assert len(segments) > 2
    assert compare(segments, "--cluster-metadata-decoder") > 300


@pytest.mark.parametrize("version", [0, 1])
def test_dump_log_reads_leader_changes_of_version_0_alone(tmp_path: Path, version: int) -> None:
    """Controllers exit on version 1, with the same code, so our leaders write version 0.

    If a release of Kafka reads version 1, this fails, and the shipped rules may write it.
    """
    voters = [LeaderChangeMessage.Voter(voter_id=number) for number in (1, 2, 3)]
    for voter in voters if version else ():
        voter.voter_directory_id = UUID(int=2**128 - 1 - voter.voter_id)
    message = LeaderChangeMessage(version=version, leader_id=1, voters=voters)
    segment = tmp_path / LOG_NAME / LOG
    segment.parent.mkdir()
    control = ControlRecord(ControlType.LEADER_CHANGE, message, version)
    segment.write_bytes(control_batch(0, 1, 0, [control]).data)
    if version == 0:
        assert compare([segment], "--cluster-metadata-decoder") == 2
    else:
        options = ("--cluster-metadata-decoder", "--files", str(segment))
        printed = run_tool("DumpLogSegments", *options, fails=True)
        assert "LeaderChangeMessage" in printed


def test_dump_log_reads_snapshots(keys: OurNode) -> None:
    _, *snapshots = files_of(keys, "checkpoint")  # the first is of formatting, with metadata
    assert compare([*files_of(keys, "log"), *snapshots], "--print-data-log") > 100


def test_dump_log_finds_nothing_wrong_with_indexes(metadata: OurNode) -> None:
    indexes = files_of(metadata, "index") + files_of(metadata, "timeindex")
    assert any(file.stat().st_size for file in indexes)
    names = ",".join(map(str, indexes))
    printed = run_tool("DumpLogSegments", "--files", names)
    assert printed.count("offset: ") > len(indexes)
    assert "Mismatches" not in printed
    assert "not found" not in printed
    assert "Found" not in printed, "timestamps in time indexes are those of the log"


def test_kafka_storage_describes_the_directory(metadata: OurNode) -> None:
    printed = run_tool("kafka.tools.StorageTool", "info", "-c", str(metadata.config))
    assert f"Found log directory:\n  {metadata.data}" in printed
    assert f"cluster.id={CLUSTER}" in printed
    assert f"directory.id={format_uuid(metadata.directory_id)}" in printed
    assert "problem" not in printed


def test_the_directory_goes_from_our_node_to_kafkas_raft_and_back(tmp_path: Path) -> None:
    node = NodeProcess(1, tmp_path / "node", "ours")
    node.advertised = node.port
    voters = {"controller.quorum.voters": f"1@127.0.0.1:{node.port}"}
    often = {"metadata.log.max.record.bytes.between.snapshots": "4000"}
    node.format(CLUSTER, voters | often)

    async def scene() -> None:
        written: dict[str, str] = {}
        for turn in range(4):  # Kafka's raft goes on from a stop of ours, then from a kill
            node.start()
            await leads(node)
            found = dict(zip(written, await node.values(list(written)), strict=True))
            assert found == {key: f"value {value}" for key, value in written.items()}
            for number in range(80):
                key, value = f"{turn}.{number}", f"of turn {turn}"
                assert (await node.ask(f"put {key} {value}", WITHIN_S)).startswith("ok ")
                written[key] = value
            if turn < 2:
                assert node.stop() == 0
            else:
                node.kill()
            node.swap()

    try:
        run(scene())
    finally:
        node.kill()
    assert len(node.records()) == 4 * (80 + 1)
    shutil.rmtree(tmp_path / "node")


async def leads(node: NodeProcess) -> None:
    """Wait until the only voter leads and has applied its log."""
    async with asyncio.timeout(2 * WITHIN_S):
        while True:
            try:
                if await node.ask("leader") == "leader 1":
                    break
            except OSError:
                pass
            await asyncio.sleep(0.05)
        await node.ask("put barrier passed", WITHIN_S)
