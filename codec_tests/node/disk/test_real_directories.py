"""Directories of a real Kafka: they are opened, gone on from, and made again byte by byte."""

from __future__ import annotations

import shutil
from itertools import pairwise
from pathlib import Path

import pytest

from kraftwire.log.small_files.quorum_state import decode_quorum_state
from kraftwire.node.disk.replica_disk import DiskSettings
from kraftwire.raft.metadata_log.log_state import BOOTSTRAP
from kraftwire.raft.state.election_state import Election

from codec_tests.node.disk.disks import (
    PARTITION,
    batch_at,
    names_of,
    opened,
    read_all,
    take_snapshot,
)
from codec_tests.stored_files import BROKER, CONTROLLER, batches_of

SEGMENT = "00000000000000000000.log"
DIRECTORIES = pytest.mark.parametrize("real", [BROKER, CONTROLLER], ids=["broker", "controller"])


def copy_of(real: Path, directory: Path) -> Path:
    shutil.copytree(real / PARTITION, directory / PARTITION)
    return directory


@DIRECTORIES
def test_a_real_directory_is_opened_with_all_that_is_in_it(real: Path, tmp_path: Path) -> None:
    with opened(copy_of(real, tmp_path), DiskSettings()) as (store, found):
        batches = batches_of(real / PARTITION / SEGMENT)
        assert read_all(store, 0, found.log.end) == (real / PARTITION / SEGMENT).read_bytes()
        assert found.log.end == batches[-1].header.last_offset + 1
        assert found.log.start == 0
        assert found.election == Election(1, 1)
        checkpoints = {name for name in names_of(real) if name.endswith(".checkpoint")}
        assert len(found.log.snapshots) == len(checkpoints)
        assert (found.log.snapshots[0] == BOOTSTRAP) == (real == CONTROLLER)


def test_a_real_controller_s_voters_are_known(tmp_path: Path) -> None:
    with opened(copy_of(CONTROLLER, tmp_path), DiskSettings()) as (_, found):
        assert [voter.id for voter in found.control.voters.last] == [1]
        assert found.control.kraft_version.last == 1


@DIRECTORIES
def test_opening_leaves_the_files_of_a_real_directory_as_they_are(
    real: Path, tmp_path: Path
) -> None:
    with opened(copy_of(real, tmp_path), DiskSettings()):
        pass
    for name in names_of(real):
        assert (tmp_path / PARTITION / name).read_bytes() == (real / PARTITION / name).read_bytes()


@DIRECTORIES
def test_a_store_given_the_same_batches_writes_the_same_files(real: Path, tmp_path: Path) -> None:
    state = decode_quorum_state((real / PARTITION / "quorum-state").read_bytes())
    with opened(tmp_path, DiskSettings()) as (store, _):
        for batch in batches_of(real / PARTITION / SEGMENT):
            store.append(batch)
        voters = [voter.voter_id for voter in state.message.current_voters or ()]
        store.save_election(Election(1, 1), state.version, voters)
    for name in (SEGMENT, "leader-epoch-checkpoint", "partition.metadata", "quorum-state"):
        assert (tmp_path / PARTITION / name).read_bytes() == (real / PARTITION / name).read_bytes()


def test_a_real_log_is_gone_on_from_and_cleaned(tmp_path: Path) -> None:
    with opened(copy_of(CONTROLLER, tmp_path), DiskSettings()) as (store, found):
        end = found.log.end
        store.append(batch_at(end, epoch=2))
        store.flush()
        store.clean(take_snapshot(store, end, 1, epoch=1))
    with opened(tmp_path, DiskSettings()) as (_, found):
        assert (found.log.start, found.log.end, found.log.last_epoch) == (end, end + 1, 2)
    checkpoint = tmp_path / PARTITION / "leader-epoch-checkpoint"
    assert checkpoint.read_text() == f"0\n1\n2 {end}\n"


def test_segments_of_a_real_log_make_the_same_log(tmp_path: Path) -> None:
    settings = DiskSettings(segment_bytes=3000)
    with opened(tmp_path, settings) as (store, _):
        for batch in batches_of(CONTROLLER / PARTITION / SEGMENT):
            store.append(batch)
    paths = sorted((tmp_path / PARTITION).glob("*.log"))
    assert len(paths) > 5
    assert all(path.stat().st_size <= 3000 for path in paths)
    assert all(one.name < after.name for one, after in pairwise(paths))
    whole = b"".join(path.read_bytes() for path in paths)
    assert whole == (CONTROLLER / PARTITION / SEGMENT).read_bytes()
    with opened(tmp_path, settings) as (store, found):
        assert read_all(store, 0, found.log.end) == whole
