"""FIFOs, devices, directories and broken links named like Kafka's files: found, never read."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kraftwire.log import CorruptBatch, FileSource, find_files, find_partitions
from kraftwire.log.sources.storage import LOCAL
from kraftwire_wire.errors import KraftwireError
from pyspark_kraftwire.planning.plan import plan

from codec_tests.cli.running import run
from codec_tests.spark.reads import batch, offsets_of, options_of, write_segments

pytestmark = pytest.mark.timeout(60)

NAME = "00000000000000000005.log"


def fifo(path: Path) -> str:
    os.mkfifo(path)
    return "a FIFO"


def device(path: Path) -> str:
    path.symlink_to("/dev/zero")
    return "a device"


def plug(path: Path) -> str:
    with socket.socket(socket.AF_UNIX) as one, working_in(path.parent):
        one.bind(path.name)  # the whole path may be too long for a socket
    return "a socket"


def directory(path: Path) -> str:
    path.mkdir()
    return "a directory"


def dangling(path: Path) -> str:
    path.symlink_to("nothing")
    return "a link to a file that does not exist"


def loop(path: Path) -> str:
    path.symlink_to(path.name)
    return "symbolic links"


@contextmanager
def working_in(path: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(path)
    try:
        yield
    finally:
        os.chdir(before)


SPECIAL: list[Callable[[Path], str]] = [fifo, device, plug, directory, dangling, loop]


@pytest.fixture(params=SPECIAL, ids=lambda make: make.__name__)
def kind(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, str]:
    """A data directory with two partitions, one of them with a special file; and its kind."""
    for topic in ("__cluster_metadata-0", "__consumer_offsets-0"):
        (tmp_path / topic).mkdir()
    write_segments(tmp_path / "tea-0", [batch(0, 5)])
    for topic in ("__cluster_metadata-0", "__consumer_offsets-0", "tea-0"):
        reason = request.param(tmp_path / topic / NAME)
    return tmp_path, reason


@pytest.mark.parametrize("command", ["dump", "scan", "fsck"])
def test_a_special_file_is_a_finding_and_the_rest_is_read(
    command: str, kind: tuple[Path, str]
) -> None:
    data, reason = kind
    done = run("log", command, data, "-o", "json")
    assert done.exit_code == 1, done.output
    assert reason in done.output
    assert NAME in done.output
    if command == "dump":
        assert done.output.count('"offset": 4') + done.output.count('"offset":4') == 1


def test_salvage_says_what_it_left_out(kind: tuple[Path, str], tmp_path: Path) -> None:
    data, reason = kind
    out = tmp_path.parent / f"{tmp_path.name}-saved"
    done = run("log", "salvage", data / "tea-0", "--out", out, "-o", "json")
    assert (done.exit_code, reason in done.output) == (1, True), done.output
    assert [segment.base_offset for one in find_partitions([out]) for segment in one.segments] == [
        0
    ]


@pytest.mark.parametrize(
    "command", [("metadata", "show"), ("metadata", "history"), ("groups", "show")]
)
def test_metadata_and_groups_report_a_special_file(
    command: tuple[str, str], kind: tuple[Path, str]
) -> None:
    data, reason = kind
    done = run(*command, data)
    assert done.exit_code in (1, 2), done.output
    assert reason in done.output


def test_a_named_special_file_is_refused(kind: tuple[Path, str]) -> None:
    data, _ = kind
    path = data / "tea-0" / NAME
    if path.is_dir():
        return  # a directory may be named
    for command in (("log", "dump"), ("log", "fsck"), ("log", "scan"), ("explain",)):
        done = run(*command, path)
        assert done.exit_code == 2, done.output
    with pytest.raises((KraftwireError, OSError)):
        find_files([path])
    with pytest.raises((KraftwireError, OSError)):
        FileSource(path)


def test_a_file_replaced_by_a_fifo_does_not_hang(tmp_path: Path) -> None:
    write_segments(tmp_path / "tea-0", [batch(0, 5)])
    (file,) = [one for one in find_files([tmp_path]) if one.path.suffix == ".log"]
    file.path.unlink()
    os.mkfifo(file.path)
    with pytest.raises(CorruptBatch, match="a FIFO"):
        file.open()


def test_without_a_report_a_special_file_is_an_error(kind: tuple[Path, str]) -> None:
    data, reason = kind
    with pytest.raises(CorruptBatch, match=reason):
        find_partitions([data])
    found: list[KraftwireError] = []
    assert len(find_partitions([data], report=found.append)) == 1
    assert len(found) == 3


def test_spark_handles_a_special_file_by_the_mode(
    kind: tuple[Path, str], caplog: pytest.LogCaptureFixture
) -> None:
    data, reason = kind
    with pytest.raises(KraftwireError, match=reason):
        plan(options_of(data, topics="tea"))
    for mode in ("PERMISSIVE", "DROPMALFORMED"):
        caplog.clear()
        assert offsets_of(data, topics="tea", mode=mode) == [0, 1, 2, 3, 4]
        assert reason in caplog.text


def test_special_files_with_other_names_are_ignored(tmp_path: Path) -> None:
    write_segments(tmp_path / "tea-0", [batch(0, 5)])
    for number, make in enumerate(SPECIAL):
        make(tmp_path / f"other{number}")
        make(tmp_path / "tea-0" / f"other{number}")
    assert offsets_of(tmp_path) == [0, 1, 2, 3, 4]
    assert offsets_of(tmp_path / "*") == [0, 1, 2, 3, 4]
    assert run("log", "fsck", tmp_path).exit_code == 0


def test_a_listed_special_file_has_the_reason(tmp_path: Path) -> None:
    for make in SPECIAL:
        reason = make(tmp_path / make.__name__)
        (entry,) = [one for one in LOCAL.entries(tmp_path) if one.name == make.__name__]
        assert entry.is_directory or reason in entry.problem


def test_a_fifo_alone_is_a_finding(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / f"{0:020}.log")
    for command in ("fsck", "dump", "scan"):
        done = run("log", command, tmp_path)
        assert done.exit_code == 1, done.output
        assert "a FIFO, not a regular file" in done.output


@pytest.mark.parametrize(
    "arguments", [("explain", "--batch"), ("decode", "--request"), ("encode",)]
)
def test_an_endless_device_is_read_up_to_a_limit(
    arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kraftwire.cli.messages.input_bytes.MAX_INPUT", 1 << 20)
    done = run(*arguments, "/dev/zero")
    assert done.exit_code == 2, done.output
    assert "/dev/zero: more than 1048576 bytes" in done.output
