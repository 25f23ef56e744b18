"""`meta.properties` in every directory of a node."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from uuid import UUID

import pytest

from kraftwire.log.small_files.properties import decode_properties
from kraftwire.node.assembly import Assembly
from kraftwire.node.disk.directory_lock import DirectoryInUse, DirectoryLock
from kraftwire.node.settings.properties import read_properties
from kraftwire.node.storage import directories
from kraftwire.node.storage.directories import (
    Identity,
    UnusableDirectories,
    is_reserved,
    open_directories,
    random_id,
    read_directory,
)
from kraftwire_wire.uuids import format_uuid, parse_uuid

from codec_tests.node.storage.settings import storage, write_settings

IDS = {"a": "EQPUsqKWQIyKC26pBQfc5Q", "b": "QQPUsqKWQIyKC26pBQfc5Q", "m": "RQPUsqKWQIyKC26pBQfc5Q"}
SOUND = "version=1\ncluster.id=tea\nnode.id=1\ndirectory.id={}\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Directories of a node that are formatted."""
    for name, directory_id in IDS.items():
        (tmp_path / name).mkdir()
        write(tmp_path / name, SOUND.format(directory_id))
    return tmp_path


def write(directory: Path, text: str) -> None:
    (directory / "meta.properties").write_text(text)


def opened(root: Path) -> Identity:
    return open_directories(storage(root))


def problems(root: Path) -> list[str]:
    with pytest.raises(UnusableDirectories) as caught:
        opened(root)
    return [f"{one.directory.name}: {one.reason}" for one in caught.value.problems]


def test_who_a_node_is(root: Path) -> None:
    identity = opened(root)
    assert identity.cluster_id == "tea"
    assert identity.directory_ids == {root / name: parse_uuid(text) for name, text in IDS.items()}


def test_opening_changes_nothing_that_is_sound(root: Path) -> None:
    before = [path.stat().st_mtime_ns for path in root.rglob("meta.properties")]
    opened(root)
    assert [path.stat().st_mtime_ns for path in root.rglob("meta.properties")] == before


def test_the_id_of_the_drafts_is_one(root: Path) -> None:
    """KIP-856 calls it storage.id."""
    write(root / "m", SOUND.replace("directory.id", "storage.id").format(IDS["m"]))
    assert opened(root).directory_ids[root / "m"] == parse_uuid(IDS["m"])


def test_a_missing_id_is_drawn_and_kept(root: Path) -> None:
    write(root / "b", "version=1\ncluster.id=tea\nnode.id=1\n")
    drawn = opened(root).directory_ids[root / "b"]
    assert drawn not in map(parse_uuid, IDS.values())
    assert decode_properties((root / "b/meta.properties").read_bytes()) == {
        "version": "1",
        "cluster.id": "tea",
        "node.id": "1",
        "directory.id": format_uuid(drawn),
    }
    assert opened(root).directory_ids[root / "b"] == drawn


