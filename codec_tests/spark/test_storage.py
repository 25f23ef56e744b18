"""Paths as users write them: on this machine, and in object stores."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path
from typing import Any

import pytest
from pyarrow import fs

from kraftwire.log.sources.storage import LOCAL
from kraftwire_wire.errors import KraftwireError
from pyspark_kraftwire.planning.paths import ArrowSource
from pyspark_kraftwire.planning.plan import plan, requested_partitions

from codec_tests.spark.reads import (
    batch,
    labels,
    offsets_of,
    options_of,
    read_rows,
    read_table,
    write_segments,
)
from codec_tests.stored_files import CONTROLLER

HEX = "0123456789abcdef" * 2


def segments(*paths: Path | str) -> list[str]:
    """The segments that a read of some paths goes over, behind their partitions."""
    found = requested_partitions(options_of(*paths))
    return sorted(f"{one.label}/{file.path.name}" for one in found for file in one.segments)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data directory with topics of every name, and with what is not in use."""
    directory = tmp_path / "data"
    for name in ("tea-0", "tea-1", "green-tea-0", "a.b-c_d-10"):
        write_segments(directory / name, [batch(0, 3)], [batch(3, 2)])
    for state in ("delete", "stray", "future"):
        write_segments(directory / f"old-0.{HEX}-{state}", [batch(0, 1)])
    gone = directory / "tea-0" / "00000000000000000003.log"
    gone.rename(gone.with_name(f"{gone.name}.deleted"))
    (directory / "meta.properties").write_text("version=1\n")
    (directory / "notes.txt").write_text("mine")
    (directory / "lost+found").mkdir()
    return directory


def test_files_partitions_and_data_directories_are_read(data: Path) -> None:
    assert labels(data) == ["a.b-c_d-10", "green-tea-0", "tea-0", "tea-1"]
    assert labels(data / "a.b-c_d-10") == ["a.b-c_d-10"]
    assert labels(data / "tea-1", data / "green-tea-0") == ["green-tea-0", "tea-1"]
    name = "00000000000000000003.log"
    assert segments(data / "tea-1" / name) == [f"tea-1/{name}"]
    rows = read_rows(data / "tea-1" / name, columns=["topic", "partition", "offset"])
    assert rows == [{"topic": "tea", "partition": 1, "offset": at} for at in (3, 4)]


def test_topics_and_partitions_are_selected(data: Path) -> None:
    assert labels(data, topics="tea,a.b-c_d") == ["a.b-c_d-10", "tea-0", "tea-1"]
    assert labels(data, partitions="1-20") == ["a.b-c_d-10", "tea-1"]
    with pytest.raises(KraftwireError, match=r"nothing to read in .*segments of topics te\b"):
        plan(options_of(data, topics="te"))
    with pytest.raises(KraftwireError, match="a topic of the log cluster-metadata"):
        plan(options_of(data, decode="metadata"))


@pytest.mark.parametrize(
    ("glob", "expected"),
    [
        ("*", ["a.b-c_d-10", "green-tea-0", "tea-0", "tea-1"]),
        ("tea-?", ["tea-0", "tea-1"]),
        ("tea-[12]", ["tea-1"]),
        ("tea-[!1]", ["tea-0"]),
        ("{tea,green-tea}-0", ["green-tea-0", "tea-0"]),
        ("{tea-{0,1},nothing}", ["tea-0", "tea-1"]),
        ("*/00000000000000000000.log", ["a.b-c_d-10", "green-tea-0", "tea-0", "tea-1"]),
        ("*tea*/*.log", ["green-tea-0", "tea-0", "tea-1"]),
        ("../*/tea-1", ["tea-1"]),
    ],
)
def test_globs_are_expanded(data: Path, glob: str, expected: list[str]) -> None:
    assert labels(data / glob) == expected
    assert labels(f"file://{data}/{glob}") == expected


def test_a_glob_of_files_skips_files_marked_for_deletion(data: Path) -> None:
    assert segments(data / "tea-0" / "*") == ["tea-0/00000000000000000000.log"]
    assert len(segments(data / "tea-1" / "*")) == 2


def test_a_glob_that_matches_nothing_is_an_error(data: Path) -> None:
    for glob in ("coffee-*", "*.txt", "{a,b}", "notes.txt/*", "tea-0/*.parquet"):
        with pytest.raises(KraftwireError, match="no file or directory of Kafka matches"):
            plan(options_of(data / glob))
    with pytest.raises(KraftwireError, match=r"nothing to read in .*: there are no segments"):
        plan(options_of(data / "lost*"))


