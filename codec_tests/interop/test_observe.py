"""`kraftwire observe` copies a real quorum's log from a snapshot, and shows its image."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kraftwire.node.storage.formatting import LOG_NAME

from codec_tests.interop.kafka_server import KafkaCluster, KafkaNode, kafka_cluster
from codec_tests.interop.kafka_tools import run_tool
from codec_tests.interop.our_node import command

pytestmark = pytest.mark.interop

KRAFTWIRE = str(Path(sys.executable).with_name("kraftwire"))
WITHIN_S = 60


@pytest.fixture(scope="module")
def snapshots() -> Iterator[KafkaCluster]:
    """A controller that takes snapshots often, and a broker."""
    often = {"metadata.log.max.record.bytes.between.snapshots": "2000"}
    with kafka_cluster(controllers=1, brokers=1, settings=often) as cluster:
        cluster.wait_for("a snapshot", lambda: len(snapshots_of(controller(cluster))) > 0)
        yield cluster


def controller(cluster: KafkaCluster) -> KafkaNode:
    (node,) = cluster.controllers
    return node


def metadata_of(node: KafkaNode) -> Path:
    return node.directory / "data" / LOG_NAME


def snapshots_of(node: KafkaNode) -> dict[str, bytes]:
    """Return the finished snapshots, except the one of formatting."""
    return {
        file.name: file.read_bytes()
        for file in metadata_of(node).glob("*.checkpoint")
        if not file.name.startswith("0" * 20)
    }


def test_a_copy_begins_with_the_leaders_snapshot_and_has_its_bytes(
    snapshots: KafkaCluster, tmp_path: Path
) -> None:
    where = ("--bootstrap-controller", snapshots.bootstrap_controllers)
    command("observe", str(tmp_path), *where, "--image", str(tmp_path / "image.jsonl"))
    theirs = snapshots_of(controller(snapshots))
    (mine,) = (tmp_path / LOG_NAME).glob("*.checkpoint")
    assert mine.read_bytes() == theirs[mine.name]
    (segment,) = (tmp_path / LOG_NAME).glob("*.log")
    all_theirs = b"".join(
        file.read_bytes() for file in sorted(metadata_of(controller(snapshots)).glob("*.log"))
    )
    assert segment.read_bytes() in all_theirs
    facts, *image = map(json.loads, (tmp_path / "image.jsonl").read_text().splitlines())
    shown = command(
        "metadata",
        "show",
        str(controller(snapshots).directory / "data"),
        "--offset",
        str(facts["offset"]),
    )
    assert [json.loads(line) for line in shown.splitlines()][1:] == image


def test_committed_records_are_printed_without_secrets_until_an_interrupt(
    snapshots: KafkaCluster, tmp_path: Path
) -> None:
    where = ("--bootstrap-controller", snapshots.bootstrap_controllers)
    with subprocess.Popen(
        [KRAFTWIRE, "observe", str(tmp_path), *where, "--follow", "--redact"],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            server = ("--bootstrap-server", snapshots.bootstrap)
            change = ("--alter", "--entity-type", "users", "--entity-name", "alice")
            secret = ("--add-config", "SCRAM-SHA-256=[password=very-secret]")
            run_tool("kafka.admin.ConfigCommand", *server, *change, *secret)
            run_tool("TopicCommand", *server, "--create", "--topic", "seen")
            end = time.monotonic() + WITHIN_S
            printed = (json.loads(line) for line in process.stdout)
            topics: list[str] = []
            users: list[dict[str, Any]] = []
            while not topics:
                record = next(printed)
                assert time.monotonic() < end
                if record["type"] == "USER_SCRAM_CREDENTIAL_RECORD":
                    users.append(record["data"])
                if record["type"] == "TOPIC_RECORD":
                    topics.append(record["data"]["name"])
            assert topics == ["seen"]
            alice = next(user for user in users if user["name"] == "alice")
            assert alice["storedKey"] == alice["serverKey"] == alice["salt"] == "(redacted)"
        finally:
            process.send_signal(signal.SIGINT)
        process.stdout.read()
        assert process.wait(WITHIN_S) == 0
