"""Names and directories: what is found, and what it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraftwire.log import find_files, find_partitions
from kraftwire.log.directories.file_names import (
    FileKind,
    FileName,
    PartitionName,
    parse_file_name,
    parse_partition_name,
    segment_name,
    snapshot_name,
)
from kraftwire_wire.errors import KraftwireError

from codec_tests.stored_files import BROKER, CONTROLLER


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("00000000000000000012.log", FileName(FileKind.SEGMENT, 12)),
        ("00000000000000000012.index", FileName(FileKind.OFFSET_INDEX, 12)),
        ("00000000000000000012.timeindex", FileName(FileKind.TIME_INDEX, 12)),
        ("00000000000000000012.txnindex", FileName(FileKind.TRANSACTION_INDEX, 12)),
        ("00000000000000000012.snapshot", FileName(FileKind.PRODUCER_SNAPSHOT, 12)),
        ("00000000000000000012.log.deleted", FileName(FileKind.SEGMENT, 12, None, "deleted")),
        ("00000000000000000012.log.cleaned", FileName(FileKind.SEGMENT, 12, None, "cleaned")),
        ("00000000000000000012.index.swap", FileName(FileKind.OFFSET_INDEX, 12, None, "swap")),
        ("00000000000000000012-0000000003.checkpoint", FileName(FileKind.SNAPSHOT, 12, 3)),
        (
            "00000000000000000012-0000000003.checkpoint.part",
            FileName(FileKind.SNAPSHOT, 12, 3, "part"),
        ),
        ("bootstrap.checkpoint", FileName(FileKind.SNAPSHOT)),
        ("quorum-state", FileName(FileKind.QUORUM_STATE)),
        ("quorum-state.tmp", FileName(FileKind.QUORUM_STATE, state="tmp")),
        ("leader-epoch-checkpoint", FileName(FileKind.LEADER_EPOCHS)),
        ("meta.properties", FileName(FileKind.META_PROPERTIES)),
        (".kafka_cleanshutdown", FileName(FileKind.CLEAN_SHUTDOWN)),
        ("12.log", None),
        ("00000000000000000012.checkpoint", None),
        ("00000000000000000012-0000000003.log", None),
        ("server.log", None),
        ("", None),
    ],
)
def test_file_names_are_parsed(name: str, wanted: FileName | None) -> None:
    assert parse_file_name(name) == wanted


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("tea-3", PartitionName("tea", 3)),
        ("green-tea-12", PartitionName("green-tea", 12)),
        ("__cluster_metadata-0", PartitionName("__cluster_metadata", 0)),
        ("tea-3.0123456789abcdef0123456789abcdef-delete", PartitionName("tea", 3, "delete")),
        ("tea-3.0123456789abcdef0123456789abcdef-stray", PartitionName("tea", 3, "stray")),
        ("tea", None),
        ("-3", None),
        ("tea-x", None),
    ],
)
def test_directory_names_are_parsed(name: str, wanted: PartitionName | None) -> None:
    assert parse_partition_name(name) == wanted


def test_names_are_formatted_as_they_are_parsed() -> None:
    assert parse_file_name(segment_name(9, "log")) == FileName(FileKind.SEGMENT, 9)
    assert parse_file_name(snapshot_name(9, 2)) == FileName(FileKind.SNAPSHOT, 9, 2)


def test_a_data_directory_a_partition_and_a_file_are_found() -> None:
    whole = find_files([BROKER])
    partition = find_files([BROKER / "tea-0"])
    segment = find_files([BROKER / "tea-0" / segment_name(40, "log")])
    assert set(segment) < set(partition) < set(whole)
    assert (segment[0].topic, segment[0].base_offset) == ("tea", 40)


def test_relative_paths_know_their_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(BROKER / "tea-0")
    (file,) = find_files([Path(segment_name(40, "log"))])
    assert file.partition == PartitionName("tea", 0)
    assert {one.partition for one in find_files([Path()])} == {PartitionName("tea", 0)}


def test_overlapping_paths_give_each_file_once() -> None:
    both = find_files([BROKER, BROKER / "tea-0", BROKER])
    assert len(both) == len({file.path for file in both})


def test_partitions_have_their_segments_in_order() -> None:
    partitions = {found.label: found for found in find_partitions([BROKER])}
    bases = [segment.base_offset for segment in partitions["tea-0"].segments]
    assert bases == [0, 40, 80, 120, 160]
    tiered = partitions["tiered-0"]
    assert [file.base_offset for file in tiered.segments] == [80, 120]
    gone = [file for file in tiered.files if file.name.state == "deleted"]
    assert len(gone) > 5, "what went to the remote storage is still there"


def test_a_partition_marked_for_deletion_has_no_segments(tmp_path: Path) -> None:
    directory = tmp_path / f"tea-0.{'0' * 32}-delete"
    directory.mkdir()
    (directory / segment_name(0, "log")).touch()
    (partition,) = find_partitions([tmp_path])
    assert (len(partition.files), partition.segments) == (1, [])


def test_snapshots_are_metadata_in_any_directory(tmp_path: Path) -> None:
    path = tmp_path / "bootstrap.checkpoint"
    path.touch()
    assert [file.topic for file in find_files([path])] == ["__cluster_metadata"]


def test_a_named_file_has_the_kind_of_its_suffix(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000-Qk5hbm.log"
    path.touch()
    (file,) = find_files([path])
    assert file.kind is FileKind.SEGMENT


def test_foreign_files_are_refused_with_their_path(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    for path in (tmp_path, tmp_path / "notes.txt"):
        with pytest.raises(KraftwireError, match=str(path)):
            find_files([path])
    with pytest.raises(FileNotFoundError):
        find_files([tmp_path / "missing"])


def test_the_files_of_the_controller_are_all_known() -> None:
    known = {file.path for file in find_files([CONTROLLER])}
    assert known == {path for path in CONTROLLER.rglob("*") if path.is_file()}
