"""Which bytes a read goes over: splits tile segments, and what is outside is left alone."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftwire.log import Record
from kraftwire.log.batches.compression import Arena, Compression
from kraftwire.log.batches.encoding import BatchSettings, encode_batch
from kraftwire.log.small_files.indexes import OffsetEntry, encode_offset_index
from kraftwire_wire.errors import KraftwireError
from pyspark_kraftwire.planning.plan import MAX_SPLIT, MIN_SPLIT, pack_tasks, plan
from pyspark_kraftwire.split import Split

from codec_tests.log.file_mutants import mutant
from codec_tests.spark.reads import batch, offsets_of, options_of, records, write_segments
from codec_tests.stored_files import BROKER, batches_of


def splits_of(*paths: Path | str, **given: object) -> list[Split]:
    """All splits of a read, in their order."""
    return [split for task in plan(options_of(*paths, **given)) for split in task]


# -- splits tile segments ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two segments of 60 batches of 100 to 4,000 bytes, densely indexed."""
    chance = random.Random(7)
    directory = tmp_path_factory.mktemp("tiled") / "tea-0"
    batches = [batch(3 * at, 3, size=chance.randrange(1, 1200)) for at in range(120)]
    write_segments(directory, batches[:60], batches[60:], interval=500)
    return directory


def damaged_index(good: bytes, other: bytes, kind: str, seed: int) -> bytes | None:
    """An index as it can be found beside a segment; None for none."""
    chance = random.Random(seed)
    entries = len(good) // 8
    match kind:
        case "whole":
            return good
        case "none":
            return None
        case "empty":
            return b""
        case "cut":
            return good[: chance.randrange(len(good))]
        case "allocated":
            return good[: 8 * chance.randrange(entries)] + bytes(8 * 50)
        case "zeros":
            return bytes(len(good))
        case "of another file":
            return other
        case "shuffled":
            numbers = list(range(entries))
            chance.shuffle(numbers)
            return b"".join(good[8 * at : 8 * at + 8] for at in numbers)
        case "noise":
            return chance.randbytes(len(good))
        case _:
            return mutant(good, other, chance)


KINDS = ["whole", "none", "empty", "cut", "allocated", "zeros", "of another file"]
KINDS += ["shuffled", "noise", "mutant"]


@pytest.mark.slow
@given(
    size=st.integers(1, 150_000),
    kind=st.sampled_from(KINDS),
    seed=st.integers(0, 1 << 30),
    first=st.none() | st.integers(0, 200),
)
def test_splits_tile_every_segment(
    tiled: Path, size: int, kind: str, seed: int, first: int | None
) -> None:
    segments = sorted(tiled.glob("*.log"))
    indexes = [path.with_suffix(".index") for path in segments]
    goods = [path.read_bytes() for path in indexes]
    starts = {path: {one.header.position for one in batches_of(path)} for path in segments}
    try:
        made = damaged_index(goods[0], goods[1], kind, seed)
        indexes[0].unlink()
        if made is not None:
            indexes[0].write_bytes(made)
        more: dict[str, object] = {} if first is None else {"startingOffsets": first}
        splits = splits_of(tiled, maxSplitBytes=size, **more)
        found = offsets_of(tiled, maxSplitBytes=size, **more)
    finally:
        indexes[0].write_bytes(goods[0])
    assert found == list(range(first or 0, 360))
    for path in segments:
        parts = [split for split in splits if split.file.path == path]
        if first is None:
            assert parts[0].start == 0
        assert parts == [] or parts[-1].end == path.stat().st_size
        assert all(before.end == after.start for before, after in pairwise(parts))
        assert {part.start for part in parts} <= starts[path]


def test_splits_have_about_the_requested_size(tiled: Path) -> None:
    for has_index in (True, False):
        if not has_index:
            for path in tiled.glob("*.index"):
                path.rename(path.with_suffix(".hidden"))
        try:
            sizes = [split.size for split in splits_of(tiled, maxSplitBytes="20k")]
        finally:
            for path in tiled.glob("*.hidden"):
                path.rename(path.with_suffix(".index"))
        total = sum(path.stat().st_size for path in tiled.glob("*.log"))
        assert sum(sizes) == total
        assert len(sizes) >= total // (30 << 10)
        assert max(sizes) <= 40 << 10


