"""Indexes have no checksum: whatever they say, no record is left out and none comes twice."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from kraftwire.log.small_files.indexes import OFFSET_ENTRY, TIME_ENTRY
from pyspark_kraftwire.planning.plan import plan
from pyspark_kraftwire.streaming.progress import Progress

from codec_tests.cli.running import done
from codec_tests.spark.reads import batch, offsets_of, options_of, planned, table_of, write_segments

BASES = (0, 40, 80)
"""The first offsets of segments with 8 batches of 5 records each, at the time of their offset."""


@pytest.fixture
def tea(tmp_path: Path) -> Path:
    for base in BASES:
        batches = [batch(at, 5, time=at) for at in range(base, base + 40, 5)]
        write_segments(tmp_path / "tea-0", batches, interval=1)
    return tmp_path / "tea-0"


def no_entries(rng: random.Random, data: bytes, entry: int) -> bytes:
    return bytes(rng.randrange(9) * entry)


def first_entries(rng: random.Random, data: bytes, entry: int) -> bytes:
    """As a crash leaves it: later entries are not there, or zeros."""
    kept = data[: rng.randrange(len(data) // entry + 1) * entry]
    return kept + bytes(rng.randrange(3) * entry)


def flipped(rng: random.Random, data: bytes, entry: int) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.randrange(1, 4)):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def noise(rng: random.Random, data: bytes, entry: int) -> bytes:
    return rng.randbytes(rng.randrange(100))


def believable(rng: random.Random, data: bytes, entry: int) -> bytes:
    """Entries that go up, with numbers that the segment has."""
    if entry == TIME_ENTRY.size:
        times = sorted(rng.sample(range(130), rng.randrange(1, 6)))
        offsets = sorted(rng.sample(range(40), len(times)))
        return b"".join(map(TIME_ENTRY.pack, times, offsets))
    positions = [OFFSET_ENTRY.unpack_from(data, at)[1] for at in range(0, len(data), entry)]
    chosen = sorted(rng.sample(positions, min(len(positions), rng.randrange(1, 6))))
    offsets = sorted(rng.sample(range(60), len(chosen)))
    return b"".join(map(OFFSET_ENTRY.pack, offsets, chosen))


LIES = [no_entries, first_entries, flipped, noise, believable]


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.__name__)
@pytest.mark.parametrize(("suffix", "entry"), [("timeindex", 12), ("index", 8)])
def test_a_wrong_index_loses_no_records(
    tea: Path, suffix: str, entry: int, lie: Callable[[random.Random, bytes, int], bytes]
) -> None:
    rng = random.Random(f"{lie.__name__} {suffix}")
    indexes = sorted(tea.glob(f"*.{suffix}"))
    honest = [path.read_bytes() for path in indexes]
    for _ in range(60):
        for path, data in zip(indexes, honest, strict=True):
            path.write_bytes(lie(rng, data, entry) if rng.random() < 0.7 else data)
        since, first = rng.randrange(130), rng.randrange(130)
        by_time, by_offset = {"startingTimestamp": since}, {"startingOffsets": first}
        assert offsets_of(tea, **by_time) == list(range(since, 120))
        assert offsets_of(tea, **by_offset) == list(range(first, 120))
        both = offsets_of(tea, maxSplitBytes=300, **by_time, **by_offset)
        assert both == list(range(max(since, first), 120))
        printed = done("log", "dump", str(tea), "--from-offset", str(first), "-o", "json").stdout
        assert len(printed.splitlines()) == max(120 - first, 0)


def test_a_stream_is_not_misled_by_a_time_index(tea: Path) -> None:
    for path in tea.glob("*.timeindex"):
        path.write_bytes(TIME_ENTRY.pack(1, 0))
    reading, _ = planned(tea, startingTimestamp=50)
    progress = Progress(options_of(tea, startingTimestamp=50))
    end = progress.latest(None, limited=False)
    table = table_of(reading, progress.plan(None, end))
    assert table["offset"].to_pylist() == list(range(50, 120))


def test_older_segments_have_no_tasks(tea: Path) -> None:
    """The headers confirm what an honest index says."""
    tasks = plan(options_of(tea, startingTimestamp=90))
    assert [split.file.base_offset for task in tasks for split in task] == [80]
    for path in tea.glob("*.timeindex"):
        path.unlink()
    tasks = plan(options_of(tea, startingTimestamp=90))
    assert [split.file.base_offset for task in tasks for split in task] == list(BASES)


def test_a_damaged_segment_is_never_skipped_as_older(tea: Path) -> None:
    path = tea / "00000000000000000000.log"
    data = bytearray(path.read_bytes())
    data[10] ^= 0x40
    path.write_bytes(data)
    tasks = plan(options_of(tea, startingTimestamp=90))
    assert [split.file.base_offset for task in tasks for split in task] == [0, 80]
