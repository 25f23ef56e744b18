"""Disks that are full or fail: the error leaves, names the file, and nothing is written after."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kraftwire.node.disk.replica_disk import DiskStore
from kraftwire.raft.metadata_log.log_state import OffsetAndEpoch
from kraftwire.raft.state.election_state import Election

from codec_tests.node.disk.disks import EPOCH, PARTITION, batch_at, opened, take_snapshot

SNAPSHOT = OffsetAndEpoch(2, EPOCH)
WRITES: dict[str, Callable[[DiskStore], None]] = {
    "save_election": lambda store: store.save_election(Election(1), 1),
    "append": lambda store: store.append(batch_at(2)),
    "flush": lambda store: store.flush(),
    "truncate": lambda store: store.truncate(1),
    "write_snapshot": lambda store: store.write_snapshot(SNAPSHOT, 0, b"x"),
    "finish_snapshot": lambda store: store.finish_snapshot(SNAPSHOT),
    "install": lambda store: store.install(SNAPSHOT),
    "clean": lambda store: store.clean(SNAPSHOT),
}


def failing(_: int) -> None:
    raise OSError(errno.EIO, "Input/output error")


@pytest.mark.parametrize("write", sorted(WRITES.keys() - {"append", "write_snapshot"}))
def test_an_fsync_that_fails_ends_all_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: str
) -> None:
    with opened(tmp_path) as (store, _):
        store.append(batch_at(0))
        store.append(batch_at(1))
        store.write_snapshot(SNAPSHOT, 0, b"part")
        with monkeypatch.context() as failures:
            failures.setattr(os, "fsync", failing)
            with pytest.raises(OSError, match=rf"Input/output error: '.*{PARTITION}.*'"):
                WRITES[write](store)
        for after in WRITES.values():
            with pytest.raises(OSError, match=r"stopped writing after .*Input/output") as it:
                after(store)
            assert it.value.errno == errno.EIO
        with pytest.raises(OSError, match="stopped writing after"):
            store.recover()


def test_what_was_there_can_still_be_read_after_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path) as (store, _):
        store.append(batch_at(0))
        snapshot = take_snapshot(store, 1)
        monkeypatch.setattr(os, "fsync", failing)
        with pytest.raises(OSError, match="Input/output"):
            store.flush()
        assert store.read(0, 1) == batch_at(0).data
        assert store.read_snapshot(snapshot, 0, 1 << 20)


def test_a_store_that_failed_gives_the_directory_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path) as (store, _), monkeypatch.context() as failures:
        failures.setattr(os, "fsync", failing)
        with pytest.raises(OSError, match="Input/output"):
            store.save_election(Election(1), 1)
    with opened(tmp_path) as (store, _):
        store.save_election(Election(2), 1)


FILL = """
import resource, signal, sys
from pathlib import Path
from kraftwire.node.disk.replica_disk import DiskSettings, DiskStore
from codec_tests.node.disk.disks import batch_at
store = DiskStore(Path(sys.argv[1]), settings=DiskSettings(index_bytes=1000))
store.recover()
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1010, 1010))
appended = 0
for _ in range(2):
    try:
        for appended in range(appended, 9):
            store.append(batch_at(appended * 10, 10))
            store.flush()
            print("appended", appended, flush=True)
    except OSError as error:
        print(error)
store.close()
"""


def test_a_full_disk_is_told_and_what_was_flushed_is_there(tmp_path: Path) -> None:
    directory = tmp_path / PARTITION
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run(
        [sys.executable, "-c", FILL, str(directory)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=60,
        check=True,
    )
    *told, first, second = ended.stdout.splitlines()
    assert "File too large" in first
    assert f"{0:020}.log" in first
    assert second.startswith("[Errno 27] the node stopped writing after a failed write")
    assert "File too large" in second
    assert len(told) >= 2
    with opened(tmp_path) as (_, found):
        assert found.log.end == 10 * len(told)