def test_an_index_that_points_into_a_value_is_not_followed(tmp_path: Path) -> None:
    """Bytes there that look like a header, with a CRC that does not match."""
    fake = bytearray(batch(1, 1))
    fake[-1] ^= 1
    inner = [Record(0, 0, None, bytes(5000) + bytes(fake) + bytes(5000), ())]
    (path,) = write_segments(tmp_path / "tea-0", [encode_batch(inner), batch(1, 1), batch(2, 1)])
    at = path.read_bytes().index(bytes(fake))
    entries = [OffsetEntry(1, at), OffsetEntry(2, at + 1), OffsetEntry(2, -5)]
    path.with_suffix(".index").write_bytes(encode_offset_index(entries, 0))
    assert [split.start for split in splits_of(path, maxSplitBytes=at)] == [0]
    assert offsets_of(path, startingOffsets=1) == [1, 2]


def test_a_split_starts_at_a_complete_batch(tmp_path: Path) -> None:
    """Without an index too, where headers alone are looked at."""
    batches = [batch(10 + at, 1, size=1000) for at in range(12)]
    (path,) = write_segments(tmp_path / "tea-0", batches)
    path.with_suffix(".index").unlink()
    size = len(batches[0])
    whole = [split.start // size for split in splits_of(path, maxSplitBytes=3 * size)]
    assert whole == [0, 3, 6, 9]
    data = bytearray(path.read_bytes())
    data[3 * size + 100] ^= 1
    path.write_bytes(data)
    damaged = [split.start // size for split in splits_of(path, maxSplitBytes=3 * size)]
    assert damaged == [0, 4, 7, 10]


def test_splits_after_the_last_offset_are_not_planned(tiled: Path) -> None:
    every = splits_of(tiled, maxSplitBytes="10k")
    some = splits_of(tiled, maxSplitBytes="10k", endingOffsets=12)
    assert len(every) > 10
    assert [split.start for split in some] == [every[0].start]


def test_small_files_share_tasks_and_large_files_have_several(tiled: Path) -> None:
    assert [len(task) for task in plan(options_of(BROKER))] == [len(splits_of(BROKER))]
    tasks = plan(options_of(tiled, maxSplitBytes="10k"))
    assert len(tasks) > 8
    assert all(sum(split.size for split in task) <= 20 << 10 for task in tasks)
    some, *_ = splits_of(tiled)
    assert pack_tasks([], 10) == []
    assert [len(task) for task in pack_tasks([some] * 5, some.size * 2)] == [3, 2]
    assert MIN_SPLIT < MAX_SPLIT


def test_an_empty_segment_has_no_task(tmp_path: Path) -> None:
    write_segments(tmp_path / "tea-0", [batch(0, 2)])
    (tmp_path / "tea-0" / "00000000000000000002.log").touch()
    assert [split.start for split in splits_of(tmp_path / "tea-0")] == [0]
    (tmp_path / "tea-0" / "00000000000000000000.log").write_bytes(b"")
    assert plan(options_of(tmp_path / "tea-0")) == []


# -- offsets and times ---------------------------------------------------------------------------


def varied_log(directory: Path) -> list[Record]:
    """Three segments of batches of every kind; their records as they are to be read."""
    chance = random.Random(3)
    written: list[Record] = []
    segments: list[list[bytes]] = [[], [], []]
    offset = 0
    for number in range(45):
        count = chance.choice((1, 1, 3, 8))
        time = chance.randrange(0, 3000)
        made = [
            Record(offset + at, time + chance.randrange(300), b"k", b"v" * 30, ())
            for at in sorted(chance.sample(range(count + 3), count))
        ]
        settings = BatchSettings(
            codec=chance.choice(list(Compression)),
            log_append_time=chance.choice((None, None, time)),
            delete_horizon=chance.choice((None, None, 5)),
        )
        segments[number // 15].append(encode_batch(made, settings))
        if settings.log_append_time is not None:
            made = [one._replace(timestamp=time) for one in made]
        written += made
        offset = made[-1].offset + 1 + chance.choice((0, 0, 4))
    write_segments(directory, *segments, interval=200)
    return written


@pytest.fixture(scope="module")
def varied(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Record]]:
    directory = tmp_path_factory.mktemp("varied") / "tea-0"
    return directory, varied_log(directory)


BOUND = st.none() | st.integers(0, 300)
TIME = st.none() | st.integers(-10, 3400)


@given(start=BOUND, stop=BOUND, since=TIME, until=TIME, size=st.sampled_from([500, 1 << 20]))
def test_ranges_equal_filtering_all_records(
    varied: tuple[Path, list[Record]],
    start: int | None,
    stop: int | None,
    since: int | None,
    until: int | None,
    size: int,
) -> None:
    directory, written = varied
    texts = {
        "startingOffsets": start,
        "endingOffsets": stop,
        "startingTimestamp": since,
        "endingTimestamp": until,
    }
    given = {name: value for name, value in texts.items() if value is not None}
    assert offsets_of(directory, maxSplitBytes=size, **given) == [
        one.offset
        for one in written
        if (start is None or one.offset >= start)
        and (stop is None or one.offset < stop)
        and (since is None or one.timestamp >= since)
        and (until is None or one.timestamp < until)
    ]


def test_offsets_of_some_partitions_do_not_affect_others(tmp_path: Path) -> None:
    for name in ("tea-0", "tea-1", "a.b-c-0"):
        write_segments(tmp_path / name, [batch(0, 10)])
    given = {
        "startingOffsets": '{"tea": {"1": 8}, "a.b-c": {"0": -2}}',
        "endingOffsets": '{"a.b-c": {"0": 3}, "tea": {"1": -1}}',
    }
    assert offsets_of(tmp_path, **given) == [*range(3), *range(10), 8, 9]


@pytest.mark.parametrize(
    "given",
    [
        {"startingOffsets": "latest"},
        {"endingOffsets": "earliest"},
        {"startingOffsets": '{"tea": {"0": -1}}'},
    ],
)
def test_bounds_that_leave_nothing_are_an_error(tmp_path: Path, given: dict[str, str]) -> None:
    write_segments(tmp_path / "tea-0", [batch(0, 1)])
    with pytest.raises(KraftwireError, match="leaves nothing to read"):
        plan(options_of(tmp_path, **given))


# -- what is outside is left alone ---------------------------------------------------------------


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three segments of four batches, ten records and 100 ms each; all are compressed."""
    directory = tmp_path_factory.mktemp("packed") / "tea-0"
    settings = BatchSettings(codec=Compression.LZ4)
    batches = [batch(10 * at, 10, settings, time=100 * at, step=10) for at in range(12)]
    write_segments(directory, batches[:4], batches[4:8], batches[8:], interval=50)
    return directory


def decompressions(read: Callable[[], Any]) -> int:
    """How many batches a read decompresses."""
    count = 0
    real = Arena.decompress

    def counted(self: Arena, *arguments: Any) -> Any:
        nonlocal count
        count += 1
        return real(self, *arguments)

    with patch.object(Arena, "decompress", counted):
        read()
    return count


@pytest.mark.parametrize(
    ("given", "expected", "files"),
    [
        ({}, 12, 3),
        ({"startingOffsets": 40}, 8, 2),
        ({"startingOffsets": 59, "endingOffsets": 60}, 1, 1),
        ({"startingOffsets": 59, "endingOffsets": 61}, 2, 1),
        ({"endingOffsets": 0}, 0, 0),
        ({"startingOffsets": 1000}, 0, 1),
        ({"startingTimestamp": 800}, 4, 1),
        ({"startingTimestamp": 890, "endingOffsets": 101}, 3, 1),
        ({"startingTimestamp": 5000}, 0, 1),
    ],
)
def test_batches_outside_the_range_are_not_decompressed(
    packed: Path, given: dict[str, Any], expected: int, files: int
) -> None:
    assert len({split.file.path for split in splits_of(packed, **given)}) == files
    assert decompressions(lambda: offsets_of(packed, **given)) == expected


@pytest.mark.parametrize("append_time", [True, False])
def test_batches_that_are_too_late_by_their_header_are_not_decompressed(
    tmp_path: Path, append_time: bool
) -> None:
    """The largest timestamp is that of all records, or of the only one."""
    count = 10 if append_time else 1
    batches = [
        encode_batch(
            records(10 * at, count, time=100 * at),
            BatchSettings(Compression.LZ4, log_append_time=100 * at if append_time else None),
        )
        for at in range(6)
    ]
    write_segments(tmp_path / "tea-0", batches)
    assert decompressions(lambda: offsets_of(tmp_path / "tea-0", endingTimestamp=300)) == 3
    found = offsets_of(tmp_path / "tea-0", endingTimestamp=300)
    assert found == [10 * at + number for at in range(3) for number in range(count)]


@pytest.mark.parametrize("content", [b"", bytes(12), bytes(13), b"\xff" * 12, bytes(24)])
def test_a_useless_time_index_excludes_no_segment(tmp_path: Path, content: bytes) -> None:
    directory = tmp_path / "tea-0"
    write_segments(directory, [batch(0, 5, time=500)], [batch(5, 5, time=900)])
    (directory / "00000000000000000000.timeindex").write_bytes(content)
    assert offsets_of(directory, startingTimestamp=502) == [2, 3, 4, 5, 6, 7, 8, 9]
    (directory / "00000000000000000000.timeindex").unlink()
    assert offsets_of(directory, startingTimestamp=502) == [2, 3, 4, 5, 6, 7, 8, 9]
