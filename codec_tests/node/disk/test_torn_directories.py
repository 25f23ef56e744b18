"""What crashes leave on a disk, made by hand: all of it is opened."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kraftwire.log.errors import CorruptBatch

from codec_tests.node.disk.disks import (
    EPOCH,
    PARTITION,
    batch_at,
    names_of,
    opened,
    read_all,
    seen_in_copy,
    snapshot_bytes,
    take_snapshot,
    voters_of,
)


def segment(directory: Path, base: int = 0) -> Path:
    return directory / PARTITION / f"{base:020}.log"


def fill(directory: Path, count: int) -> list[int]:
    """A log of batches of one record each; where its segments begin."""
    with opened(directory) as (store, _):
        for offset in range(count):
            store.append(batch_at(offset))
    return sorted(int(name[:20]) for name in names_of(directory) if name.endswith(".log"))


def test_a_batch_that_is_torn_anywhere_is_cut_off(tmp_path: Path) -> None:
    base = fill(tmp_path / "whole", 7)[-1]
    size = segment(tmp_path / "whole", base).stat().st_size
    last = len(batch_at(0).data)
    for left in range(size - last, size):
        shutil.rmtree(tmp_path / "torn", ignore_errors=True)
        shutil.copytree(tmp_path / "whole", tmp_path / "torn")
        with segment(tmp_path / "torn", base).open("r+b") as file:
            file.truncate(left)
        with opened(tmp_path / "torn") as (store, found):
            assert found.log.end == 6
            store.append(batch_at(6))
            assert read_all(store, 0, 7) == b"".join(batch_at(at).data for at in range(7))


@pytest.mark.parametrize("tail", [b"\0" * 500, b"\xff" * 100, b"\0"])
def test_what_is_no_batch_at_the_end_is_cut_off(tmp_path: Path, tail: bytes) -> None:
    base = fill(tmp_path, 7)[-1]
    with segment(tmp_path, base).open("ab") as file:
        file.write(tail)
    size = segment(tmp_path, base).stat().st_size
    with opened(tmp_path) as (_, found):
        assert found.log.end == 7
        assert segment(tmp_path, base).stat().st_size == size - len(tail)


def test_damage_in_the_middle_is_told_with_its_place_and_what_to_do(tmp_path: Path) -> None:
    fill(tmp_path, 3)
    data = bytearray(segment(tmp_path).read_bytes())
    second = len(batch_at(0).data)
    data[second + 30] ^= 1
    segment(tmp_path).write_bytes(data)
    expected = rf"0\.log, byte {second}: .*batches follow it; give the replica an empty directory"
    with pytest.raises(CorruptBatch, match=expected), opened(tmp_path):
        pass
    assert segment(tmp_path).read_bytes() == data


def test_an_earlier_segment_may_not_be_torn(tmp_path: Path) -> None:
    assert len(fill(tmp_path, 20)) > 2
    with segment(tmp_path).open("r+b") as file:
        file.truncate(segment(tmp_path).stat().st_size - 1)
    with pytest.raises(CorruptBatch, match=r"0\.log, byte \d+: .*follow it"), opened(tmp_path):
        pass


def test_a_segment_that_is_missing_is_noticed(tmp_path: Path) -> None:
    bases = fill(tmp_path, 20)
    segment(tmp_path, bases[1]).unlink()
    expected = rf"{bases[2]}\.log, byte 0: the previous segment ends at {bases[1]}"
    with pytest.raises(CorruptBatch, match=expected), opened(tmp_path):
        pass


def test_a_segment_under_a_wrong_name_is_noticed(tmp_path: Path) -> None:
    fill(tmp_path, 3)
    segment(tmp_path).rename(segment(tmp_path, 1))
    with opened(tmp_path / "other") as (store, _):
        store.append(batch_at(0))
        take_snapshot(store, 1)
    checkpoint = f"{1:020}-{EPOCH:010}.checkpoint"
    shutil.copy(tmp_path / "other" / PARTITION / checkpoint, tmp_path / PARTITION)
    with pytest.raises(CorruptBatch, match="the first batch has offset 0"), opened(tmp_path):
        pass


def test_what_was_on_its_way_in_or_out_is_gone(tmp_path: Path) -> None:
    fill(tmp_path, 3)
    left = {
        "quorum-state.tmp",
        "leader-epoch-checkpoint.tmp",
        "partition.metadata.tmp",
        "00000000000000000002-0000000003.checkpoint.part",
        "00000000000000000002-0000000003-4711.checkpoint.part",  # as Kafka calls it
        "00000000000000000002-0000000003.checkpoint.deleted",
        "00000000000000000000.log.deleted",
        "00000000000000000009.index",
    }
    for name in left:
        (tmp_path / PARTITION / name).write_bytes(b"junk")
    (tmp_path / PARTITION / "notes.tmp").write_text("somebody's")
    with opened(tmp_path) as (_, found):
        assert found.log.snapshots == ()
        assert not left & names_of(tmp_path)
        assert "notes.tmp" in names_of(tmp_path)


def test_an_installation_that_was_cut_off_is_done(tmp_path: Path) -> None:
    fill(tmp_path, 20)
    with opened(tmp_path) as (store, _):
        take_snapshot(store, 50, 4, 5)
    with opened(tmp_path) as (_, found):
        assert (found.log.start, found.log.end) == (50, 50)
        assert found.control.voters.last == voters_of(4, 5)
    assert {name for name in names_of(tmp_path) if name.endswith(".log")} == {f"{50:020}.log"}


def test_a_snapshot_of_a_later_epoch_takes_the_place_of_a_log_that_ends_with_it(
    tmp_path: Path,
) -> None:
    fill(tmp_path, 5)
    with opened(tmp_path) as (store, _):
        take_snapshot(store, 5, 4, epoch=EPOCH + 1)
    with opened(tmp_path) as (_, found):
        assert (found.log.start, found.log.end, found.log.last_epoch) == (5, 5, EPOCH + 1)
    assert segment(tmp_path, 5).stat().st_size == 0


def test_removals_leave_a_log_without_a_hole_wherever_they_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each removal of a file is a place to stop: a copy is made before it, and opened."""
    bases = fill(tmp_path / "disk", 40)
    copies: list[Path] = []
    unlink = Path.unlink

    def copying(path: Path, missing_ok: bool = False) -> None:
        if path.suffix == ".log":
            copies.append(tmp_path / f"copy{len(copies)}")
            shutil.copytree(tmp_path / "disk", copies[-1])
        unlink(path, missing_ok=missing_ok)

    with opened(tmp_path / "disk") as (store, _):
        monkeypatch.setattr(Path, "unlink", copying)
        store.truncate(bases[-3] + 1)
        truncations = len(copies)
        take_snapshot(store, bases[1], 9)
        store.clean(take_snapshot(store, bases[2] + 1, 9))
        cleanings = len(copies)
        store.install(take_snapshot(store, 99, 9))
        monkeypatch.undo()
    ends = [seen_in_copy(one, tmp_path / "opened") for one in copies]
    assert [one.end for one in ends[:truncations]] == [40, bases[-1]]
    assert {(one.start, one.end) for one in ends[truncations:cleanings]} == {
        (bases[2] + 1, bases[-3] + 1)
    }
    assert {(one.start, one.end) for one in ends[cleanings:]} == {(99, 99)}
    assert len(ends) > cleanings > truncations


def test_a_log_that_was_torn_before_its_start_begins_anew_there(tmp_path: Path) -> None:
    """A leader may clean what others have flushed, and it has not."""
    fill(tmp_path, 5)
    with opened(tmp_path) as (store, _):
        store.append(batch_at(5))
        store.clean(take_snapshot(store, 5))
    with segment(tmp_path, 0 if segment(tmp_path).exists() else 5).open("r+b") as file:
        file.truncate(10)
    with opened(tmp_path) as (store, found):
        assert (found.log.start, found.log.end) == (5, 5)
        store.append(batch_at(5))
    assert len(snapshot_bytes()) > 0
