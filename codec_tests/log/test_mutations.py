"""Thousands of damaged files of every kind: told, never a crash, never silent loss."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from kraftwire.cli.log.files import file_rows
from kraftwire.log import (
    Batch,
    BytesSource,
    CorruptBatch,
    Damage,
    Partition,
    find_partitions,
    scan_batches,
)
from kraftwire.log.directories.file_names import BATCH_FILES, FileKind
from kraftwire.log.directories.partition import LogFile
from kraftwire.log.fsck import Fsck
from kraftwire.log.queries.typed_records import decode_typed, kafka_json, log_of_topic
from kraftwire.log.salvage.partition import Salvage
from kraftwire_wire.errors import KraftwireError

from codec_tests.log.file_mutants import mutant
from codec_tests.stored_files import BROKER, CONTROLLER, stored_files

BATCHES = [file for file in stored_files(*BATCH_FILES) if file.path.stat().st_size]
OTHERS = [
    file
    for file in stored_files(*(set(FileKind) - BATCH_FILES - {FileKind.LOCK}))
    if file.path.stat().st_size
]
LIMIT = 1 << 20
LEFT_AS_THEY_ARE = ("record", "snapshot")
"""Salvage copies batches whose CRC matches, whatever is in them."""


def mutants(files: list[LogFile], count: int, seed: int) -> Iterator[tuple[LogFile, bytes]]:
    rng = random.Random(seed)
    contents = [file.path.read_bytes() for file in files]
    for _ in range(count):
        at = rng.randrange(len(files))
        yield files[at], mutant(contents[at], rng.choice(contents), rng)


def check_batches(file: LogFile, data: bytes) -> None:
    """Every byte is in a batch or a damage; what a batch holds is read or refused."""
    position = 0
    for item in scan_batches(BytesSource(data, file.path.name), limit=LIMIT):
        if isinstance(item, Damage):
            assert item.start == position < item.end
            position = item.end
            continue
        assert item.header.position == position
        position = item.header.end
        check_records(file, item)
    assert position == len(data)


def check_records(file: LogFile, batch: Batch) -> None:
    try:
        records = batch.records
    except CorruptBatch as error:
        assert error.position == batch.header.position
        return
    for record in records:
        try:
            typed = decode_typed(log_of_topic(file.topic), batch, record)
        except KraftwireError:
            continue
        if typed is not None:
            kafka_json(typed)


def check_rows(file: LogFile, data: bytes, directory: Path) -> None:
    path = directory / file.path.name
    path.write_bytes(data)
    try:
        list(file_rows(LogFile(path, file.name, file.partition)))
    except CorruptBatch as error:
        assert error.file == str(path)
        assert 0 <= error.position <= len(data)


@pytest.mark.slow
def test_damaged_files_of_batches_are_reported() -> None:
    for file, data in mutants(BATCHES, 3000, seed=1):
        check_batches(file, data)


@pytest.mark.slow
def test_damaged_files_of_every_other_kind_are_reported(tmp_path: Path) -> None:
    for file, data in mutants(OTHERS, 3000, seed=2):
        check_rows(file, data, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(100, 120))
def test_many_damaged_files_are_reported(seed: int, tmp_path: Path) -> None:
    for file, data in mutants(BATCHES, 5000, seed):
        check_batches(file, data)
    for file, data in mutants(OTHERS, 5000, seed):
        check_rows(file, data, tmp_path)


def check_partition(source: Path, seed: int, directory: Path) -> None:
    """Damage some files of a partition: fsck tells, and what is salvaged is clean."""
    rng = random.Random(seed)
    copy = directory / str(seed) / source.name
    shutil.copytree(source, copy)
    files = sorted(path for path in copy.iterdir() if path.stat().st_size)
    changed = False
    for path in rng.sample(files, min(2, len(files))):
        data = path.read_bytes()
        damaged = mutant(data, rng.choice(files).read_bytes(), rng)
        path.write_bytes(damaged)
        changed |= damaged != data
    (partition,) = find_partitions([copy])
    findings = list(Fsck(LIMIT).run([partition]))
    assert changed or not findings
    work = Salvage(partition, directory / str(seed) / "saved" / source.name)
    losses = list(work.run())
    (saved,) = find_partitions([directory / str(seed) / "saved" / source.name])
    after = [found for found in Fsck(LIMIT).run([saved]) if found.check not in LEFT_AS_THEY_ARE]
    holes = [found for found in after if found.reason.endswith("and this log has no gaps")]
    assert [found for found in after if found not in holes] == []
    lost_offsets = [loss for loss in losses if loss.first_offset is not None]
    assert len(holes) <= len(lost_offsets), "what is lost is missing from a metadata log"
    kept, before = _size(saved), _size(partition)
    lost = sum(loss.end - loss.start for loss in losses if loss.file.endswith(".log"))
    assert kept + lost == before


def _size(partition: Partition) -> int:
    return sum(file.path.stat().st_size for file in partition.segments)


@pytest.mark.slow
@pytest.mark.parametrize(
    "source",
    [
        *(BROKER / f"{name}-0" for name in ("tea", "orders", "codec-zstd", "temperatures")),
        BROKER / "__consumer_offsets-0",
        CONTROLLER / "__cluster_metadata-0",
    ],
    ids=lambda path: path.name,
)
def test_damaged_partitions_are_reported_and_salvaged(source: Path, tmp_path: Path) -> None:
    for seed in range(40):
        check_partition(source, seed, tmp_path)
