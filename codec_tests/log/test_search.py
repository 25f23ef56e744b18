"""Data directories below a path: the root of a volume, several disks, odd names."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest

from kraftwire.log import find_files, find_partitions
from kraftwire.log.directories import search
from kraftwire.log.sources.storage import DirectoryEntry, LocalStorage
from kraftwire_wire.errors import KraftwireError
from pyspark_kraftwire.streaming.progress import Progress

from codec_tests.cli.running import run
from codec_tests.spark.reads import batch, labels, offsets_of, options_of, write_segments
from codec_tests.stored_files import BROKER, CONTROLLER


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    """The root of a volume, as an operator on Kubernetes mounts it."""
    (tmp_path / "lost+found").mkdir()
    shutil.copytree(CONTROLLER, tmp_path / "kafka-log0")
    return tmp_path


def test_the_root_of_a_volume_is_read_by_every_command(volume: Path, tmp_path: Path) -> None:
    inner = volume / "kafka-log0"
    for command in (
        ("log", "dump"),
        ("log", "scan"),
        ("log", "fsck"),
        ("metadata", "show"),
        ("metadata", "history"),
    ):
        wanted, found = run(*command, inner, "-o", "json"), run(*command, volume, "-o", "json")
        assert found.exit_code == wanted.exit_code == 0, (command, found.output)
        assert found.stdout == wanted.stdout != ""


def test_groups_and_salvage_take_the_root_of_a_volume(tmp_path: Path) -> None:
    shutil.copytree(BROKER, tmp_path / "volume" / "kafka-log0")
    inner, volume = tmp_path / "volume" / "kafka-log0", tmp_path / "volume"
    wanted, found = run("groups", "show", inner), run("groups", "show", volume)
    assert (found.exit_code, found.stdout) == (wanted.exit_code, wanted.stdout)
    assert found.stdout
    done = run("log", "salvage", volume, "--out", tmp_path / "saved")
    assert done.exit_code == run("log", "salvage", inner, "--out", tmp_path / "other").exit_code
    names = {one.relative_to(tmp_path / "other") for one in (tmp_path / "other").rglob("*")}
    assert {one.relative_to(tmp_path / "saved") for one in (tmp_path / "saved").rglob("*")} == names


def test_spark_reads_the_root_of_a_volume(tmp_path: Path) -> None:
    write_segments(tmp_path / "volume" / "kafka-log0" / "tea-0", [batch(0, 3)])
    (tmp_path / "volume" / "lost+found").mkdir()
    assert offsets_of(tmp_path / "volume") == [0, 1, 2]
    assert labels(tmp_path) == ["tea-0"]


def test_a_stream_finds_new_partitions_below_the_root_of_a_volume(tmp_path: Path) -> None:
    """The times of directories that are far below say whether anything came."""
    tea = tmp_path / "volume" / "kafka-log0" / "tea-0"
    write_segments(tea, [batch(0, 3)])
    for directory in (tea, *tea.parents[:3]):
        os.utime(directory, (1, 1))
    progress = Progress(options_of(tmp_path / "volume"))
    first = progress.latest(None, limited=False)
    assert dict(first.next) == {("tea", 0): 3}
    write_segments(tea.with_name("tea-1"), [batch(0, 4)])
    assert dict(progress.latest(first, limited=False).next) == {("tea", 0): 3, ("tea", 1): 4}
    write_segments(tea, [batch(3, 1)])
    assert dict(progress.latest(first, limited=False).next) == {("tea", 0): 4, ("tea", 1): 4}


def test_data_directories_may_be_named_like_partitions(tmp_path: Path) -> None:
    """`kafka-logs-1` is no partition of a topic kafka-logs, nor is `data-0`."""
    for number in (0, 1):
        disk = tmp_path / f"data-{number}" / f"kafka-logs-{number}"
        write_segments(disk / f"tea-{number}", [batch(0, 2)])
        (disk / "meta.properties").write_text("version=1\ncluster.id=a\nnode.id=1\n")
    for path in (tmp_path, tmp_path / "data-0", tmp_path / "data-0" / "kafka-logs-0"):
        found = {one.label for one in find_partitions([path]) if one.segments}
        assert found == ({"tea-0", "tea-1"} if path == tmp_path else {"tea-0"})
        own = [one for one in find_files([path]) if one.path.name == "meta.properties"]
        assert {one.partition for one in own} == {None}


def test_several_metadata_logs_below_a_path_are_named(tmp_path: Path) -> None:
    for name in ("kafka-log0", "kafka-log1"):
        shutil.copytree(CONTROLLER, tmp_path / name)
    done = run("metadata", "show", tmp_path)
    assert done.exit_code == 2
    for name in ("kafka-log0", "kafka-log1"):
        assert str(tmp_path / name) in done.output
    done = run("log", "salvage", tmp_path, "--out", tmp_path.parent / "x")
    assert done.exit_code == 2
    for name in ("kafka-log0", "kafka-log1"):
        assert str(tmp_path / name) in done.output


def test_partitions_of_any_name_that_hold_segments_are_found(tmp_path: Path) -> None:
    for name in ("tea-0", "tea-0.bak", "copy of tea"):
        write_segments(tmp_path / name, [batch(0, 2)])
    (tmp_path / "notes").mkdir()
    found = {one.label: len(one.segments) for one in find_partitions([tmp_path])}
    odd = {str(tmp_path / name): 1 for name in ("tea-0.bak", "copy of tea")}
    assert found == {"tea-0": 1, **odd}


def test_a_copy_of_another_name_is_not_taken_for_the_log_of_groups(tmp_path: Path) -> None:
    shutil.copytree(BROKER / "__consumer_offsets-0", tmp_path / "__consumer_offsets-0")
    wanted = run("groups", "show", tmp_path)
    shutil.copytree(BROKER / "tea-0", tmp_path / "tea-copy")
    found = run("groups", "show", tmp_path)
    assert (found.exit_code, found.output) == (wanted.exit_code, wanted.output)


# -- bounds ---------------------------------------------------------------------------------


def test_the_search_is_bounded_in_depth(tmp_path: Path) -> None:
    deep = tmp_path / "/".join("abcdef"[: search.MAX_DEPTH])
    write_segments(deep / "tea-0", [batch(0, 1)])
    assert [one.label for one in find_partitions([tmp_path / "a"])] == ["tea-0"]
    with pytest.raises(KraftwireError, match="name the data directory"):
        find_partitions([tmp_path])


def test_the_search_is_bounded_in_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MAX_SEARCHED", 50)
    write_segments(tmp_path / "a" / "tea-0", [batch(0, 1)])
    for number in range(60):
        (tmp_path / "b" / "c" / f"x{number}").mkdir(parents=True)
    with pytest.raises(KraftwireError, match=f"name the data directories.*{tmp_path / 'a'}"):
        find_partitions([tmp_path])
    assert len(find_partitions([tmp_path / "a"])) == 1
    for number in range(60):
        (tmp_path / "a" / "tea-0" / f"{number:020}.snapshot").touch()
        (tmp_path / "a" / f"x{number}").touch()
    assert len(find_partitions([tmp_path / "a"])) == 1, "what is named is listed to its end"


def test_links_that_lead_back_are_followed_once(tmp_path: Path) -> None:
    write_segments(tmp_path / "disk" / "tea-0", [batch(0, 1)])
    for place in (tmp_path, tmp_path / "disk", tmp_path / "disk" / "tea-0"):
        (place / "back").symlink_to(tmp_path, target_is_directory=True)
        (place / "self").symlink_to("self")
    assert [one.label for one in find_partitions([tmp_path])] == ["tea-0"]
    assert offsets_of(tmp_path) == [0]


class Locked(LocalStorage):
    """A disk with directories that may not be listed, whoever runs the tests."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def entries(self, directory: Path) -> Iterable[DirectoryEntry]:
        if directory.name in self.names:
            raise PermissionError(13, "Permission denied", str(directory))
        return super().entries(directory)


def test_unlistable_directories_are_reported_except_lost_and_found(tmp_path: Path) -> None:
    write_segments(tmp_path / "kafka-log0" / "tea-0", [batch(0, 1)])
    for name in ("lost+found", "kafka-log1"):
        (tmp_path / name).mkdir()
    (one,) = find_partitions([tmp_path], Locked("lost+found"))
    assert one.label == "tea-0"
    with pytest.raises(KraftwireError, match=r"kafka-log1: cannot be listed: Permission denied"):
        find_partitions([tmp_path], Locked("kafka-log1"))
    found: list[KraftwireError] = []
    assert len(find_partitions([tmp_path], Locked("kafka-log1"), report=found.append)) == 1
    assert len(found) == 1


def test_directories_below_a_data_directory_are_not_searched(tmp_path: Path) -> None:
    write_segments(tmp_path / "tea-0", [batch(0, 1)])
    write_segments(tmp_path / "backup" / "old" / "tea-0", [batch(0, 1)])
    assert [one.directory for one in find_partitions([tmp_path])] == [tmp_path / "tea-0"]