def test_a_drawn_id_is_written_beside_and_synced_before_it_counts(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(root / "b", "version=1\ncluster.id=tea\nnode.id=1\n")

    def fail(descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match=r"meta\.properties"):
        opened(root)
    assert b"directory.id" not in (root / "b/meta.properties").read_bytes()


def test_nothing_is_drawn_where_something_is_wrong(root: Path) -> None:
    text = "version=1\ncluster.id=tea\nnode.id=1\n"
    write(root / "b", text)
    (root / "m/meta.properties").unlink()
    problems(root)
    assert (root / "b/meta.properties").read_text() == text


def test_a_cluster_id_comes_back_whatever_is_in_it(root: Path) -> None:
    for name in IDS:
        write(root / name, "version=1\ncluster.id=\\ a\\\\b\\:\\=c\\nd\\u20ac\nnode.id=1\n")
    assert opened(root).cluster_id == opened(root).cluster_id == " a\\b:=c\nd€"


# -- what refuses to start -------------------------------------------------------------------


def test_a_missing_file_refuses_with_the_command_that_mends_it(root: Path) -> None:
    (root / "m/meta.properties").unlink()
    (problem,) = problems(root)
    command = f"kraftwire storage format -t tea -c {root / 'server.properties'} -g -N"
    assert problem == f"m: it has no meta.properties; if it is new: {command}"


def test_a_missing_directory_refuses_too(root: Path) -> None:
    (root / "b/meta.properties").unlink()
    (root / "b").rmdir()
    assert problems(root)[0].startswith("b: it does not exist; if it is new: kraftwire")


def test_nothing_formatted_at_all(tmp_path: Path) -> None:
    found = problems(tmp_path)
    assert len(found) == 3
    assert "format -t CLUSTER_ID -c" in found[0]


def test_clusters_that_disagree(root: Path) -> None:
    write(root / "b", SOUND.replace("tea", "coffee").format(IDS["b"]))
    assert problems(root) == ["b: it belongs to cluster coffee, others belong to tea"]


def test_nodes_that_disagree(root: Path) -> None:
    write(root / "m", SOUND.replace("node.id=1", "node.id=2").format(IDS["m"]))
    assert problems(root) == ["m: it belongs to node 2, not to 1"]


def test_two_directories_with_one_id(root: Path) -> None:
    write(root / "m", SOUND.format(IDS["a"]))
    assert problems(root) == [f"m: it has the same directory.id as {root / 'a'}: is it a copy?"]


def test_all_reasons_are_told_at_once(root: Path) -> None:
    write(root / "a", "version=0\nbroker.id=1\n")
    write(root / "b", SOUND.replace("node.id=1", "node.id=2").format(IDS["b"]))
    (root / "m/meta.properties").unlink()
    assert [one[:1] for one in problems(root)] == ["a", "b", "m"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("version=0\nbroker.id=1\n", "it is from before KRaft (version 0)"),
        (
            "version=2\ncluster.id=tea\nnode.id=1\n",
            "version 2 is unknown; kraftwire reads version 1",
        ),
        ("version=1\nnode.id=1\n", "has no cluster.id"),
        ("version=1\ncluster.id=tea\n", "has no node.id"),
        (SOUND.format("tea"), "directory.id 'tea' is not an id"),
        (SOUND.format("AAAAAAAAAAAAAAAAAAAAAA"), "is reserved"),
        (SOUND.format("AAAAAAAAAAAAAAAAAAAAAQ"), "is reserved"),
        ("", "is damaged: version is missing"),
        ("version=x", "is damaged: version 'x' is not a number"),
    ],
)
def test_files_that_nobody_can_start_with(root: Path, text: str, reason: str) -> None:
    write(root / "b", text)
    (problem,) = problems(root)
    assert reason in problem


def test_a_file_where_a_directory_must_be(root: Path) -> None:
    (root / "b/meta.properties").unlink()
    (root / "b").rmdir()
    (root / "b").write_text("")
    assert problems(root) == ["b: it is a file, or in one: name a directory"]


def test_a_directory_where_the_file_must_be(root: Path) -> None:
    (root / "b/meta.properties").unlink()
    (root / "b/meta.properties").mkdir()
    assert problems(root) == ["b: meta.properties cannot be read: Is a directory"]


def test_a_version_of_before_kraft_is_read(root: Path) -> None:
    write(root / "b", "version=0\nbroker.id=4\ncluster.id=tea\n")
    meta = read_directory(root / "b").meta
    assert meta is not None
    assert (meta.version, meta.node_id, meta.cluster_id) == (0, 4, "tea")


# -- ids -------------------------------------------------------------------------------------


def test_the_first_hundred_ids_are_reserved() -> None:
    assert all(is_reserved(UUID(int=number)) for number in range(100))
    assert not is_reserved(UUID(int=100))


def test_no_id_looks_like_an_option(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = iter([UUID(int=1), UUID(bytes=b"\xfb" * 16), parse_uuid(IDS["a"])])
    monkeypatch.setattr(directories, "uuid4", lambda: next(drawn))
    assert format_uuid(UUID(bytes=b"\xfb" * 16)).startswith("-")
    assert random_id() == parse_uuid(IDS["a"])


@pytest.mark.parametrize("name", IDS)
def test_no_two_nodes_run_on_one_directory(name: str, root: Path) -> None:
    assembly = Assembly(read_properties(write_settings(root)))
    is_locked = pytest.raises(DirectoryInUse, match=f"{name}/.lock is locked")
    with DirectoryLock(root / name), is_locked, assembly.open_disk() as store:
        store.recover()
    with assembly.open_disk() as store:
        store.recover()
        for one in IDS:
            with pytest.raises(DirectoryInUse):
                DirectoryLock(root / one)
    DirectoryLock(root / name).release()
