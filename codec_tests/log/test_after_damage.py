"""What comes after a hole or damage is read, and what was read is let go of."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest

from kraftwire.columns import decode_batches
from kraftwire.log import CorruptBatch, Damage, FileSource, Record, decode_batch, find_partitions
from kraftwire.log.batches.compression import Compression
from kraftwire.log.batches.encoding import BatchSettings, encode_batch
from kraftwire.log.batches.large_records import LargeRecords, RecordBudget
from kraftwire.log.segments.batch_order import MAX_RELATIVE_OFFSET, BatchOrder

from codec_tests.cli.running import run
from codec_tests.columns.engines import ENGINES, engine
from codec_tests.metadata import metadata_logs as logs


def offsets(path: Path, order: BatchOrder | None, damage: list[Damage] | None) -> list[int]:
    found: list[int] = []
    with FileSource(path) as source:
        on_damage = None if damage is None else damage.append
        for chunk in decode_batches(source, ["offset"], order=order, on_damage=on_damage):
            found += chunk.column("offset").to_pylist()
    return found


def metadata_log(root: Path, *starts: int) -> Path:
    return logs.write_segment(root, 0, *(logs.batch(at, [logs.moved(2)] * 10) for at in starts))


@pytest.mark.parametrize("name", ENGINES)
def test_the_batch_after_a_hole_is_read(tmp_path: Path, name: str) -> None:
    path = metadata_log(tmp_path, 0, 10, 30, 40)
    (partition,) = find_partitions([tmp_path])
    damage: list[Damage] = []
    with engine(name):
        assert offsets(path, partition.order(partition.segments[0]), damage) == [
            *range(20),
            *range(30, 50),
        ]
        with pytest.raises(CorruptBatch, match="offsets 20 to 29 are missing before 30"):
            offsets(path, partition.order(partition.segments[0]), None)
    assert [(one.size, one.reason[:29]) for one in damage] == [(0, "offsets 20 to 29 are missing ")]


def test_dump_reads_after_a_hole_and_says_so(tmp_path: Path) -> None:
    metadata_log(tmp_path, 0, 10, 30, 40)
    done = run("log", "dump", tmp_path, "-o", "json")
    assert done.exit_code == 1
    assert done.stdout.count('"timestampType":') == 40
    assert "out of order: offsets 20 to 29 are missing before 30" in done.stderr


@pytest.mark.parametrize("name", ENGINES)
def test_a_wrong_base_offset_does_not_hide_batches_after_other_damage(
    tmp_path: Path, name: str
) -> None:
    batches = [
        encode_batch([Record(10 * at + one, 5, b"k", b"v", ()) for one in range(10)])
        for at in range(20)
    ]
    batches[3] = (1 << 40).to_bytes(8) + batches[3][8:]
    batches[4] = batches[4][:-1] + b"\xff"
    path = tmp_path / "f.log"
    path.write_bytes(b"".join(batches))
    damage: list[Damage] = []
    with engine(name):
        found = offsets(path, BatchOrder(0, next_offset=0), damage)
    assert found == [at for at in range(200) if not 30 <= at < 50]
    assert len(damage) == 2


@pytest.mark.parametrize("name", ENGINES)
def test_the_largest_offsets_are_read(tmp_path: Path, name: str) -> None:
    base = (1 << 63) - 100
    path = tmp_path / f"{base:020}.log"
    path.write_bytes(encode_batch([Record(base, 5, b"k", b"v", ())]))
    assert base + MAX_RELATIVE_OFFSET > 1 << 63
    with engine(name):
        assert offsets(path, BatchOrder(base), None) == [base]


def large_batch() -> bytes:
    records = [Record(at, 5, b"", b"v", ()) for at in range(200_000)]
    return encode_batch(records, BatchSettings(codec=Compression.ZSTD))


@pytest.mark.slow
def test_a_large_batch_is_freed_without_the_garbage_collector() -> None:
    batch = decode_batch(large_batch())
    records = batch.records
    assert isinstance(records, LargeRecords)
    gone = weakref.ref(batch)
    gc.disable()
    try:
        del batch, records
        assert gone() is None
    finally:
        gc.enable()


@pytest.mark.slow
def test_a_raised_limit_allows_a_large_batch() -> None:
    batch = decode_batch(large_batch())
    assert len(RecordBudget(1 << 30).hold(batch)) == 200_000
    with pytest.raises(CorruptBatch, match="raise the limit of 1048576 bytes"):
        RecordBudget(1 << 20).hold(batch)


def test_a_directory_within_a_partition_is_not_another_log(tmp_path: Path) -> None:
    for directory in (tmp_path / "tea-0", tmp_path / "tea-0" / "old"):
        directory.mkdir()
        (directory / f"{0:020}.log").write_bytes(encode_batch([Record(0, 5, b"k", b"v", ())]))
    (partition,) = find_partitions([tmp_path / "tea-0"])
    assert [file.path.parent.name for file in partition.files] == ["tea-0"]
