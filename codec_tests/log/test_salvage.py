"""Salvage: what is kept, what is lost to the offset, and that the source stays as it is."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path

import pytest

from kraftwire.log import Partition, Record, find_partitions, read_batches
from kraftwire.log.batches.encoding import encode_batch
from kraftwire.log.directories.file_names import FileKind
from kraftwire.log.fsck import Fsck
from kraftwire.log.salvage.partition import Salvage
from kraftwire.log.salvage.small_files import Loss

from codec_tests.log.file_mutants import flip
from codec_tests.stored_files import BROKER, CONTROLLER, copy_of


def salvage(source: Path, target: Path) -> tuple[Partition, list[Loss]]:
    (partition,) = find_partitions([source])
    losses = list(Salvage(partition, target / source.name).run())
    (saved,) = find_partitions([target / source.name])
    return saved, losses


def offsets_of(partition: Partition) -> set[int]:
    offsets: set[int] = set()
    for segment in partition.segments:
        with segment.open() as source:
            for batch in read_batches(source):
                offsets |= set(range(batch.header.base_offset, batch.header.last_offset + 1))
    return offsets


def lost_offsets(losses: list[Loss]) -> set[int]:
    lost: set[int] = set()
    for loss in losses:
        if loss.first_offset is not None:
            assert loss.last_offset is not None
            lost |= set(range(loss.first_offset, loss.last_offset + 1))
    return lost


@pytest.mark.parametrize("name", ["tea-0", "orders-0", "temperatures-0", "__consumer_offsets-0"])
def test_a_sound_partition_is_copied_unchanged(name: str, tmp_path: Path) -> None:
    """Segments, indexes and leader epochs are the same bytes."""
    saved, losses = salvage(BROKER / name, tmp_path)
    assert losses == []
    indexes = (FileKind.OFFSET_INDEX, FileKind.TIME_INDEX, FileKind.TRANSACTION_INDEX)
    kinds = (*indexes, FileKind.SEGMENT, FileKind.LEADER_EPOCHS, FileKind.PARTITION_METADATA)
    compared = 0
    for file in saved.files:
        assert file.kind in kinds
        assert file.path.read_bytes() == (BROKER / name / file.path.name).read_bytes(), file.path
        compared += 1
    assert compared >= 5


def test_snapshots_and_votes_are_copied(tmp_path: Path) -> None:
    name = "__cluster_metadata-0"
    saved, losses = salvage(CONTROLLER / name, tmp_path)
    assert losses == []
    originals = list((CONTROLLER / name).glob("*.checkpoint"))
    assert len(originals) > 3
    for path in (*originals, CONTROLLER / name / "quorum-state"):
        assert (saved.directory / path.name).read_bytes() == path.read_bytes()


@pytest.mark.parametrize("seed", range(30))
def test_every_offset_is_kept_or_reported_as_lost(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    source = copy_of("tea-0", tmp_path)
    (before,) = find_partitions([source])
    everything = offsets_of(before)
    for segment in rng.sample(before.segments, rng.randint(1, 3)):
        data = bytearray(segment.path.read_bytes())
        at = rng.randrange(17, len(data))
        if rng.random() < 0.7:
            data[at] ^= 1 << rng.randrange(8)
        else:
            del data[max(at, 61) :]
        segment.path.write_bytes(data)
    saved, losses = salvage(source, tmp_path / "saved")
    kept, lost = offsets_of(saved), lost_offsets(losses)
    assert kept | lost == everything
    assert not kept & lost
    assert [found for found in Fsck().run([saved]) if found.check != "record"] == []


def test_the_source_is_unchanged(tmp_path: Path) -> None:
    source = copy_of("orders-0", tmp_path)
    (source / "00000000000000000005.log").write_bytes(b"not a batch")

    def digests() -> dict[str, tuple[str, int]]:
        return {
            path.name: (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
            for path in source.iterdir()
        }

    before = digests()
    salvage(source, tmp_path / "saved")
    assert digests() == before


def test_a_tail_whose_header_is_cut_loses_an_unknown_number(tmp_path: Path) -> None:
    source = copy_of("tea-0", tmp_path)
    last = sorted(source.glob("*.log"))[-1]
    last.write_bytes(last.read_bytes()[:30])
    _, losses = salvage(source, tmp_path / "saved")
    assert [(loss.first_offset, loss.last_offset) for loss in losses] == [(160, None)]


def test_a_tail_of_zeros_loses_no_offset(tmp_path: Path) -> None:
    source = copy_of("tea-0", tmp_path)
    last = sorted(source.glob("*.log"))[-1]
    last.write_bytes(last.read_bytes() + bytes(4096))
    _, losses = salvage(source, tmp_path / "saved")
    assert [(loss.first_offset, loss.end - loss.start) for loss in losses] == [(None, 4096)]


def test_duplicate_batches_are_kept_once(tmp_path: Path) -> None:
    source = copy_of("codec-none-0", tmp_path)
    (segment,) = source.glob("*.log")
    data = segment.read_bytes()
    segment.write_bytes(data + data[:2156])
    saved, losses = salvage(source, tmp_path / "saved")
    assert saved.segments[0].path.read_bytes() == data
    reason = "base offset 0 is not above offset 119, which came before it"
    assert [loss.reason for loss in losses] == [reason]


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "saved" / "tea-0").mkdir(parents=True)
    with pytest.raises(FileExistsError):
        salvage(BROKER / "tea-0", tmp_path / "saved")


@pytest.mark.parametrize(("at", "bit"), [(5, 4), (13, 0)], ids=["offset", "epoch"])
def test_a_flipped_bit_outside_the_crc_loses_one_batch(at: int, bit: int, tmp_path: Path) -> None:
    source = copy_of("codec-none-0", tmp_path)
    (path,) = source.glob("*.log")
    flip(path, at, 1 << bit)
    saved, (loss,) = salvage(source, tmp_path / "saved")
    assert (loss.first_offset, loss.last_offset) == (0, 39)
    assert offsets_of(saved) == set(range(40, 120))


def test_a_damaged_checkpoint_of_epochs_is_reported(tmp_path: Path) -> None:
    source = copy_of("tea-0", tmp_path)
    (source / "leader-epoch-checkpoint").write_bytes(b"?")
    saved, (loss,) = salvage(source, tmp_path / "saved")
    assert loss.file.endswith("leader-epoch-checkpoint")
    assert list(Fsck().run([saved])) == []


def test_a_batch_of_a_lower_epoch_at_the_end_loses_no_more_than_itself(tmp_path: Path) -> None:
    source = copy_of("codec-none-0", tmp_path)
    (path,) = source.glob("*.log")
    data = path.read_bytes()
    path.write_bytes(data + data[-2156:])
    _, (loss,) = salvage(source, tmp_path / "saved")
    assert (loss.first_offset, loss.last_offset) == (None, None)


def test_a_transaction_without_its_marker_stays_open(tmp_path: Path) -> None:
    (partition,) = find_partitions([BROKER / "orders-0"])
    work = Salvage(partition, tmp_path / "saved")
    assert list(work.run()) == []
    assert len(work.open_transactions) == 1


def test_a_segment_with_a_name_of_its_own_keeps_its_offsets(tmp_path: Path) -> None:
    """Tiered storage and copies: the first batch says where it begins."""
    path = tmp_path / "copy-of-something.log"
    records = [Record(5_000_000_000, 1, None, b"tea", ())]
    path.write_bytes(encode_batch(records))
    (partition,) = find_partitions([path])
    assert list(Fsck().run([partition])) == []
    work = Salvage(partition, tmp_path / "saved")
    assert list(work.run()) == []
    assert (tmp_path / "saved" / "00000000005000000000.log").read_bytes() == path.read_bytes()


def test_an_unfinished_compaction_is_reported_as_left_out(tmp_path: Path) -> None:
    source = copy_of("tea-0", tmp_path)
    (source / f"{40:020}.log").rename(source / f"{40:020}.log.swap")
    _, losses = salvage(source, tmp_path / "saved")
    assert ["left out" in loss.reason for loss in losses] == [True]
