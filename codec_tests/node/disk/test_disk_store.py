"""A store on a directory: its files, where its log begins, what it does with what it finds."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from uuid import UUID

import pytest

from kraftwire.log.errors import CorruptBatch
from kraftwire.log.small_files.indexes import read_offset_index, read_time_index
from kraftwire.log.small_files.properties import PartitionMetadata, encode_partition_metadata
from kraftwire.log.sources.source import FileSource
from kraftwire.log.writers.segment_writer import SegmentWriter
from kraftwire.node.disk.replica_disk import DiskSettings
from kraftwire.raft.metadata_log.log_state import BOOTSTRAP, OffsetAndEpoch
from kraftwire.raft.state.election_state import Election
from kraftwire.raft.state.voters import ReplicaKey
from kraftwire_wire.errors import KraftwireError

from codec_tests.node.disk.disks import (
    EPOCH,
    PARTITION,
    SMALL,
    batch_at,
    names_of,
    opened,
    read_all,
    snapshot_bytes,
    take_snapshot,
    voters_batch,
    voters_of,
)


def handles() -> int:
    """How many files this process has open."""
    return sum(1 for _ in Path("/dev/fd").iterdir())


def segments_of(directory: Path) -> list[int]:
    return sorted(int(name[:20]) for name in names_of(directory) if name.endswith(".log"))


def fill(directory: Path, count: int, settings: DiskSettings = SMALL) -> None:
    """Append batches of one record each."""
    with opened(directory, settings) as (store, found):
        for offset in range(found.log.end, found.log.end + count):
            store.append(batch_at(offset))


def test_a_missing_directory_is_made(tmp_path: Path) -> None:
    with opened(tmp_path / "not" / "there") as (_, found):
        assert found.election is None
        assert (found.log.start, found.log.end) == (0, 0)
    names = names_of(tmp_path / "not" / "there")
    assert {"00000000000000000000.log", "partition.metadata"} <= names


def test_what_was_written_is_there_when_it_is_opened_again(tmp_path: Path) -> None:
    with opened(tmp_path) as (store, _):
        store.save_election(Election(EPOCH, 2, ReplicaKey(2)), 1)
        store.append(voters_batch(0, 1, 2))
        store.append(batch_at(2))
    with opened(tmp_path) as (store, found):
        assert found.election == Election(EPOCH, 2, ReplicaKey(2))
        assert found.control.voters.last == voters_of(1, 2)
        assert found.control.kraft_version.last == 1
        assert read_all(store, 0, 3) == voters_batch(0, 1, 2).data + batch_at(2).data


def test_an_append_behind_a_gap_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path) as (store, _):
        with pytest.raises(ValueError, match="offset 1 at the end of a log that ends at 0"):
            store.append(batch_at(1))
        store.append(batch_at(0))


# Segments


def test_a_segment_ends_where_the_next_batch_would_make_it_too_large(tmp_path: Path) -> None:
    fill(tmp_path, 20)
    directory = tmp_path / PARTITION
    sizes = [path.stat().st_size for path in sorted(directory.glob("*.log"))]
    assert len(sizes) > 3
    batch = len(batch_at(0).data)
    assert all(size <= SMALL.segment_bytes < size + batch for size in sizes[:-1])


def test_a_batch_larger_than_a_segment_has_one_for_itself(tmp_path: Path) -> None:
    with opened(tmp_path) as (store, _):
        store.append(batch_at(0, 100))
        store.append(batch_at(100))
    assert segments_of(tmp_path) == [0, 100]


def test_a_segment_ends_when_its_timestamps_span_too_much(tmp_path: Path) -> None:
    with opened(tmp_path, DiskSettings(segment_ms=1000)) as (store, _):
        for offset, timestamp in enumerate((5000, 6000, 6001, 7001)):
            store.append(batch_at(offset, timestamp=timestamp))
    assert segments_of(tmp_path) == [0, 2]


def test_indexes_are_allocated_in_advance_and_cut_when_the_segment_ends(tmp_path: Path) -> None:
    index = tmp_path / PARTITION / "00000000000000000000.index"
    times = index.with_suffix(".timeindex")
    with opened(tmp_path, DiskSettings()) as (store, _):
        assert (index.stat().st_size, times.stat().st_size) == (10485760, 10485756)
        store.append(batch_at(0, 5000))
        store.append(batch_at(5000))
        with FileSource(index) as source:
            assert [entry.offset for entry in read_offset_index(source, 0)] == [5000]
    assert (index.stat().st_size, times.stat().st_size) == (8, 12)


@pytest.mark.parametrize("crashes", [False, True])
def test_all_indexes_are_those_that_a_segment_writer_makes(tmp_path: Path, crashes: bool) -> None:
    batches = [batch_at(offset, timestamp=offset * 7 % 5) for offset in range(40)]
    with opened(tmp_path) as (store, _):
        for batch in batches[:30]:
            store.append(batch)
        store.truncate(22)
        for batch in batches[22:]:
            store.append(batch)
    directory = tmp_path / PARTITION
    bases = [*segments_of(tmp_path), 40]
    if crashes:
        for path in directory.glob("*index"):
            path.write_bytes(b"\0" * 24)
        with opened(tmp_path):
            pass
    for base, end in pairwise(bases):
        expected = tmp_path / "expected"
        expected.mkdir(exist_ok=True)
        with SegmentWriter(expected, base, index_interval=SMALL.index_interval) as writer:
            for batch in batches[base:end]:
                writer.append(batch)
        for suffix in ("log", "index", "timeindex"):
            name = f"{base:020}.{suffix}"
            assert (directory / name).read_bytes() == (expected / name).read_bytes()


def test_time_indexes_follow_a_truncation(tmp_path: Path) -> None:
    with opened(tmp_path, DiskSettings(index_interval=1)) as (store, _):
        for offset, timestamp in enumerate((1, 9, 5, 6)):
            store.append(batch_at(offset, timestamp=timestamp))
        store.truncate(1)
        store.append(batch_at(1, timestamp=4))
        store.append(batch_at(2, timestamp=3))
    with FileSource(tmp_path / PARTITION / "00000000000000000000.timeindex") as source:
        assert [tuple(entry) for entry in read_time_index(source, 0)] == [(4, 1)]


def test_many_segments_take_no_more_handles_than_one(tmp_path: Path) -> None:
    with opened(tmp_path) as (store, _):
        store.append(batch_at(0))
        before = handles()
        for offset in range(1, 200):
            store.append(batch_at(offset))
            store.read(offset // 2, 1)
        assert handles() == before
    assert len(segments_of(tmp_path)) > 20


def test_all_handles_are_closed_at_the_end(tmp_path: Path) -> None:
    before = handles()
    fill(tmp_path, 20)
    assert handles() == before


# Where the log begins


def test_cleaning_removes_whole_segments_and_the_log_begins_at_the_snapshot(
    tmp_path: Path,
) -> None:
    fill(tmp_path, 20)
    bases = segments_of(tmp_path)
    with opened(tmp_path) as (store, _):
        snapshot = take_snapshot(store, bases[2] + 1)
        store.clean(snapshot)
        assert segments_of(tmp_path) == bases[2:]
    with opened(tmp_path) as (store, found):
        assert (found.log.start, found.log.end) == (bases[2] + 1, 20)
        assert found.log.snapshots == (snapshot,)
        assert store.read(found.log.start, 1) == batch_at(found.log.start).data


def test_a_log_that_was_not_cleaned_begins_at_0_whatever_snapshots_there_are(
    tmp_path: Path,
) -> None:
    fill(tmp_path, 6)
    with opened(tmp_path) as (store, _):
        take_snapshot(store, 3)
    with opened(tmp_path) as (_, found):
        assert found.log.start == 0


@pytest.mark.parametrize("content", [None, b"", b"0\n1\n3 0\n", b"junk", b"0\n1\n3 99\n"])
def test_without_a_word_of_the_epochs_the_log_begins_at_the_first_snapshot(
    tmp_path: Path, content: bytes | None
) -> None:
    fill(tmp_path, 20)
    start = segments_of(tmp_path)[2] + 1
    with opened(tmp_path) as (store, _):
        take_snapshot(store, start + 1)
        store.clean(take_snapshot(store, start))
    checkpoint = tmp_path / PARTITION / "leader-epoch-checkpoint"
    checkpoint.unlink()
    if content is not None:
        checkpoint.write_bytes(content)
    with opened(tmp_path) as (_, found):
        assert (found.log.start, found.log.end) == (start, 20)
        assert checkpoint.read_text() == f"0\n1\n{EPOCH} {start}\n"


def test_a_log_whose_beginning_is_gone_and_in_no_snapshot_is_refused(tmp_path: Path) -> None:
    fill(tmp_path, 20)
    (tmp_path / PARTITION / "00000000000000000000.log").unlink()
    with pytest.raises(
        CorruptBatch, match=r"begins at offset \d+, and no snapshot .* directory id"
    ):
        fill(tmp_path, 1)


def test_a_log_cleaned_to_its_end_begins_anew_there(tmp_path: Path) -> None:
    fill(tmp_path, 3)
    with opened(tmp_path) as (store, _):
        store.clean(take_snapshot(store, 3))
        assert segments_of(tmp_path) == [3]
        store.append(batch_at(3))
    with opened(tmp_path) as (_, found):
        assert (found.log.start, found.log.end) == (3, 4)


def test_an_installed_snapshot_takes_the_place_of_the_log(tmp_path: Path) -> None:
    fill(tmp_path, 20)
    with opened(tmp_path) as (store, _):
        store.write_snapshot(OffsetAndEpoch(30, EPOCH), 0, b"part")
        store.install(take_snapshot(store, 50, 4, 5))
        store.append(batch_at(50))
    assert segments_of(tmp_path) == [50]
    assert not [name for name in names_of(tmp_path) if name.endswith(".part")]
    with opened(tmp_path) as (_, found):
        assert (found.log.start, found.log.end) == (50, 51)
        assert found.control.voters.last == voters_of(4, 5)


def test_the_bootstrap_checkpoint_stands_before_the_log(tmp_path: Path) -> None:
    directory = tmp_path / PARTITION
    directory.mkdir()
    data = snapshot_bytes(1, 2, epoch=0)
    (directory / "00000000000000000000-0000000000.checkpoint").write_bytes(data)
    with opened(tmp_path) as (_, found):
        assert found.log.snapshots == (BOOTSTRAP,)
        assert found.control.voters.last == voters_of(1, 2)


# Snapshots


def test_a_snapshot_counts_once_it_is_finished(tmp_path: Path) -> None:
    with opened(tmp_path) as (store, _):
        store.append(batch_at(0))
        snapshot = OffsetAndEpoch(1, EPOCH)
        store.write_snapshot(snapshot, 0, b"of another try")
        store.write_snapshot(snapshot, 0, b"abc")
        with pytest.raises(KeyError):
            store.snapshot_size(snapshot)
        store.write_snapshot(snapshot, 3, b"def")
        with pytest.raises(ValueError, match="position 5 of a snapshot with 6 bytes"):
            store.write_snapshot(snapshot, 5, b"")
        store.finish_snapshot(snapshot)
        assert store.snapshot_size(snapshot) == 6
        assert store.read_snapshot(snapshot, 2, 3) == b"cde"
        assert store.read_snapshot(snapshot, 9, 3) == b""
        store.clean(snapshot)
        with pytest.raises(KeyError):
            store.read_snapshot(OffsetAndEpoch(0, 0), 0, 1)


# The small files


def test_the_vote_of_a_draft_is_read_and_replaced(tmp_path: Path) -> None:
    directory = tmp_path / PARTITION
    directory.mkdir()
    draft = directory / "quorum-state.json"
    uuid = "AAAAAAAAAAAAAAAAAAAAAA"
    draft.write_text(
        f'{{"clusterId":"","leaderId":-1,"leaderEpoch":7,"votedId":2,"votedUuid":"{uuid}",'
        '"appliedOffset":0,"data_version":1}'
    )
    with opened(tmp_path) as (store, found):
        assert found.election == Election(7, None, ReplicaKey(2))
        store.save_election(Election(8), 1)
    assert not draft.exists()
    with opened(tmp_path) as (_, found):
        assert found.election == Election(8)


def test_a_vote_that_cannot_be_read_is_not_taken_for_none(tmp_path: Path) -> None:
    (tmp_path / PARTITION).mkdir()
    (tmp_path / PARTITION / "quorum-state").write_bytes(b"")
    with (
        pytest.raises(CorruptBatch, match=r"quorum-state, byte 0: .*give the replica an empty"),
        opened(tmp_path),
    ):
        pass


def test_the_directory_of_another_topic_is_refused(tmp_path: Path) -> None:
    (tmp_path / PARTITION).mkdir()
    other = encode_partition_metadata(PartitionMetadata(0, UUID(int=2)))
    (tmp_path / PARTITION / "partition.metadata").write_bytes(other)
    with pytest.raises(CorruptBatch, match="another topic's directory"), opened(tmp_path):
        pass


def test_epochs_are_on_the_disk_once_they_are_flushed(tmp_path: Path) -> None:
    checkpoint = tmp_path / PARTITION / "leader-epoch-checkpoint"
    with opened(tmp_path) as (store, _):
        store.append(batch_at(0, epoch=1))
        store.append(batch_at(1, epoch=4))
        store.append(batch_at(2, epoch=4))
        store.flush()
        assert checkpoint.read_text() == "0\n2\n1 0\n4 1\n"
        store.truncate(1)
        assert checkpoint.read_text() == "0\n1\n1 0\n"


def test_epochs_begin_where_the_log_was_cleaned_up_to(tmp_path: Path) -> None:
    checkpoint = tmp_path / PARTITION / "leader-epoch-checkpoint"
    with opened(tmp_path) as (store, _):
        for offset, epoch in enumerate((1, 1, 2, 2)):
            store.append(batch_at(offset, epoch=epoch))
        store.clean(take_snapshot(store, 1, epoch=1))
        assert checkpoint.read_text() == "0\n2\n1 1\n2 2\n"
        store.clean(take_snapshot(store, 2, epoch=1))
        assert checkpoint.read_text() == "0\n1\n2 2\n"


# One node on a directory


def test_two_stores_do_not_share_a_directory(tmp_path: Path) -> None:
    with opened(tmp_path) as (store, _):
        with pytest.raises(KraftwireError, match=r"\.lock is locked: a node is running"):
            fill(tmp_path, 1)
        store.append(batch_at(0))
    fill(tmp_path, 1)


def test_a_store_that_could_not_be_opened_gives_the_directory_back(tmp_path: Path) -> None:
    state = tmp_path / PARTITION / "quorum-state"
    state.parent.mkdir()
    state.write_bytes(b"junk")
    with pytest.raises(CorruptBatch):
        fill(tmp_path, 1)
    state.unlink()
    fill(tmp_path, 1)


def test_another_process_does_not_share_a_directory(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path;"
        "from kraftwire.node.disk.replica_disk import DiskStore;"
        "DiskStore(Path(sys.argv[1])).recover()"
    )
    with opened(tmp_path):
        ended = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / PARTITION)],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    assert ended.returncode == 1
    assert "DirectoryInUse" in ended.stderr
    assert str(tmp_path / ".lock") in ended.stderr
