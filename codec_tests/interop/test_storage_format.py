"""`kraftwire storage format` writes the same bytes as kafka-storage of 4.3 and 4.4.

Masked are times (and the CRCs of their batches), random ids, and in `meta.properties` comments and
the order of lines.
"""

from __future__ import annotations

import shutil
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from kraftwire.cli import main
from kraftwire.log import BytesSource, read_batches
from kraftwire.log.small_files.properties import decode_properties
from kraftwire.node.storage.features import METADATA_VERSION, feature_levels, parse_metadata_version
from kraftwire_messages.kafka import ApiVersionsRequest
from kraftwire_wire.uuids import parse_uuid

from codec_tests.held_ports import held_port
from codec_tests.interop.kafka_connection import HOST, Connection
from codec_tests.interop.kafka_server import KafkaCluster, KafkaNode, kafka_uuid
from codec_tests.interop.kafka_tools import run_java
from codec_tests.interop.maven import class_path, tools_class_path

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("kafka")]

CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qk"
ONE, TWO = "EQPUsqKWQIyKC26pBQfc5Q", "QQPUsqKWQIyKC26pBQfc5Q"
VOTERS = f"1@127.0.0.1:9093:{ONE},2@[::1]:9094:{TWO}"
CONTROLLER = {
    "process.roles": "controller",
    "node.id": "1",
    "controller.quorum.bootstrap.servers": "127.0.0.1:9093",
    "controller.listener.names": "CONTROLLER",
    "listeners": "CONTROLLER://127.0.0.1:9093",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
}
NO_HOST = CONTROLLER | {"listeners": "CONTROLLER://:9093"}
ADVERTISED = CONTROLLER | {
    "listeners": "CONTROLLER://0.0.0.0:9093",
    "advertised.listeners": "CONTROLLER://controller.example:19093",
}
STATIC = CONTROLLER | {"controller.quorum.voters": "1@127.0.0.1:9093,2@b.example:9093"}
BROKER = CONTROLLER | {
    "process.roles": "broker",
    "node.id": "3",
    "listeners": "PLAINTEXT://127.0.0.1:9092",
}
BOTH = CONTROLLER | {
    "process.roles": "broker,controller",
    "listeners": "CONTROLLER://127.0.0.1:9093,PLAINTEXT://127.0.0.1:9092",
}
CASES = {
    "standalone": (CONTROLLER, ["-s"]),
    "standalone without a host": (NO_HOST, ["-s"]),
    "standalone that is advertised": (ADVERTISED, ["--standalone"]),
    "broker and controller": (BOTH, ["-s"]),
    "initial controllers": (CONTROLLER, ["-I", VOTERS]),
    "initial controllers of others": (CONTROLLER | {"node.id": "7"}, ["-I", VOTERS]),
    "no initial controllers": (CONTROLLER, ["-N"]),
    "static voters": (STATIC, []),
    "broker": (BROKER, []),
    "broker with initial controllers": (BROKER, ["-I", VOTERS]),
    "a feature": (CONTROLLER, ["-s", "-f", "group.version=0", "-f", "kraft.version=1"]),
    "an older release": (CONTROLLER, ["-s", "-r", "4.0"]),
    "a release before dynamic quorums": (STATIC, ["-r", "3.7-IV2"]),
}


def storage_tool(jars: list[Path], *arguments: str) -> str:
    return run_java(jars, "kafka.tools.StorageTool", *arguments)


