"""Finding files through a storage, be it this machine's disk or something else."""

from __future__ import annotations

import copy
import pickle
import socket
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from kraftwire.log import BytesSource, Record, find_files, find_partitions, read_batches
from kraftwire.log.batches.encoding import encode_batch
from kraftwire.log.directories.file_names import FileKind, PartitionName
from kraftwire.log.sources.storage import LOCAL, DirectoryEntry, OpenSource
from kraftwire.log.writers.segment_writer import SegmentWriter
from kraftwire_wire.errors import KraftwireError

from codec_tests.stored_files import BROKER, CONTROLLER

HEX = "f" * 32


class Shelf:
    """A storage in memory; reading it counts what is opened."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = {Path(name): data for name, data in files.items()}
        self.opened: list[Path] = []

    def is_directory(self, path: Path) -> bool:
        if path in self.files:
            return False
        if any(path in one.parents for one in self.files):
            return True
        raise FileNotFoundError(str(path))

    def entries(self, directory: Path) -> Iterable[DirectoryEntry]:
        depth = len(directory.parts)
        names = {
            (one.parts[depth], len(one.parts) > depth + 1)
            for one in self.files
            if directory in one.parents
        }
        return [DirectoryEntry(*name) for name in names]

    def identities(self, paths: Iterable[Path]) -> Iterator[Path]:
        return iter(paths)

    def name_of(self, path: Path) -> str:
        return f"shelf:{path}"

    def size(self, path: Path) -> int:
        return len(self.files[path])

    def open(self, path: Path) -> OpenSource:
        self.opened.append(path)
        return _Open(self.files[path], str(path))


class _Open(BytesSource):
    def __enter__(self) -> _Open:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def shelf(directory: Path) -> Shelf:
    """All files of a directory, in memory."""
    files = {
        f"bucket/{path.relative_to(directory).as_posix()}": path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file()
    }
    return Shelf(files)


def segment(offset: int, count: int = 2) -> bytes:
    return encode_batch([Record(offset + at, 0, None, b"", ()) for at in range(count)])


@pytest.mark.parametrize("directory", [BROKER, CONTROLLER], ids=["broker", "controller"])
def test_a_storage_has_the_files_and_the_bytes_of_the_disk(directory: Path) -> None:
    there = shelf(directory)
    found = find_files([Path("bucket")], there)
    here = find_files([directory])
    assert [(one.name, one.partition) for one in found] == [
        (one.name, one.partition) for one in here
    ]
    assert there.opened == [], "nothing is read but names"
    for one, other in zip(found, here, strict=True):
        assert (one.size, one.path.name) == (other.size, other.path.name)
        assert one.path.relative_to("bucket") == other.path.relative_to(directory)
    partitions = find_partitions([Path("bucket")], there)
    for partition, same in zip(partitions, find_partitions([directory]), strict=True):
        for file, twin in zip(partition.segments, same.segments, strict=True):
            with file.open() as source, twin.open() as wanted:
                assert [one.data for one in read_batches(source)] == [
                    one.data for one in read_batches(wanted)
                ]


def test_the_base_offset_of_a_named_file_is_read_from_it() -> None:
    there = Shelf({"bucket/tea-0/copy.log": segment(7)})
    (file,) = find_files([Path("bucket/tea-0/copy.log")], there)
    assert (file.base_offset, file.partition) == (7, PartitionName("tea", 0))


def test_the_local_storage_lists_and_opens_files(tmp_path: Path) -> None:
    (tmp_path / "some").mkdir()
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    with socket.socket(socket.AF_UNIX) as plug:
        plug.bind(str(tmp_path / "plug"))
        assert set(LOCAL.entries(tmp_path)) == {
            DirectoryEntry("some", is_directory=True),
            DirectoryEntry("file", is_directory=False),
            DirectoryEntry("link", is_directory=False),
            DirectoryEntry("gone", False, "a link to a file that does not exist"),
            DirectoryEntry("plug", False, "a socket, not a regular file"),
        }
        with pytest.raises(KraftwireError, match="plug: neither a file nor a directory"):
            LOCAL.is_directory(tmp_path / "plug")
    assert LOCAL.is_directory(tmp_path / "some")
    assert not LOCAL.is_directory(tmp_path / "file")
    (tmp_path / "other").symlink_to(tmp_path)
    ways = [tmp_path / "link", tmp_path / "file", tmp_path / "other" / "file"]
    assert len(set(LOCAL.identities(ways))) == 1
    assert LOCAL.size(tmp_path / "file") == 5
    with LOCAL.open(tmp_path / "file") as source:
        assert (source.name, source.size) == (str(tmp_path / "file"), 5)
        assert source.read_at(1, 2) == b"23"
    with pytest.raises(FileNotFoundError, match="gone"):
        LOCAL.is_directory(tmp_path / "gone")


def test_the_local_storage_is_a_singleton() -> None:
    file, *_ = find_files([BROKER / "tea-0"])
    assert pickle.loads(pickle.dumps(file)) == copy.deepcopy(file) == file
    assert pickle.loads(pickle.dumps(file)).storage is LOCAL


# -- what a pattern has found ----------------------------------------------------------------------


def test_a_matched_directory_may_be_empty_or_marked_for_deletion() -> None:
    name = "00000000000000000000.log"
    there = Shelf(
        {
            f"data/tea-0/{name}": segment(0),
            f"data/tea-0.{HEX}-delete/{name}": segment(0),
            "data/other/notes.txt": b"",
        }
    )
    paths = [Path("data") / one for one in ("other", "tea-0", f"tea-0.{HEX}-delete")]
    with pytest.raises(KraftwireError, match="other: no file of Kafka's"):
        find_files(paths, there)
    found = find_partitions(paths, there, matched=paths)
    assert [(one.name, len(one.segments)) for one in found] == [
        (PartitionName("tea", 0), 1),
        (PartitionName("tea", 0, "delete"), 0),
    ]
    (named,) = find_partitions(paths[2:], there)
    assert (named.name, len(named.segments)) == (PartitionName("tea", 0), 1)


def test_segments_without_a_partition_name_stand_alone(tmp_path: Path) -> None:
    """Two partitions' copies in a directory: neither says where the other ends."""
    for name, offset in (("a.log", 0), ("b.log", 0), ("c.log", 5)):
        (tmp_path / name).write_bytes(segment(offset, 9))
    paths = sorted(tmp_path.iterdir())
    found = find_partitions(paths)
    assert [[file.path for file in one.segments] for one in found] == [[path] for path in paths]
    assert [one.label for one in found] == [str(path) for path in paths]


def test_copies_with_a_known_offset_or_partition_are_in_order(tmp_path: Path) -> None:
    names = [f"{offset:020}-Qk5h.log" for offset in (0, 40, 80)]
    for directory, files in (("tiered", names), ("tea-0", ["x.log", "z.log", "y.log"])):
        (tmp_path / directory).mkdir()
        for name, offset in zip(files, (0, 40, 80), strict=True):
            (tmp_path / directory / name).write_bytes(segment(offset))
    for directory in ("tiered", "tea-0"):
        (partition,) = find_partitions(sorted((tmp_path / directory).iterdir()))
        assert [file.base_offset for file in partition.segments] == [0, 40, 80]
        assert partition.end_of(partition.segments[0]) == 40


def test_a_second_segment_with_an_offset_is_not_lost(tmp_path: Path) -> None:
    directory = tmp_path / "tea-0"
    directory.mkdir()
    with SegmentWriter(directory, 0) as writer:
        writer.append(segment(0))
    (directory / "copy.log").write_bytes(segment(0))
    found = find_partitions([directory, directory / "copy.log"])
    assert [len(one.of_kind(FileKind.SEGMENT)) for one in found] == [1, 1]
