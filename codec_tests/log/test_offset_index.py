"""Offset indexes in memory, and the batches that they point to."""

from __future__ import annotations

import random
from bisect import bisect_right
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftwire.log import BytesSource, Record, find_partitions
from kraftwire.log.batches.encoding import encode_batch
from kraftwire.log.directories.file_names import FileKind
from kraftwire.log.queries.selection import batch_at, open_index, start_position
from kraftwire.log.small_files.indexes import (
    OffsetEntry,
    OffsetIndex,
    encode_offset_index,
    read_offset_index,
)
from kraftwire.log.writers.segment_writer import SegmentWriter

from codec_tests.stored_files import BROKER, CONTROLLER, stored_files

BASE = 1000


def batch(offset: int, count: int = 1, size: int = 50) -> bytes:
    return encode_batch([Record(offset + at, 0, None, bytes(size), ()) for at in range(count)])


@st.composite
def entries(draw: st.DrawFn) -> list[OffsetEntry]:
    """Entries as a broker appends them: offsets and positions ascend, the first may be (0, 0)."""
    steps = draw(st.lists(st.tuples(st.integers(1, 50), st.integers(1, 5000)), max_size=30))
    starts_at_zero = draw(st.booleans())
    offset, position = BASE, 0
    found = [OffsetEntry(offset, position)] if starts_at_zero else []
    for step, size in steps:
        offset, position = offset + step, position + size
        found.append(OffsetEntry(offset, position))
    return found


@given(entries(), st.integers(0, 40), st.integers(-5, 2000), st.integers(-5, 200_000))
def test_a_search_finds_the_last_entry_not_after_the_target(
    made: list[OffsetEntry], zeros: int, offset: int, position: int
) -> None:
    data = encode_offset_index(made, BASE) + bytes(8 * zeros)
    index = OffsetIndex(data, BASE)
    if made and made[-1].position:
        assert index.count == len(made) == len(list(read_offset_index(BytesSource(data), BASE)))
        by_offset = bisect_right([entry.offset for entry in made], BASE + offset)
        assert index.at_offset(BASE + offset) == (made[by_offset - 1] if by_offset else None)
        by_position = bisect_right([entry.position for entry in made], position)
        assert index.at_position(position) == (made[by_position - 1] if by_position else None)
    else:
        # Zeros alone read as the entry that every segment could have: its start.
        assert index.at_offset(BASE + 5) in (None, OffsetEntry(BASE, 0))
        assert index.at_position(10) in (None, OffsetEntry(BASE, 0))


@given(st.binary(max_size=200), st.integers(-(1 << 63), 1 << 63), st.integers(-9, 1 << 33))
def test_a_search_ends_for_any_bytes(data: bytes, offset: int, position: int) -> None:
    index = OffsetIndex(data, BASE)
    assert 0 <= index.count <= len(data) // 8
    for entry in (index.at_offset(offset), index.at_position(position)):
        assert entry is None or index.count


def test_the_indexes_of_a_real_kafka_point_to_batches() -> None:
    found = 0
    for file in stored_files(FileKind.OFFSET_INDEX):
        index = OffsetIndex(file.read(), file.base_offset)
        with file.open() as source:
            listed = list(read_offset_index(source, file.base_offset))
        assert index.count == len(listed)
        for entry in listed:
            found += 1
            assert index.at_offset(entry.offset) == index.at_position(entry.position) == entry
    assert found


def test_an_index_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    with SegmentWriter(tmp_path, 0) as writer:
        writer.append(batch(0))
    (partition,) = find_partitions([tmp_path])
    index = partition.beside(partition.segments[0], FileKind.OFFSET_INDEX)
    assert index is not None
    assert open_index(index) is not None
    assert open_index(None) is None
    index.path.unlink()
    assert open_index(index) is None
    with index.path.open("wb") as file:
        file.truncate((64 << 20) + 1)  # no index is as large; a sparse file costs nothing
    assert open_index(index) is None


def test_a_batch_is_found_only_at_its_complete_bytes() -> None:
    first, second = batch(0, 3), batch(3, 2)
    source = BytesSource(first + second)
    at = len(first)
    found = batch_at(source, at, 4)
    assert found is not None
    assert (found.base_offset, found.position, found.end) == (3, at, source.size)
    assert batch_at(source, 0, 0) is not None
    assert batch_at(source, at, 2) is None, "it begins behind the offset"
    for position in (-1, -at, 1, at - 1, at + 1, source.size - 61, source.size, 1 << 40):
        assert batch_at(source, position, 4) is None
    for flipped in range(21, len(second)):  # what the CRC covers
        damaged = bytearray(first + second)
        damaged[at + flipped] ^= 0x10
        assert batch_at(BytesSource(bytes(damaged)), at, 4) is None
    assert batch_at(BytesSource((first + second)[:-1]), at, 4) is None


def written(directory: Path) -> list[int]:
    """Writes a segment of 40 batches of three records; their positions."""
    rng = random.Random(5)
    with SegmentWriter(directory, 0, index_interval=400) as writer:
        return [writer.append(batch(3 * at, 3, rng.randrange(300))).position for at in range(40)]


@pytest.mark.parametrize("damage", ["none", "shifted", "noise", "negative"])
def test_reading_starts_at_a_batch_that_is_not_after_the_offset(
    tmp_path: Path, damage: str
) -> None:
    positions = written(tmp_path)
    (partition,) = find_partitions([tmp_path])
    (segment,) = partition.segments
    index = partition.beside(segment, FileKind.OFFSET_INDEX)
    assert index is not None
    good = index.read()
    match damage:
        case "shifted":
            listed = read_offset_index(BytesSource(good), 0)
            moved = (OffsetEntry(entry.offset, entry.position + 1) for entry in listed)
            index.path.write_bytes(encode_offset_index(moved, 0))
        case "noise":
            index.path.write_bytes(random.Random(1).randbytes(len(good)))
        case "negative":
            index.path.write_bytes(encode_offset_index([OffsetEntry(1, -7)], 0))
    used = 0
    with segment.open() as source:
        assert start_position(source, index, None) == 0
        for offset in range(121):
            start = start_position(source, index, offset)
            assert start in positions
            assert 3 * positions.index(start) <= offset
            used += start > 0
    assert (used > 60) == (damage == "none")


def test_no_index_means_from_the_start() -> None:
    for partition in find_partitions([BROKER, CONTROLLER]):
        for segment in partition.segments:
            with segment.open() as source:
                assert start_position(source, None, 50) == 0