def ours(*arguments: str) -> str:
    result = CliRunner().invoke(main, ["storage", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    return result.stdout


class Formatted(NamedTuple):
    """The masked files of formatted directories, by path."""

    files: dict[str, bytes]
    names: set[str]
    """Those of all directories too."""


def masked(root: Path) -> Formatted:
    names = {str(path.relative_to(root)) for path in root.rglob("*")}
    metas = [decode_properties(path.read_bytes()) for path in root.rglob("meta.properties")]
    drawn = {meta["directory.id"] for meta in metas} - {ONE, TWO}
    files = {}
    for path in root.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            data = _lines(data) if path.name == "meta.properties" else _without_times(data)
            for directory_id in drawn:
                data = data.replace(directory_id.encode(), b"*" * 22)
                data = data.replace(parse_uuid(directory_id).bytes, b"*" * 16)
            files[str(path.relative_to(root))] = data
    return Formatted(files, names)


def _lines(data: bytes) -> bytes:
    return b"\n".join(sorted(line for line in data.splitlines() if not line.startswith(b"#")))


def _without_times(data: bytes) -> bytes:
    """Zero the CRC and the times of batches, and mask the time in a snapshot's header."""
    masked = bytearray(data)
    batches = list(read_batches(BytesSource(data, "checkpoint")))
    for batch in batches:
        at = batch.header.position
        masked[at + 17 : at + 21] = bytes(4)
        masked[at + 27 : at + 43] = bytes(16)
        assert {record.timestamp for record in batch.records} == {batch.header.max_timestamp}
    value = batches[0].records[0].value
    assert value is not None
    assert len(value) == struct.calcsize(">hqB"), "version, time, no tags"
    if any(value[2:10]):  # zero in bootstrap.checkpoint, as a matter of format
        masked = masked.replace(value[2:10], b"T" * 8)
    return bytes(masked)


def write_settings(root: Path, settings: dict[str, str]) -> Path:
    root.mkdir()
    own = {"log.dirs": f"{root}/data/a,{root}/data/b", "metadata.log.dir": f"{root}/data/m"}
    (root / "data").mkdir()
    file = root / "server.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in (settings | own).items()))
    return file


def compare(
    tmp_path: Path, jars: list[Path], settings: dict[str, str], options: list[str], release: str
) -> None:
    theirs, mine = (write_settings(tmp_path / name, settings) for name in ("theirs", "mine"))
    storage_tool(jars, "format", "-t", CLUSTER_ID, "-c", str(theirs), *options)
    options = options if "-r" in options else [*options, "-r", release]
    ours("format", "-t", CLUSTER_ID, "-c", str(mine), *options)
    assert masked(mine.parent / "data") == masked(theirs.parent / "data")


@pytest.mark.parametrize("case", [case for case in CASES if "release" not in case])
def test_it_is_what_kafka_storage_of_4_4_writes(case: str, tmp_path: Path) -> None:
    settings, options = CASES[case]
    compare(tmp_path, class_path(), settings, options, "4.4")


@pytest.mark.parametrize("case", CASES)
def test_it_is_what_kafka_storage_of_4_3_writes(case: str, tmp_path: Path) -> None:
    settings, options = CASES[case]
    compare(tmp_path, tools_class_path(), settings, options, "4.3")


@pytest.mark.parametrize("name", ["3.3", "3.9", "4.0-IV1", "4.1", "4.2-IV0", "4.4"])
def test_the_features_of_a_release_are_those_of_kafka(name: str) -> None:
    version = parse_metadata_version(name)
    lines = storage_tool(class_path(), "version-mapping", "-r", name).split()
    found = dict(line.split("=") for line in lines if "=" in line)
    found.pop("kraft.version")
    kafka = {key: int(level) for key, level in found.items() if level != "0"}
    assert kafka == feature_levels(version, {})
    assert found[METADATA_VERSION] == str(version.level)


def test_kafka_storage_reads_what_we_format(tmp_path: Path) -> None:
    settings = write_settings(tmp_path / "node", CONTROLLER)
    ours("format", "-t", CLUSTER_ID, "-c", str(settings), "-s")
    printed = storage_tool(class_path(), "info", "-c", str(settings))
    assert f"cluster.id={CLUSTER_ID}" in printed
    assert "problem" not in printed


def test_we_read_what_kafka_storage_formats(tmp_path: Path) -> None:
    settings = write_settings(tmp_path / "node", CONTROLLER)
    storage_tool(class_path(), "format", "-t", CLUSTER_ID, "-c", str(settings), "-s")
    assert ours("info", "-c", str(settings)).count(CLUSTER_ID) == 3


@contextmanager
def controller(root: Path, release: str) -> Iterator[KafkaCluster]:
    """A real controller of 4.4 in a directory that we have formatted."""
    ports = {"CONTROLLER": held_port()}
    node = KafkaNode(1, ("controller",), root, ports, ports)
    cluster = KafkaCluster(root, [node], cluster_id=kafka_uuid())
    settings = node.write_properties(f"{HOST}:{ports['CONTROLLER']}", {})
    ours("format", "-t", cluster.cluster_id, "-c", str(settings), "-s", "-r", release)
    try:
        node.start()
        cluster.wait_for("it leads", lambda: cluster.leader() == 1)
        yield cluster
    finally:
        cluster.stop()


@pytest.mark.parametrize("release", ["4.4", "4.3"])
def test_a_real_controller_starts_on_what_we_format(release: str, tmp_path: Path) -> None:
    expected = feature_levels(parse_metadata_version(release), {})
    with controller(tmp_path, release) as cluster:

        def features() -> dict[str, int]:
            request = ApiVersionsRequest(client_software_name="us", client_software_version="1")
            with Connection(cluster.controllers[0].ports["CONTROLLER"]) as connection:
                response = connection.ask(request, 3)
            return {one.name: one.max_version_level for one in response.finalized_features}

        cluster.wait_for("its features are there", lambda: expected.items() <= features().items())
    shutil.rmtree(tmp_path / "data")
