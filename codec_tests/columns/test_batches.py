"""Record batches to columns: what the record readers say, and both engines the same."""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kraftwire.columns import DEFAULT_COLUMNS, decode_batches, record_schema
from kraftwire.log import (
    BytesSource,
    CorruptBatch,
    FileSource,
    Record,
    find_partitions,
    read_batches,
)
from kraftwire.log.batches.compression import Compression
from kraftwire.log.batches.encoding import BatchSettings, encode_batch
from kraftwire.log.directories.file_names import BATCH_FILES
from kraftwire.log.queries.selection import Selection
from kraftwire.log.queries.transactions import find_transactions
from kraftwire.log.segments.segment import DamageKind
from kraftwire_wire.errors import KraftwireError

from codec_tests.columns.engines import (
    ALL,
    ENGINES,
    batches_alike,
    engine,
    read_batches_by,
    row_of,
    rows_of_table,
)
from codec_tests.columns.sequences import batches_near_the_limits
from codec_tests.log.file_mutants import damaged_with_crc, mutant, with_crc
from codec_tests.stored_files import BROKER, batches_of, segment_of, stored_files

FILES = [file.path for file in stored_files(*BATCH_FILES) if file.path.stat().st_size]


def batch(first: int, count: int, size: int = 10, **settings: Any) -> bytes:
    """A batch whose records tell their offsets."""
    records = [
        Record(first + at, 1000 + first + at, b"k%d" % at, bytes(size), (("h", None),))
        for at in range(count)
    ]
    return encode_batch(records, BatchSettings(**settings))


def log_of(*sizes: int) -> bytes:
    """Batches of one record each with values of these sizes."""
    return b"".join(batch(first, 1, size) for first, size in enumerate(sizes))


def offsets(table: pa.Table) -> list[int]:
    found: list[int] = table["offset"].to_pylist()
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.name}")
@pytest.mark.parametrize("control", [True, False])
def test_columns_equal_the_records_of_a_real_kafka(path: Path, control: bool) -> None:
    found = batches_alike(path.read_bytes(), control=control)
    wanted = [one for one in batches_of(path) if control or not one.header.is_control]
    assert rows_of_table(found.table) == [
        row_of(one, record) for one in wanted for record in one.records
    ]
    assert found.damage == []


@pytest.mark.parametrize("columns", [(), ("offset",), ("value", "key"), DEFAULT_COLUMNS])
def test_only_requested_columns_are_read(columns: tuple[str, ...]) -> None:
    data = segment_of("orders").read_bytes()
    everything = read_batches_by("python", data).table
    found = batches_alike(data, columns).table
    assert found.schema == record_schema(columns)
    assert found.num_rows == everything.num_rows
    assert found.equals(everything.select(list(columns))) or not columns


def test_unknown_columns_are_refused() -> None:
    with pytest.raises(KraftwireError, match="no column 'colour'; there are key, value"):
        record_schema(["colour"])
    with pytest.raises(KraftwireError, match="a column is requested twice: key, key"):
        record_schema(["key", "key"])


