"""Files of batches with everything that can happen to them."""

from __future__ import annotations

import time
import tracemalloc
from pathlib import Path

import pytest

from kraftwire.log import (
    Batch,
    BatchHeader,
    BytesSource,
    CorruptBatch,
    Damage,
    FileSource,
    Record,
    read_batches,
    scan_batches,
    scan_headers,
)
from kraftwire.log.batches.encoding import BatchSettings, encode_batch
from kraftwire.log.batches.header import HEADER
from kraftwire.log.segments.segment import DamageKind


def batch(offset: int, value: bytes = b"tea", *, count: int = 2, epoch: int = 3) -> bytes:
    records = [Record(offset + number, 1000, None, value, ()) for number in range(count)]
    return encode_batch(records, BatchSettings(partition_leader_epoch=epoch))


PARTS = [batch(10 * number, b"cup of tea" * number) for number in range(1, 6)]
WHOLE = b"".join(PARTS)
STARTS = [sum(map(len, PARTS[:number])) for number in range(len(PARTS))]


def scanned(data: bytes) -> list[Batch | Damage]:
    """All items, which must cover every byte, each once."""
    items = list(scan_batches(BytesSource(data)))
    position = 0
    for item in items:
        start, end = (
            (item.start, item.end)
            if isinstance(item, Damage)
            else (item.header.position, item.header.end)
        )
        assert start == position
        position = end
    assert position == len(data)
    return items


def offsets(items: list[Batch | Damage]) -> list[int]:
    return [item.base_offset for item in items if isinstance(item, Batch)]


def damages(items: list[Batch | Damage]) -> list[Damage]:
    return [item for item in items if isinstance(item, Damage)]


def test_a_sound_file_is_its_batches() -> None:
    items = scanned(WHOLE)
    assert offsets(items) == [10, 20, 30, 40, 50]
    assert b"".join(item.data for item in items if isinstance(item, Batch)) == WHOLE
    headers = list(scan_headers(BytesSource(WHOLE)))
    assert headers == [item.header for item in items if isinstance(item, Batch)]


def test_an_empty_file_holds_nothing() -> None:
    assert scanned(b"") == []


@pytest.mark.parametrize("cut", range(1, len(PARTS[-1]), 7))
def test_a_torn_tail_is_reported_and_what_comes_before_it_kept(cut: int) -> None:
    items = scanned(WHOLE[:-cut])
    (damage,) = damages(items)
    assert offsets(items) == [10, 20, 30, 40]
    assert (damage.start, damage.kind) == (STARTS[-1], DamageKind.TORN)
    with pytest.raises(CorruptBatch) as caught:
        list(read_batches(BytesSource(WHOLE[:-cut], "0.log")))
    assert (caught.value.file, caught.value.position) == ("0.log", STARTS[-1])


def test_the_header_of_a_torn_batch_names_its_offsets() -> None:
    (damage,) = damages(scanned(WHOLE[:-5]))
    assert damage.claimed is not None
    assert (damage.claimed.base_offset, damage.claimed.last_offset) == (50, 51)


@pytest.mark.parametrize("at", [70, 61, 30, 21, 17])
def test_a_flipped_byte_loses_only_its_batch(at: int) -> None:
    data = bytearray(WHOLE)
    data[STARTS[2] + at] ^= 0xFF
    items = scanned(bytes(data))
    (damage,) = damages(items)
    assert offsets(items) == [10, 20, 40, 50]
    assert (damage.start, damage.end) == (STARTS[2], STARTS[3])


@pytest.mark.parametrize("length", [0, 48, 49, 60, 1 << 20, (1 << 31) - 1, -1])
def test_a_flipped_length_loses_only_its_batch(length: int) -> None:
    at = STARTS[2] + 8
    data = WHOLE[:at] + length.to_bytes(4, signed=True) + WHOLE[at + 4 :]
    items = scanned(data)
    assert offsets(items) == [10, 20, 40, 50]
    assert [(found.start, found.end) for found in damages(items)] == [(STARTS[2], STARTS[3])]


@pytest.mark.parametrize("magic", [0, 1, 3, 127, 255])
def test_a_wrong_magic_loses_only_its_batch(magic: int) -> None:
    at = STARTS[2] + 16
    items = scanned(WHOLE[:at] + bytes([magic]) + WHOLE[at + 1 :])
    assert offsets(items) == [10, 20, 40, 50]


def test_zeros_at_the_end_are_reported_from_damage() -> None:
    """A file that was allocated in advance, or grown by a crash."""
    items = scanned(WHOLE + bytes(5000))
    (damage,) = damages(items)
    assert damage.kind is DamageKind.ZEROS
    assert offsets(items) == [10, 20, 30, 40, 50]
    assert [item.kind for item in damages(scanned(bytes(3_000_000)))] == [DamageKind.ZEROS]


def test_zeroed_bytes_lose_the_batches_that_they_cover() -> None:
    data = WHOLE[: STARTS[1] + 5] + bytes(STARTS[3] - STARTS[1] - 5) + WHOLE[STARTS[3] :]
    items = scanned(data)
    assert offsets(items) == [10, 40, 50]
    assert [(found.start, found.end) for found in damages(items)] == [(STARTS[1], STARTS[3])]


