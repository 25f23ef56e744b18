"""New directories: what is in them, and what refuses to be formatted."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from kraftwire.log import BytesSource, read_batches
from kraftwire.log.queries.typed_records import decode_typed
from kraftwire.log.small_files.properties import decode_properties
from kraftwire.node.disk.files import replace_file
from kraftwire.node.disk.replica_disk import DiskStore
from kraftwire.node.settings.storage_properties import StorageProperties
from kraftwire.node.storage.directories import UnusableDirectories, open_directories
from kraftwire.node.storage.features import parse_metadata_version
from kraftwire.node.storage.format_options import (
    FormatOptions,
    FormatRefused,
    parse_cluster_id,
    parse_initial_controllers,
    standalone_voters,
)
from kraftwire.node.storage.formatting import FIRST_CHECKPOINT, LOG_NAME, plan_format, write_format
from kraftwire.raft.state.voters import Listener
from kraftwire_messages.kafka import (
    FeatureLevelRecord,
    KRaftVersionRecord,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    VotersRecord,
)
from kraftwire_wire.message import Message
from kraftwire_wire.uuids import format_uuid, parse_uuid

from codec_tests.node.storage.settings import storage

NOW = 1_700_000_000_000
ONE, TWO = "EQPUsqKWQIyKC26pBQfc5Q", "QQPUsqKWQIyKC26pBQfc5Q"
VOTERS = parse_initial_controllers(f"1@a.example:9093:{ONE},2@b.example:9094:{TWO}", "CONTROLLER")
OLDER = parse_metadata_version("4.3")
STATIC = "1@127.0.0.1:9093"
FEATURES: list[type[Message]] = [FeatureLevelRecord] * 6


def formatted(properties: StorageProperties, **options: Any) -> None:
    write_format(plan_format(properties, FormatOptions(cluster_id="tea", **options), NOW))


def problems(properties: StorageProperties, **options: Any) -> list[str]:
    options.setdefault("no_initial_controllers", True)
    with pytest.raises(UnusableDirectories) as caught:
        formatted(properties, **options)
    return [f"{one.directory.name}: {one.reason}" for one in caught.value.problems]


def files(root: Path) -> dict[str, list[str]]:
    return {
        name: sorted(
            str(path.relative_to(root / name))
            for path in (root / name).rglob("*")
            if path.is_file()
        )
        for name in ("a", "b", "m")
        if (root / name).exists()
    }


def records(file: Path) -> list[type[Message]]:
    """The messages of a checkpoint."""
    found: list[type[Message]] = []
    for batch in read_batches(BytesSource(file.read_bytes(), str(file))):
        for record in batch.records:
            typed = decode_typed("cluster-metadata", batch, record)
            assert typed is not None
            assert typed.value is not None
            assert record.timestamp == NOW
            found.append(type(typed.value.message))
    return found


# -- what is written -------------------------------------------------------------------------


def test_every_directory_gets_an_identity(tmp_path: Path) -> None:
    properties = storage(tmp_path)
    formatted(properties, initial_controllers=VOTERS)
    identity = open_directories(properties)
    assert identity.cluster_id == "tea"
    assert len(set(identity.directory_ids.values())) == 3
    assert decode_properties((tmp_path / "a/meta.properties").read_bytes()).keys() == {
        "version",
        "cluster.id",
        "node.id",
        "directory.id",
    }


def test_a_voter_has_the_directory_id_that_the_voters_know(tmp_path: Path) -> None:
    properties = storage(tmp_path)
    formatted(properties, initial_controllers=VOTERS)
    assert open_directories(properties).directory_ids[tmp_path / "m"] == parse_uuid(ONE)


def test_others_draw_theirs(tmp_path: Path) -> None:
    properties = storage(tmp_path, node_id="7")
    formatted(properties, initial_controllers=VOTERS)
    drawn = open_directories(properties).directory_ids[tmp_path / "m"]
    assert format_uuid(drawn) not in (ONE, TWO)


def test_since_4_4_all_is_in_the_first_checkpoint(tmp_path: Path) -> None:
    formatted(storage(tmp_path), initial_controllers=VOTERS)
    assert files(tmp_path) == {
        "a": ["meta.properties"],
        "b": ["meta.properties"],
        "m": [FIRST_CHECKPOINT, "meta.properties"],
    }
    first = [SnapshotHeaderRecord, KRaftVersionRecord, VotersRecord]
    assert records(tmp_path / "m" / FIRST_CHECKPOINT) == [*first, *FEATURES, SnapshotFooterRecord]


def test_before_the_features_have_a_checkpoint_of_their_own(tmp_path: Path) -> None:
    formatted(storage(tmp_path), initial_controllers=VOTERS, release=OLDER)
    both = ["bootstrap.checkpoint", "meta.properties"]
    assert files(tmp_path) == {"a": both, "b": both, "m": [FIRST_CHECKPOINT, *both]}
    first = [SnapshotHeaderRecord, KRaftVersionRecord, VotersRecord, SnapshotFooterRecord]
    assert records(tmp_path / "m" / FIRST_CHECKPOINT) == first
    for name in ("a", "b", "m"):
        found = records(tmp_path / name / "bootstrap.checkpoint")
        assert found == [SnapshotHeaderRecord, *FEATURES, SnapshotFooterRecord]


def test_a_log_of_another_state_machine_has_nothing_for_kafka_s_controller(tmp_path: Path) -> None:
    formatted(storage(tmp_path), initial_controllers=VOTERS, release=None)
    first = [SnapshotHeaderRecord, KRaftVersionRecord, VotersRecord, SnapshotFooterRecord]
    assert records(tmp_path / "m" / FIRST_CHECKPOINT) == first
    assert not list(tmp_path.rglob("bootstrap.checkpoint"))


def test_without_first_voters_there_are_none_in_the_checkpoint(tmp_path: Path) -> None:
    formatted(storage(tmp_path), no_initial_controllers=True)
    ends = [*FEATURES, SnapshotFooterRecord]
    found = records(tmp_path / "m" / FIRST_CHECKPOINT)
    assert found == [SnapshotHeaderRecord, KRaftVersionRecord, *ends]


def test_static_voters_are_kraft_version_0(tmp_path: Path) -> None:
    formatted(storage(tmp_path, controller_quorum_voters=STATIC))
    first = [SnapshotHeaderRecord, *FEATURES, SnapshotFooterRecord]
    assert records(tmp_path / "m" / FIRST_CHECKPOINT) == first


def test_a_broker_has_no_checkpoint(tmp_path: Path) -> None:
    formatted(storage(tmp_path, process_roles="broker", listeners="PLAINTEXT://:9092"))
    assert files(tmp_path) == {name: ["meta.properties"] for name in ("a", "b", "m")}


def test_a_node_begins_with_the_voters_of_its_format(tmp_path: Path) -> None:
    formatted(storage(tmp_path), initial_controllers=VOTERS)
    store = DiskStore(tmp_path / "m" / LOG_NAME)
    recovered = store.recover()
    store.close()
    assert recovered.control.voters.last == VOTERS
    assert recovered.control.kraft_version.last == 1
    assert recovered.log.end == 0


def test_a_standalone_controller_is_its_own_voter(tmp_path: Path) -> None:
    properties = storage(tmp_path)
    formatted(properties, initial_controllers=standalone_voters(properties))
    store = DiskStore(tmp_path / "m" / LOG_NAME)
    (voter,) = store.recover().control.voters.last
    store.close()
    assert voter.key.directory_id == open_directories(properties).directory_ids[tmp_path / "m"]
    assert voter.listeners == (Listener("CONTROLLER", "127.0.0.1", 9093),)
    assert (voter.min_kraft_version, voter.max_kraft_version) == (0, 1)


# -- what refuses ----------------------------------------------------------------------------


def test_it_must_be_clear_who_votes(tmp_path: Path) -> None:
    with pytest.raises(FormatRefused, match=r"give --standalone"):
        formatted(storage(tmp_path))


def test_static_voters_exclude_first_voters(tmp_path: Path) -> None:
    with pytest.raises(FormatRefused, match=r"controller\.quorum\.voters, which never change"):
        formatted(storage(tmp_path, controller_quorum_voters=STATIC), initial_controllers=VOTERS)


@pytest.mark.parametrize(("voters", "level"), [("-", 0), (STATIC, 1)], ids=["dynamic", "static"])
def test_kraft_version_goes_with_the_voters(tmp_path: Path, voters: str, level: int) -> None:
    properties = storage(tmp_path, controller_quorum_voters=voters)
    with pytest.raises(FormatRefused, match=r"kraft\.version is"):
        formatted(properties, no_initial_controllers=True, features={"kraft.version": level})
    formatted(properties, no_initial_controllers=True, features={"kraft.version": 1 - level})


def test_features_go_with_a_release(tmp_path: Path) -> None:
    with pytest.raises(FormatRefused, match="need a release of Kafka"):
        formatted(
            storage(tmp_path),
            no_initial_controllers=True,
            release=None,
            features={"group.version": 1},
        )


def test_only_a_controller_that_others_can_reach_is_standalone(tmp_path: Path) -> None:
    with pytest.raises(FormatRefused, match="is for controllers"):
        standalone_voters(storage(tmp_path, process_roles="broker", listeners="-"))
    with pytest.raises(FormatRefused, match="with a port that others know"):
        standalone_voters(storage(tmp_path, listeners="CONTROLLER://127.0.0.1:0"))


@pytest.mark.parametrize(
    "text",
    [
        "1@h:1",
        f"h:1:{ONE}",
        f"x@h:1:{ONE}",
        f"1@h:{ONE}",
        "1@h:1:tea",
        "1@h:1:AAAAAAAAAAAAAAAAAAAAAQ",
        f"1@h:1:{ONE},1@h:1:{TWO}",
        f"1@h:1:{ONE},2@h:1:{ONE}",
        f"1@h:1:{ONE},",
    ],
)
def test_controllers_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"is|has|occurs"):
        parse_initial_controllers(text, "CONTROLLER")


@pytest.mark.parametrize(
    ("text", "host"),
    [("[::1]", "0:0:0:0:0:0:0:1"), ("[2001:db8::7]", "2001:db8:0:0:0:0:0:7"), ("H.b", "H.b")],
)
def test_a_host_is_written_as_kafka_storage_does(text: str, host: str) -> None:
    (voter,) = parse_initial_controllers(f"1@{text}:9093:{ONE}", "CONTROLLER")
    assert voter.listeners[0].host == host


@pytest.mark.parametrize("text", ["", "a b", "a\n", "\x7f", "é"])
def test_cluster_ids_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match="is not a cluster id"):
        parse_cluster_id(text)


def test_what_is_formatted_is_refused_and_nothing_is_touched(tmp_path: Path) -> None:
    properties = storage(tmp_path)
    (tmp_path / "b").mkdir()
    text = "version=1\ncluster.id=tea\nnode.id=1\n"
    (tmp_path / "b/meta.properties").write_text(text)
    assert problems(properties) == ["b: it is already formatted; -g skips it"]
    assert files(tmp_path) == {"b": ["meta.properties"]}
    assert (tmp_path / "b/meta.properties").read_text() == text


def test_what_is_formatted_can_be_left_as_it_is(tmp_path: Path) -> None:
    properties = storage(tmp_path)
    formatted(properties, initial_controllers=VOTERS)
    before = (tmp_path / "m/meta.properties").read_bytes()
    (tmp_path / "b/meta.properties").unlink()
    formatted(properties, initial_controllers=VOTERS, ignore_formatted=True)
    assert (tmp_path / "m/meta.properties").read_bytes() == before
    assert len(open_directories(properties).directory_ids) == 3


def test_a_standalone_controller_keeps_its_id(tmp_path: Path) -> None:
    properties = storage(tmp_path)
    formatted(properties, initial_controllers=standalone_voters(properties))
    again = standalone_voters(properties)
    formatted(properties, initial_controllers=again, ignore_formatted=True)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("version=1\ncluster.id=coffee\nnode.id=1\n", "it belongs to cluster coffee, not to tea"),
        (
            f"version=1\ncluster.id=tea\nnode.id=2\ndirectory.id={ONE}\n",
            "it belongs to node 2, not to 1",
        ),
        (
            f"version=1\ncluster.id=tea\nnode.id=1\ndirectory.id={TWO}\n",
            f"it has directory.id {TWO}, but voter 1 needs {ONE}",
        ),
        ("version=0\n", "it is from before KRaft"),
    ],
)
def test_what_is_formatted_otherwise_cannot_be_left(tmp_path: Path, text: str, reason: str) -> None:
    properties = storage(tmp_path)
    (tmp_path / "m").mkdir()
    (tmp_path / "m/meta.properties").write_text(text)
    (problem,) = problems(properties, initial_controllers=VOTERS, ignore_formatted=True)
    assert reason in problem


def test_a_log_without_an_identity_is_not_formatted_over(tmp_path: Path) -> None:
    (tmp_path / "m" / LOG_NAME).mkdir(parents=True)
    (tmp_path / "m" / LOG_NAME / "quorum-state").write_text("{}")
    (problem,) = problems(storage(tmp_path))
    assert "restore that, or move the log away" in problem
    assert not (tmp_path / "a").exists()


def test_what_a_format_left_that_was_cut_off_is_formatted_over(tmp_path: Path) -> None:
    (tmp_path / "m" / FIRST_CHECKPOINT).parent.mkdir(parents=True)
    (tmp_path / "m" / FIRST_CHECKPOINT).write_text("torn")
    (tmp_path / "m" / f"{FIRST_CHECKPOINT}.tmp").write_text("torn")
    formatted(storage(tmp_path), initial_controllers=VOTERS)
    assert len(records(tmp_path / "m" / FIRST_CHECKPOINT)) == 10


def test_a_disk_that_is_not_mounted_is_told(tmp_path: Path) -> None:
    found = problems(storage(tmp_path, log_dirs=f"{tmp_path}/disk/a"))
    assert found == [f"a: {tmp_path}/disk does not exist: make it, or mount it, first"]


def test_a_file_where_a_directory_must_be(tmp_path: Path) -> None:
    (tmp_path / "b").write_text("")
    assert problems(storage(tmp_path)) == ["b: it is a file, or in one: name a directory"]
    assert not (tmp_path / "a").exists()


def test_a_directory_that_cannot_be_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "b").mkdir()
    can = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: path.name != "b" and can(path, mode))
    assert problems(storage(tmp_path)) == ["b: it cannot be written to"]


# -- half-way --------------------------------------------------------------------------------


@pytest.mark.parametrize("release", [OLDER, None], ids=["4.3", "none"])
def test_a_format_that_fails_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: Any
) -> None:
    """Whichever fsync fails."""
    (tmp_path / "b").mkdir()
    (tmp_path / "b/kept").write_text("")
    properties = storage(tmp_path)
    syncs, sync = 0, os.fsync
    while True:
        left = syncs

        def fail(descriptor: int) -> None:
            nonlocal left
            if left == 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            left -= 1
            sync(descriptor)

        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", fail)
            try:
                formatted(properties, initial_controllers=VOTERS, release=release)
                break
            except OSError as error:
                assert error.errno == errno.ENOSPC
        assert files(tmp_path) == {"b": ["kept"]}
        syncs += 1
    assert syncs > 10
    open_directories(properties)


def test_the_metadata_log_is_the_last_to_get_its_identity(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []

    def note(path: Path, data: bytes) -> None:
        written.append(str(path.relative_to(tmp_path)))
        replace_file(path, data)

    monkeypatch.setattr("kraftwire.node.storage.formatting.replace_file", note)
    monkeypatch.setattr("kraftwire.node.storage.directories.replace_file", note)
    dirs = {"log_dirs": f"{tmp_path}/m,{tmp_path}/n", "metadata_log_dir": f"{tmp_path}/m"}
    formatted(storage(tmp_path, **dirs), initial_controllers=VOTERS)
    assert written == [f"m/{FIRST_CHECKPOINT}", "n/meta.properties", "m/meta.properties"]
