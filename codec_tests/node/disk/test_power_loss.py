"""What is left without power: votes, truncations, finished snapshots, and the log up to a flush."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftwire.node.disk.replica_disk import DiskStore
from kraftwire.raft.metadata_log.log_state import BOOTSTRAP
from kraftwire.raft.metadata_log.memory_store import MemoryStore
from kraftwire.raft.state.election_state import Election

from codec_tests.node.disk.disks import (
    EPOCH,
    PARTITION,
    Seen,
    batch_at,
    opened,
    read_all,
    seen,
    take_snapshot,
)
from codec_tests.node.disk.model import KINDS, Model
from codec_tests.node.disk.power import Power

STEPS = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 9)), max_size=30)


def check(directory: Path, memory: MemoryStore, model: Model, flushed: int) -> None:
    """Open what is left, and see that nothing is missing."""
    latest = model.log.latest_snapshot or BOOTSTRAP
    with opened(directory) as (store, recovered):
        found = seen(store, recovered)
        assert found.election == memory.copy().recover().election
        assert found.start <= max(latest.offset, model.log.start)
        assert max(flushed, latest.offset) <= found.end <= model.log.end
        assert set(found.snapshots) >= {
            one for one in model.log.snapshots if one.offset >= found.start
        }
        begin = max(found.start, model.log.start)
        whole = read_all(memory, begin, model.log.end)
        assert whole.startswith(read_all(store, begin, found.end))


@pytest.mark.slow
@settings(max_examples=100)
@given(STEPS)
def test_what_was_acknowledged_is_left(steps: list[tuple[str, int]]) -> None:
    power = Power()
    with tempfile.TemporaryDirectory() as temporary, pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "fsync", power.fsync)
        base = Path(temporary)
        memory = MemoryStore()
        memory.recover()
        with opened(base / "disk") as (disk, _):
            model = Model(memory, disk)
            flushed = 0
            for kind, number in steps:
                model.step(kind, number)
                flushed = min(flushed, model.log.end)
                if kind in ("flush", "install"):
                    flushed = model.log.end
                power.last.leave(base / "disk" / PARTITION, base / "left" / PARTITION)
                del power.moments[:-1]
                check(base / "left", memory, model, flushed)


def lefts(base: Path, steps: Callable[[DiskStore], None], count: int) -> list[Seen]:
    """What is found after a loss of power at each moment of some steps on a log."""
    power = Power()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "fsync", power.fsync)
        with opened(base / "disk") as (disk, _):
            for offset in range(count):
                disk.append(batch_at(offset))
            disk.flush()
            first = len(power.moments) - 1
            steps(disk)
            moments = power.moments[first:]
    found = []
    for moment in moments:
        moment.leave(base / "disk" / PARTITION, base / "left" / PARTITION)
        with opened(base / "left") as (store, recovered):
            found.append(seen(store, recovered))
    return found


def places(found: list[Seen]) -> set[tuple[int, int]]:
    return {(one.start, one.end) for one in found}


def test_a_truncation_of_segments_leaves_no_hole(tmp_path: Path) -> None:
    found = lefts(tmp_path, lambda disk: disk.truncate(7), 30)
    assert [one.end for one in found] == sorted((one.end for one in found), reverse=True)
    assert (found[0].end, found[-1].end) == (30, 7)
    assert len(places(found)) > 3


@pytest.mark.parametrize("offset", [7, 99])
def test_an_installation_is_done_or_not(tmp_path: Path, offset: int) -> None:
    def install(disk: DiskStore) -> None:
        disk.install(take_snapshot(disk, offset, epoch=EPOCH + 1))

    assert places(lefts(tmp_path, install, 30)) == {(0, 30), (offset, offset)}


@pytest.mark.parametrize("first", [3, 8])  # within the first segment, and behind it
@pytest.mark.parametrize("end", [23, 30])
def test_a_cleaning_is_done_or_not(tmp_path: Path, first: int, end: int) -> None:
    def clean(disk: DiskStore) -> None:
        take_snapshot(disk, 2)
        disk.clean(take_snapshot(disk, first))
        disk.clean(take_snapshot(disk, end))

    found = lefts(tmp_path, clean, 30)
    assert places(found) == {(0, 30), (first, 30), (end, 30)}
    assert [one.start for one in found] == sorted(one.start for one in found)


def test_a_segment_that_was_begun_is_there_once_it_is_flushed(tmp_path: Path) -> None:
    def append(disk: DiskStore) -> None:
        for offset in range(5, 12):
            disk.append(batch_at(offset))
            disk.flush()

    assert lefts(tmp_path, append, 5)[-1].end == 12


def test_what_a_killed_process_had_not_flushed_is_flushed_before_it_is_told_of(
    tmp_path: Path,
) -> None:
    power = Power()
    with pytest.MonkeyPatch.context() as patched:
        with opened(tmp_path / "disk") as (disk, _), pytest.MonkeyPatch.context() as failing:
            patched.setattr(os, "fsync", power.fsync)
            disk.save_election(Election(1), 1)
            disk.append(batch_at(0))
            failing.setattr(os, "fsync", fail)  # so that closing does not flush
            with pytest.raises(OSError, match="no fsync"):
                disk.flush()
        with opened(tmp_path / "disk") as (_, found):
            assert found.log.end == 1
            left = power.last
    left.leave(tmp_path / "disk" / PARTITION, tmp_path / "left" / PARTITION)
    (tmp_path / "left" / PARTITION / "partition.metadata").unlink()  # synced before
    with opened(tmp_path / "left") as (_, found):
        assert found.log.end == 1


def fail(_: int) -> None:
    raise OSError(errno.EIO, "no fsync")
