"""Directories whose epochs or offsets no election explains: refused at start, with advice."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraftwire.log.directories.file_names import snapshot_name
from kraftwire.log.errors import CorruptBatch
from kraftwire.log.writers.snapshot_writer import SnapshotWriter
from kraftwire.node.disk.replica_disk import DiskStore
from kraftwire.raft.metadata_log.batches import data_batch
from kraftwire.raft.state.bounds import MAX_EPOCH, MAX_OFFSET
from kraftwire.raft.state.election_state import Election

LAST = (1 << 31) - 1
STATE = (
    '{{"leaderId":-1,"leaderEpoch":{epoch},"votedId":-1,'
    '"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}}'
)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A directory that a replica has had."""
    store = DiskStore(tmp_path / "__cluster_metadata-0")
    store.recover()
    store.save_election(Election(3), 1)
    store.append(data_batch(0, 3, 0, [b"record"]))
    store.close()
    return store.directory


def refusal(directory: Path) -> str:
    """Why a node does not start with a directory, twice: nothing is changed by that."""
    with pytest.raises(CorruptBatch) as first:
        DiskStore(directory).recover()
    with pytest.raises(CorruptBatch) as second:
        DiskStore(directory).recover()
    assert str(first.value) == str(second.value)
    return str(first.value)


@pytest.mark.parametrize("epoch", [-(1 << 31), -1, MAX_EPOCH + 1, LAST])
def test_an_election(directory: Path, epoch: int) -> None:
    (directory / "quorum-state").write_text(STATE.format(epoch=epoch))
    reason = refusal(directory)
    assert f"quorum-state, byte 0: leaderEpoch is {epoch}" in reason
    assert "stop them all" in reason
    assert "empty directory" in reason


def test_the_advice_brings_a_directory_back(directory: Path) -> None:
    (directory / "quorum-state").write_text(STATE.format(epoch=LAST))
    refusal(directory)
    (directory / "quorum-state").write_text(STATE.format(epoch=4))
    store = DiskStore(directory)
    found = store.recover()
    store.close()
    assert (found.election, found.log.end) == (Election(4), 1)


@pytest.mark.parametrize("epoch", [1 << 31, 10**30])
def test_an_election_that_is_no_int32(directory: Path, epoch: int) -> None:
    (directory / "quorum-state").write_text(STATE.format(epoch=epoch))
    assert "quorum-state, byte 0" in refusal(directory)


@pytest.mark.parametrize("epoch", [MAX_EPOCH + 1, LAST, -1, -(1 << 31)])
def test_a_batch(directory: Path, epoch: int) -> None:
    (segment,) = directory.glob("*.log")
    data = bytearray(segment.read_bytes())
    data[12:16] = epoch.to_bytes(4, signed=True)  # which no checksum protects
    segment.write_bytes(data)
    reason = refusal(directory)
    assert f"epoch {epoch}" in reason
    assert "empty directory" in reason


@pytest.mark.parametrize(
    ("offset", "epoch"),
    [(1, LAST), (1, 9_999_999_999), (MAX_OFFSET + 1, 3), (10**20 - 1, 3), ((1 << 63) - 1, LAST)],
)
def test_a_snapshot(directory: Path, offset: int, epoch: int) -> None:
    writer = SnapshotWriter(3)
    writer.begin(0, 0)
    (directory / snapshot_name(offset, epoch)).write_bytes(writer.finish(0))
    reason = refusal(directory)
    assert snapshot_name(offset, epoch) in reason
    assert "empty directory" in reason


@pytest.mark.parametrize("offset", [MAX_OFFSET + 1, (1 << 63) - 1, 10**20 - 1])
def test_a_segment(directory: Path, offset: int) -> None:
    (segment,) = directory.glob("*.log")
    segment.rename(directory / f"{offset:020}.log")
    assert "empty directory" in refusal(directory)