@pytest.mark.parametrize("junk", [b"x", b"\0", bytes(range(256)) * 40, WHOLE[30:90]])
def test_inserted_bytes_lose_no_batch(junk: bytes) -> None:
    items = scanned(WHOLE[: STARTS[2]] + junk + WHOLE[STARTS[2] :])
    assert offsets(items) == [10, 20, 30, 40, 50]
    assert [found.size for found in damages(items)] == [len(junk)]


def test_deleted_bytes_lose_their_batches() -> None:
    items = scanned(WHOLE[: STARTS[1] + 9] + WHOLE[STARTS[2] + 9 :])
    assert offsets(items)[0] == 10
    assert offsets(items)[-2:] == [40, 50]


def test_a_batch_within_a_damaged_records_value_is_not_taken_for_one_of_the_log() -> None:
    """A log of a log: the value is a batch of offsets that lie ahead, but of no leader."""
    inside = encode_batch(
        [Record(25, 0, None, b"mirrored", ())], BatchSettings(partition_leader_epoch=-1)
    )
    parts = [batch(10), batch(20, inside), batch(30)]
    data = bytearray(b"".join(parts))
    data[len(parts[0]) + 8 : len(parts[0]) + 12] = b"\0\0\0\x40"  # the length: search within
    assert offsets(scanned(bytes(data))) == [10, 30]


def test_a_batch_in_a_value_that_fits_the_log_is_reported_by_what_follows_it() -> None:
    """Of this log's own epoch, and further on: but behind it comes the rest of a record."""
    inside = encode_batch(
        [Record(1_000_000, 0, None, b"x", ())], BatchSettings(partition_leader_epoch=3)
    )
    parts = [batch(10), batch(20, inside + b"tail"), batch(30), batch(40)]
    data = bytearray(b"".join(parts))
    data[len(parts[0]) + 16] = 9  # the magic
    assert offsets(scanned(bytes(data))) == [10, 30, 40]


def test_a_batch_between_two_damages_is_found() -> None:
    data = bytearray(WHOLE)
    data[STARTS[1] + 16] = data[STARTS[3] + 16] = 9
    assert offsets(scanned(bytes(data))) == [10, 30, 50]


@pytest.mark.slow
def test_a_torn_start_before_zeros_is_searched_quickly() -> None:
    start = time.process_time()
    items = scanned(b"\x01" + bytes(20 << 20) + b"\x01")
    assert all(isinstance(item, Damage) for item in items)
    assert time.process_time() - start < 10


def test_descending_offsets_do_not_end_the_scan() -> None:
    """Whether they may is for fsck to say; the bytes are those of batches."""
    assert offsets(scanned(batch(50) + batch(10))) == [50, 10]


def test_a_header_scan_skips_damaged_payloads() -> None:
    data = bytearray(WHOLE)
    data[STARTS[2] + HEADER.size] ^= 1
    items = list(scan_headers(BytesSource(bytes(data))))
    assert all(isinstance(item, BatchHeader) for item in items)


def test_large_batches_are_read_across_windows() -> None:
    data = batch(0, bytes(3_000_000), count=1) + batch(5) + batch(10, bytes(70_000), count=1)
    assert offsets(scanned(data)) == [0, 5, 10]


def test_a_part_of_a_file_begins_and_ends_with_batches() -> None:
    source = BytesSource(WHOLE)
    headers = list(scan_headers(source, STARTS[1], STARTS[3]))
    assert [header.base_offset for header in headers if isinstance(header, BatchHeader)] == [20, 30]
    assert offsets(list(scan_batches(source, STARTS[1]))) == [20, 30, *offsets(scanned(WHOLE))[3:]]


def test_memory_is_that_of_one_window_whatever_the_file(tmp_path: Path) -> None:
    file = tmp_path / "00000000000000000000.log"
    piece = b"".join(batch(100 * n, bytes(range(200)) * 50, count=10) for n in range(1, 100))
    with file.open("wb") as out:
        for _ in range(12):
            out.write(piece)
    assert file.stat().st_size > 100 << 20
    with FileSource(file) as source:
        tracemalloc.start()
        count = sum(1 for _ in scan_batches(source))
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert count == 12 * 99
    assert most < 8 << 20


@pytest.mark.slow
def test_a_length_of_gigabytes_reserves_no_memory() -> None:
    head = bytearray(batch(7))
    head[8:12] = (50 << 20).to_bytes(4)
    data = bytes(head) + bytes(range(256)) * (230 << 10)  # what follows is long enough for it
    tracemalloc.start()
    items = list(scan_batches(BytesSource(data)))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert all(isinstance(item, Damage) for item in items)
    assert most < 16 << 20


def test_endless_false_starts_are_given_up() -> None:
    """Every byte looks like a header of a large batch: the work must not be the square."""
    header = HEADER.pack(1 << 40, 1 << 20, 0, 2, 0, 0, 0, 0, 0, -1, -1, -1, 1)
    data = header * 60_000
    start = time.process_time()
    items = list(scan_batches(BytesSource(data)))
    assert damages(items)
    assert time.process_time() - start < 60