def test_relative_paths_are_resolved(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(data / "tea-1")
    assert labels(".") == ["tea-1"]
    assert labels("00000000000000000000.log") == ["tea-1"]
    assert labels("../tea-[0-9]") == ["tea-0", "tea-1"]


def test_missing_and_foreign_paths_are_errors_with_the_path(data: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="tea-7"):
        plan(options_of(data / "tea-7"))
    for name in ("lost+found", "notes.txt"):
        with pytest.raises(KraftwireError, match=r"Kafka|data directory") as caught:
            plan(options_of(data / name))
        assert str(data / name) in str(caught.value)
    with pytest.raises(KraftwireError, match=r'no path: .load\("/var/lib/kafka/data"\)'):
        plan(options_of())
    empty = tmp_path / "tea-3"
    empty.mkdir()
    (empty / "leader-epoch-checkpoint").write_text("0\n0\n")
    with pytest.raises(KraftwireError, match="there are no segments"):
        plan(options_of(empty))


def test_one_partition_in_two_places_is_an_error(data: Path, tmp_path: Path) -> None:
    other = tmp_path / "replica" / "tea-1"
    shutil.copytree(data / "tea-1", other)
    with pytest.raises(KraftwireError, match="tea-1 is in two places") as caught:
        plan(options_of(data, other))
    assert f"{data / 'tea-1'} and {other}" in str(caught.value)
    assert labels(data, other, topics="green-tea") == ["green-tea-0"]
    link = tmp_path / "link"
    link.symlink_to(data)
    assert len(segments(data, link, data / "tea-1")) == 7, "the same files by another path"


def test_files_marked_for_deletion_are_read_if_named(data: Path) -> None:
    for state in ("delete", "stray", "future"):
        rows = read_rows(data / f"old-0.{HEX}-{state}", columns=["topic", "offset"])
        assert rows == [{"topic": "old", "offset": 0}]
    gone = data / "tea-0" / "00000000000000000003.log.deleted"
    assert offsets_of(gone) == [3, 4]
    assert offsets_of(data / "tea-0", gone) == [0, 1, 2, 3, 4]
    assert offsets_of(data / "tea-0" / "*.deleted") == [3, 4]


def test_snapshots_are_read_if_named() -> None:
    directory = CONTROLLER / "__cluster_metadata-0"
    paths = sorted(directory.glob("*.checkpoint"))[-2:]
    of_log = len(read_rows(directory, decode="metadata"))
    counts = [len(read_rows(path, decode="metadata")) for path in paths]
    assert all(counts)
    assert len(read_rows(*paths, decode="metadata")) == sum(counts)
    assert len(read_rows(directory, *paths, decode="metadata")) == of_log + sum(counts)
    assert len(read_rows(directory / "*", decode="metadata")) == of_log
    every = len(list(directory.glob("*.checkpoint")))
    snapshots = requested_partitions(options_of(directory / "*.checkpoint"))
    assert (len(snapshots), {one.label for one in snapshots}) == (every, {"__cluster_metadata-0"})


def test_a_snapshot_has_its_own_offsets() -> None:
    """Its name says where it ends; its records count from 0."""
    path = sorted((CONTROLLER / "__cluster_metadata-0").glob("*.checkpoint"))[-1]
    found = offsets_of(path)
    assert len(found) > 10
    assert offsets_of(path, endingOffsets=5) == [at for at in found if at < 5]
    assert offsets_of(path, startingOffsets=5) == [at for at in found if at >= 5]


def test_copies_with_other_names_are_read(data: Path, tmp_path: Path) -> None:
    tiered = tmp_path / "tiered"
    tiered.mkdir()
    for offset in (0, 3):
        path = data / "tea-1" / f"{offset:020}.log"
        shutil.copy(path, tiered / f"{offset:020}-Qk5hbWVfb2ZfaXQ.log")
        shutil.copy(path, tiered / f"copy of {offset}.log")
        shutil.copy(path, tiered / f"another {offset}.log")
    assert offsets_of(tiered / "*-Qk5*.log") == [0, 1, 2, 3, 4]
    assert sorted(offsets_of(tiered / "*.log")) == sorted([0, 1, 2, 3, 4] * 3)
    # Of which partitions the copies are is not known: none says where another one ends.
    assert sorted(offsets_of(tiered / "co*.log", startingOffsets=2)) == [2, 3, 4]
    both = (tiered / "copy of 0.log", tiered / "another 0.log")
    assert offsets_of(*both, startingOffsets=1) == [1, 2, 1, 2]
    row = read_rows(both[0], columns=["topic", "partition", "offset"])[0]
    assert row == {"topic": None, "partition": None, "offset": 0}


def test_the_local_storage_is_a_singleton() -> None:
    assert pickle.loads(pickle.dumps(LOCAL)) is LOCAL


# -- other places ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "options", "expected"),
    [
        ("gs://bucket/data", {"anonymous": "true"}, ("GcsFileSystem", {"anonymous": True})),
        (
            "gcs://bucket/data",
            {"project_id": "me"},
            ("GcsFileSystem", {"project_id": "me"}),
        ),
        (
            "abfss://data@account.dfs.core.windows.net/kafka",
            {"account_key": "a2V5"},
            ("AzureFileSystem", {"account_name": "account", "account_key": "a2V5"}),
        ),
        (
            "abfs://data@account.dfs.core.windows.net/kafka",
            {"account_name": "other", "sas_token": "?sv"},
            ("AzureFileSystem", {"account_name": "other", "sas_token": "?sv"}),
        ),
        (
            "hdfs://name.node:9000/data",
            {"user": "kafka", "replication": "2"},
            (
                "HadoopFileSystem",
                {"host": "name.node", "port": 9000, "user": "kafka", "replication": 2},
            ),
        ),
        ("hdfs:///data", {}, ("HadoopFileSystem", {"host": "default", "port": 0})),
        ("hdfs:/data", {"port": "1"}, ("HadoopFileSystem", {"host": "default", "port": 1})),
        (
            "s3a://bucket/data",
            {"region": "eu-west-1", "connect_timeout": "1.5", "anonymous": "False"},
            (
                "S3FileSystem",
                {"region": "eu-west-1", "connect_timeout": 1.5, "anonymous": False},
            ),
        ),
    ],
)
def test_every_scheme_opens_its_pyarrow_class(
    path: str,
    options: dict[str, str],
    expected: tuple[str, dict[str, object]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    opened: list[tuple[str, dict[str, object]]] = []
    in_store = tmp_path / "store"
    for name in ("data", "bucket/data", "data/kafka"):
        write_segments(in_store / name / "tea-0", [batch(0, 2)])

    def fake(name: str) -> Any:
        def make(**arguments: object) -> Any:
            opened.append((name, arguments))
            return fs.SubTreeFileSystem(str(in_store), fs.LocalFileSystem())

        return make

    for name in ("S3FileSystem", "GcsFileSystem", "AzureFileSystem", "HadoopFileSystem"):
        monkeypatch.setattr(fs, name, fake(name))
    given = {f"fs_{name}": value for name, value in options.items()}
    assert offsets_of(path, **given) == [0, 1]
    assert opened == [expected]
    named = read_table(path, columns=["file"], includeBatch=True, **given)
    (name,) = set(named.column("file").to_pylist())
    assert offsets_of(name, **given) == [0, 1], "a file is called as it can be given again"
    assert opened == [expected] * 3


@pytest.mark.parametrize(
    ("path", "options", "reason"),
    [
        ("ftp://host/data", {}, "unknown file system ftp://; there are s3, s3a, gs"),
        ("s3:///data", {}, "it has no bucket after s3://"),
        ("abfss://account/x", {}, "no container@account.dfs.core.windows.net after abfss://"),
        ("s3://b/x", {"secret": "hush"}, r"cannot open it with fs.secret: .*'secret'"),
        ("s3://b/x", {"anonymous": "yes"}, "fs.anonymous: 'yes' is neither true nor false"),
        ("s3://b/x", {"connect_timeout": "1s"}, "fs.connect_timeout: could not convert"),
        ("hdfs://name:node/x", {}, "hdfs://name:node: pyarrow cannot open it"),
    ],
)
def test_an_unusable_file_system_is_an_error_with_the_reason(
    path: str, options: dict[str, str], reason: str
) -> None:
    with pytest.raises(KraftwireError, match=reason) as caught:
        plan(options_of(path, **{f"fs_{name}": value for name, value in options.items()}))
    assert "hush" not in str(caught.value)


class _CountedFile:
    """A file of pyarrow's that says what was read of it."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.reads: list[tuple[int, int]] = []

    def size(self) -> int:
        return len(self.data)

    def read_at(self, size: int, position: int) -> bytes:
        self.reads.append((position, size))
        return self.data[position : position + size]

    def close(self) -> None:
        pass


def test_only_sequential_reads_of_a_remote_file_read_ahead() -> None:
    file = _CountedFile(bytes(range(256)) * (80 << 10))
    buffer = bytearray(512 << 10)
    with ArrowSource(file, "remote") as source:
        assert source.read_at(10 << 20, 61) == file.data[10 << 20 :][:61]
        assert source.read_at((10 << 20) + 61, 61) == file.data[(10 << 20) + 61 :][:61]
        assert file.reads == [(10 << 20, 64 << 10)]
        position = 0
        while position < source.size:
            count = source.read_into(position, buffer)
            assert buffer[:count] == file.data[position : position + count]
            position += count
        assert len(file.reads) < 7, "20 MiB in blocks of 8, and the first piece"
        assert source.read_at(source.size - 3, 10) == file.data[-3:]
        assert source.read_at(source.size + 5, 10) == b""
