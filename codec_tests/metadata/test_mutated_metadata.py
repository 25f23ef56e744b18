"""Damaged metadata: reported, never a crash, whatever the bytes."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from kraftwire.log.errors import CorruptBatch
from kraftwire.metadata.entities.entity import entities
from kraftwire.metadata.errors import BadRecord, Unreachable
from kraftwire.metadata.history import History
from kraftwire.metadata.records.load import image_at
from kraftwire.metadata.records.source import find_metadata
from kraftwire_wire.errors import KraftwireError

from codec_tests.log.file_mutants import mutant
from codec_tests.metadata.metadata_logs import raw_batch, write_segment, write_snapshot
from codec_tests.stored_files import CONTROLLER, batches_of

LOG = find_metadata(CONTROLLER).segments[0].path
SNAPSHOT = find_metadata(CONTROLLER).snapshots[-1].path


def read_all(path: Path) -> list[KraftwireError]:
    """What is wrong with an image and a history, both of which can be printed."""
    problems: list[KraftwireError] = []
    try:
        assert list(entities(image_at(path, report=problems.append), secrets=True)) is not None
        if path.suffix != ".checkpoint":
            assert list(History(path, report=problems.append)) is not None
    except Unreachable as error:
        problems.append(error)
    return problems


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("file", [LOG, SNAPSHOT], ids=["log", "snapshot"])
def test_damaged_files_are_read_to_their_end(tmp_path: Path, file: Path, seed: int) -> None:
    copy = write_snapshot(tmp_path, 0, []).with_name(file.name)
    copy.write_bytes(mutant(file.read_bytes(), SNAPSHOT.read_bytes(), random.Random(seed)))
    for problem in read_all(copy):
        assert isinstance(problem, CorruptBatch | BadRecord | Unreachable)


@pytest.mark.parametrize("seed", range(10))
def test_damaged_records_in_good_batches_are_reported(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    values = [
        record.value or b""
        for batch in batches_of(LOG)
        if not batch.header.is_control
        for record in batch.records
    ]
    mutants = [mutant(value, values[0], rng) if rng.random() < 0.2 else value for value in values]
    log = write_segment(tmp_path, 0, raw_batch(0, mutants))
    problems = read_all(log)
    assert problems
    assert all(isinstance(problem, BadRecord) for problem in problems)
