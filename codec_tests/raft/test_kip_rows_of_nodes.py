"""Rows of the table of drafts and shipped Kafka that are about directories and commands.

The rest of the table is in `test_kips`; that brokers forward is tested with real ones (interop).
"""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from kraftwire.cli.commands import main
from kraftwire.cli.quorum.group import as_command
from kraftwire.log.small_files.properties import decode_meta_properties
from kraftwire.node.settings.storage_properties import StorageProperties, read_storage_properties
from kraftwire.node.storage.directories import UnusableDirectories, open_directories

CLUSTER = "RGlyZWN0b3JpZXMtb2YtYTE"


def settings(directory: Path) -> Path:
    """Those of a controller with two directories."""
    file = directory / "server.properties"
    file.write_text(
        "process.roles=controller\nnode.id=1\ncontroller.listener.names=CONTROLLER\n"
        "listeners=CONTROLLER://localhost:9093\n"
        "controller.quorum.bootstrap.servers=localhost:9093\n"
        f"log.dirs={directory / 'one'},{directory / 'two'}\n"
    )
    return file


def formatted(directory: Path) -> StorageProperties:
    file = settings(directory)
    done = CliRunner().invoke(main, ["storage", "format", "-s", "-t", CLUSTER, "-c", str(file)])
    assert done.exit_code == 0, done.output
    return read_storage_properties(file)


def test_format_writes_a_uuid_and_meta_properties_for_every_directory(tmp_path: Path) -> None:
    """KIP-856, kafka-storage; shipped under the name directory.id."""
    properties = formatted(tmp_path)
    found = [
        decode_meta_properties((directory / "meta.properties").read_bytes())
        for directory in properties.directories
    ]
    assert len({one.directory_id for one in found}) == len(found) == 2
    assert {one.cluster_id for one in found} == {CLUSTER}


def test_without_meta_properties_a_node_does_not_start(tmp_path: Path) -> None:
    """KIP-856, meta.properties; the same in shipped Kafka."""
    properties = formatted(tmp_path)
    (tmp_path / "two" / "meta.properties").unlink()
    with pytest.raises(UnusableDirectories, match=r"two: it has no meta\.properties"):
        open_directories(properties)


@pytest.mark.parametrize(
    ("spelled", "command"),
    [
        (["--describe"], ["describe", "--kip-856"]),
        (["--describe", "replication"], ["describe", "--kip-856", "--replication"]),
        (
            ["--add-voter", "--replicaId", "3", "--replicaUuid", "U"],
            ["add-controller", "--replicaId", "3", "--replicaUuid", "U"],
        ),
        (
            ["--remove-voter", "--replicaId", "3", "--replicaUuid", "U"],
            ["remove-controller", "--replicaId", "3", "--replicaUuid", "U"],
        ),
    ],
)
def test_the_spellings_of_the_draft_are_commands(spelled: list[str], command: list[str]) -> None:
    """KIP-856, kafka-metadata-quorum; shipped as describe, add-controller, remove-controller."""
    assert as_command(spelled) == command