# -- pieces and chunks -----------------------------------------------------------------------


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every few batches meet the edge of a piece."""
    monkeypatch.setattr("kraftwire.columns.batches.PIECE", 700)


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("path", FILES[::3], ids=lambda path: f"{path.parent.name}-{path.name}")
def test_batches_are_read_across_pieces(path: Path) -> None:
    whole = read_batches_by("python", path.read_bytes(), control=True)
    assert batches_alike(path.read_bytes(), control=True) == whole


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("codec", list(Compression))
def test_batches_larger_than_a_piece_are_read(codec: Compression) -> None:
    data = batch(0, 3) + batch(3, 20, 300, codec=codec) + batch(23, 2)
    assert offsets(batches_alike(data).table) == list(range(25))


@pytest.mark.parametrize("name", ENGINES)
def test_chunks_have_the_requested_size(name: str) -> None:
    data = b"".join(batch(first * 10, 10, 100) for first in range(100))
    with engine(name):
        chunks = list(decode_batches(data, chunk=10_000))
    assert len(chunks) > 5
    assert all(chunk.nbytes < 25_000 for chunk in chunks)
    assert sum(chunk.num_rows for chunk in chunks) == 1000


@pytest.mark.parametrize("name", ENGINES)
def test_a_chunk_outlives_the_reading(name: str, tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(b"".join(batch(first * 10, 10, 1000) for first in range(200)))
    with engine(name), FileSource(path) as source:
        reading = decode_batches(source, chunk=50_000)
        first = next(reading)
        kept = first.to_pylist()
        rest = list(reading)
    del reading
    assert first.to_pylist() == kept
    assert rest[-1].column("offset")[-1].as_py() == 1999


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_bytes_in_memory_are_read(kind: Any) -> None:
    chunks = list(decode_batches(kind(batch(0, 3)), ["offset"]))
    assert [chunk["offset"].to_pylist() for chunk in chunks] == [[0, 1, 2]]


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"chunk": 0}, "chunk=0"),
        ({"start": -1}, "start=-1"),
        (
            {"source": "/some/file"},
            r"open the file first: kraftwire.log.FileSource\('/some/file'\)",
        ),
    ],
)
def test_wrong_arguments_are_refused(wrong: dict[str, Any], reason: str) -> None:
    with pytest.raises(KraftwireError, match=reason):
        decode_batches(**{"source": b"", **wrong})


def test_a_growing_file_is_read_to_its_first_end(tmp_path: Path) -> None:
    data = b"".join(batch(first * 10, 10, 1000) for first in range(100))
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(data[: len(data) * 2 // 3])
    found = []
    for name in ENGINES:
        path.write_bytes(data[: len(data) * 2 // 3])
        damage: list[Any] = []
        with engine(name), FileSource(path) as source:
            with path.open("ab") as more:
                more.write(data[len(data) * 2 // 3 :])
            rows = sum(chunk.num_rows for chunk in decode_batches(source, on_damage=damage.append))
        found.append((rows, [one.kind for one in damage]))
    assert found == [(660, [DamageKind.TORN])] * len(ENGINES)


def odd_key(offset: int) -> bytes:
    """A batch that is left to the twin."""
    key = b"\xff".decode(errors="surrogateescape")
    return encode_batch([Record(offset, 0, None, b"", ((key, None),))])


def test_changes_of_engine_make_few_chunks() -> None:
    data = b"".join(batch(at, 1) + odd_key(at + 1) for at in range(0, 2000, 2))
    assert offsets(batches_alike(data).table) == list(range(2000))
    with engine(ENGINES[-1]):
        assert len(list(decode_batches(data))) < 150


@pytest.mark.parametrize("name", ENGINES)
def test_chunks_of_the_python_engine_are_not_larger(name: str) -> None:
    key = b"\xff".decode(errors="surrogateescape")
    value = Record(0, 0, None, bytes(500_000), ((key, None),))
    settings = BatchSettings(codec=Compression.ZSTD)
    data = b"".join(encode_batch([value._replace(offset=at)], settings) for at in range(40))
    with engine(name):
        chunks = list(decode_batches(data, ["value"]))
    assert max(chunk.nbytes for chunk in chunks) < 4_000_000


def test_a_part_of_a_file_is_read() -> None:
    data = log_of(*[10] * 20)
    size = len(data) // 20
    for start, end in ((0, 1), (size, 5 * size), (size, 5 * size + 1), (19 * size, None)):
        stop = len(data) if end is None else end
        expected = range(start // size, -(-stop // size))
        assert offsets(batches_alike(data, start=start, end=end).table) == list(expected)
    assert offsets(batches_alike(data, start=len(data)).table) == []
    assert offsets(batches_alike(b"").table) == []


# -- selections ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "selection",
    [
        Selection(from_offset=15),
        Selection(to_offset=15),
        Selection(from_offset=7, to_offset=8),
        Selection(since=1011, until=1023),
        Selection(from_offset=-5, to_offset=1 << 70),
        Selection(from_offset=99),
        Selection(until=-(1 << 70)),
        Selection(to_offset=1 << 63, until=1 << 63),
        Selection(from_offset=1 << 63),
        Selection(since=1 << 63),
        Selection(since=-(1 << 63), until=-(1 << 63)),
        Selection(from_offset=9, to_offset=9),
    ],
)
def test_selections_equal_filtering_all_rows(selection: Selection) -> None:
    top, least = 2**63 - 1, -(2**63)
    data = b"".join(batch(first, 10) for first in range(0, 40, 10))
    for offset, timestamp in ((top - 1, least), (top, top)):
        data += encode_batch([Record(offset, timestamp, None, None, ())])
    wanted = [
        record.offset
        for one in read_batches(BytesSource(data))
        for record in one.records
        if selection.has(record)
    ]
    assert offsets(batches_alike(data, selection=selection).table) == wanted


@pytest.mark.parametrize("append_time", [True, False])
def test_batches_that_are_too_late_by_their_header_are_not_decompressed(append_time: bool) -> None:
    count = 5 if append_time else 1
    data = bytearray(batch(0, count) + batch(10, count, codec=Compression.LZ4))
    settings = BatchSettings(Compression.LZ4, log_append_time=2000 if append_time else None)
    records = [Record(20 + at, 2000, None, bytes(50), ()) for at in range(count)]
    late = bytearray(encode_batch(records, settings))
    late[61:] = bytes(len(late) - 61)  # nothing of it decompresses
    data += with_crc(late)
    found = batches_alike(bytes(data), raises=True, selection=Selection(until=1500))
    assert (len(found.table), found.error) == (2 * count, None)
    assert batches_alike(bytes(data), raises=True).error is not None


def test_a_selection_stops_before_later_damage() -> None:
    data = batch(0, 10) + batch(10, 10) + b"damage" * 30
    found = batches_alike(data, selection=Selection(to_offset=10))
    assert (offsets(found.table), found.damage) == (list(range(10)), [])


@pytest.mark.parametrize("topic", ["orders", "tea", "__transaction_state"])
@pytest.mark.parametrize("control", [True, False])
def test_read_committed_skips_aborted_records(topic: str, control: bool) -> None:
    (partition,) = find_partitions([BROKER / f"{topic}-0"])
    transactions = find_transactions(partition.segments)
    for segment in partition.segments:
        visible = [
            record.offset
            for one in batches_of(segment.path)
            if transactions.is_visible(one.header)
            for record in one.records
        ]
        found = batches_alike(
            segment.path.read_bytes(),
            selection=Selection(committed=transactions),
            control=control,
        )
        assert offsets(found.table) == visible


# -- what is not as usual --------------------------------------------------------------------


def test_old_formats_are_read_between_new_ones() -> None:
    old = bytes.fromhex(
        # offset 5, size 17, CRC, magic 0, no codec, null key, 3 bytes
        "0000000000000005"
        "00000011"
        "00000000"
        "0000"
        "ffffffff"
        "00000003"
        "616263"
    )
    old = old[:12] + zlib.crc32(old[16:]).to_bytes(4, "big") + old[16:]
    table = batches_alike(batch(0, 5) + old + batch(6, 5)).table
    assert offsets(table) == list(range(11))
    assert table["timestamp_type"].to_pylist() == [0] * 5 + [-1] + [0] * 5
    assert table["value"][5].as_py() == b"abc"


def test_header_keys_that_are_not_utf8_are_replaced_alike() -> None:
    key = b"\xff\xfeok".decode(errors="surrogateescape")
    data = encode_batch([Record(1, 0, None, None, ((key, b"v"), ("größe", None)))])
    table = batches_alike(batch(0, 1) + data).table
    assert table["headers"][1].as_py() == [
        {"key": "\ufffd\ufffdok", "value": b"v"},
        {"key": "größe", "value": None},
    ]


def test_timestamps_beyond_64_bits_are_damage() -> None:
    data = bytearray(batch(0, 2))
    data[27:35] = (2**63 - 1).to_bytes(8, "big")
    found = batches_alike(with_crc(data) + batch(2, 1))
    assert offsets(found.table) == [2]
    assert "exceeds 64 bits" in found.damage[0].reason


@pytest.mark.parametrize("count", [0, 1, 2, 4, 1000, 2**31 - 1])
def test_wrong_record_counts_are_damage(count: int) -> None:
    data = bytearray(batch(0, 3))
    data[57:61] = count.to_bytes(4, "big")
    found = batches_alike(batch(0, 1) + with_crc(data) + batch(3, 1))
    assert offsets(found.table) == [0, 3]
    assert len(found.damage) == 1


def test_a_bomb_is_damage() -> None:
    data = batch(0, 1) + batch(1, 10, 100_000, codec=Compression.ZSTD) + batch(11, 1)
    found = batches_alike(data, limit=50_000)
    assert offsets(found.table) == [0, 11]
    assert "limit of 50000 bytes" in found.damage[0].reason


@pytest.mark.parametrize("name", ENGINES)
def test_damage_ends_the_read_unless_it_is_reported(name: str) -> None:
    data = batch(0, 2) + b"\x00" * 5 + batch(2, 2)
    with engine(name):
        reading = decode_batches(BytesSource(data, "the file"), chunk=1)
        assert next(reading).num_rows == 2
        with pytest.raises(CorruptBatch, match=r"the file, byte \d+: "):
            list(reading)


@pytest.mark.parametrize("size", [10, 3 << 20], ids=["within a piece", "larger than a window"])
def test_crcs_are_not_checked_if_disabled(size: int) -> None:
    data = bytearray(batch(0, 1, 10) + batch(1, 1, size) + batch(2, 1, 10))
    data[-size // 2 - 90] ^= 1  # within a value
    found = batches_alike(bytes(data), raises=True)
    assert (found.table.num_rows, "CRC does not match" in str(found.error)) == (1, True)
    found = batches_alike(bytes(data), raises=True, verify_crc=False)
    assert (found.table["offset"].to_pylist(), found.error) == ([0, 1, 2], None)
    assert sum(b"\1" in value for value in found.table["value"].to_pylist()) == 1


# -- damaged files ---------------------------------------------------------------------------


def damaged(count: int, seed: int) -> Iterator[bytes]:
    chance = random.Random(seed)
    contents = [path.read_bytes() for path in FILES]
    for _ in range(count):
        yield mutant(chance.choice(contents), chance.choice(contents), chance)


def test_sequence_numbers_restart_at_zero() -> None:
    for data, numbers in batches_near_the_limits():
        table = batches_alike(data).table
        assert table["sequence"].to_pylist() == numbers


LIMIT = 1 << 20


def test_engines_read_damaged_files_alike() -> None:
    for data in damaged(600, seed=3):
        batches_alike(data, control=True, limit=LIMIT)


@pytest.mark.usefixtures("small_pieces")
def test_engines_read_damaged_files_alike_in_small_pieces() -> None:
    for data in damaged(300, seed=4):
        batches_alike(data, limit=LIMIT, chunk=2000)


@pytest.mark.slow
def test_engines_read_damaged_records_with_valid_crcs_alike() -> None:
    chance = random.Random(5)
    for path in FILES * 8:
        batches_alike(damaged_with_crc(path.read_bytes(), chance), control=True, limit=LIMIT)


def test_engines_raise_the_first_damage_alike() -> None:
    for data in damaged(100, seed=6):
        batches_alike(data, ALL, raises=True, limit=LIMIT)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(200, 220))
def test_engines_read_many_damaged_files_alike(seed: int) -> None:
    chance = random.Random(seed)
    for data in damaged(2000, seed):
        batches_alike(data, control=True, limit=LIMIT)
    for path in FILES * 20:
        batches_alike(damaged_with_crc(path.read_bytes(), chance), control=True, limit=LIMIT)
