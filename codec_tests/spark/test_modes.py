"""What becomes of bytes that cannot be read, in each mode."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from kraftwire.log import BytesSource, CorruptBatch, Damage, Record, find_partitions, scan_batches
from kraftwire.log.batches.compression import Compression, compress
from kraftwire.log.batches.encoding import BatchSettings, encode_batch
from kraftwire.log.segments.batch_order import in_order
from kraftwire.log.segments.segment import DamageKind
from kraftwire_messages.kafka import TopicRecord
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.records import encode_metadata_record
from pyspark_kraftwire.decoding.split_reader import MAX_CORRUPT_BYTES

from codec_tests.log.file_mutants import mutant
from codec_tests.log.legacy_messages import message
from codec_tests.spark.reads import Row, batch, offsets_of, read_rows, write_segments
from codec_tests.stored_files import BROKER, segment_of

spark_group = pytest.mark.xdist_group("spark")

PERMISSIVE: dict[str, Any] = {"mode": "PERMISSIVE", "includeBatch": True}


class Told(NamedTuple):
    """What a file holds: the offsets of good records, and the regions that cannot be read."""

    offsets: list[int]
    regions: list[tuple[int, int]]


def told_of(data: bytes, path: Path, *, is_tail: bool = True) -> Told:
    """As `scan_batches` has it, in order; zeros at the end of a partition are no damage."""
    (partition,) = find_partitions([path])
    order = partition.order(partition.segments[0])
    offsets: list[int] = []
    regions = []
    for item in in_order(scan_batches(BytesSource(data)), order):
        if isinstance(item, Damage):
            if item.kind is not DamageKind.ZEROS or not is_tail:
                regions.append((item.start, item.end))
            continue
        try:
            made = [record.offset for record in item.records]
        except CorruptBatch:
            regions.append((item.header.position, item.header.end))
            continue
        if not item.header.is_control:
            offsets += made
    return Told(offsets, regions)


def permissive(path: Path, **given: Any) -> tuple[list[Row], list[Row]]:
    """Good rows, and what is said of others, in their order in the file."""
    rows = read_rows(path, **{**PERMISSIVE, **given})
    good = [row for row in rows if row["_corrupt_record"] is None]
    bad = [row["_corrupt_record"] for row in rows if row["_corrupt_record"] is not None]
    return good, sorted(bad, key=lambda one: one["position"])


def check(path: Path, **given: Any) -> Told:
    """Each mode does with a file as `scan_batches` tells."""
    data = path.read_bytes()
    told = told_of(data, path)
    good, bad = permissive(path, **given)
    assert [row["offset"] for row in good] == told.offsets
    assert [(one["position"], one["position"] + len(one["bytes"])) for one in bad] == told.regions
    for one in bad:
        assert one["file"] == str(path)
        assert one["bytes"] == data[one["position"] :][: len(one["bytes"])]
        assert one["reason"]
    assert offsets_of(path, mode="DROPMALFORMED", **given) == told.offsets
    if told.regions:
        with pytest.raises(KraftwireError) as caught:
            offsets_of(path, **given)
        start = told.regions[0][0]
        assert f"{path}, byte {start}: " in str(caught.value)
        assert "mode=PERMISSIVE shows it in a row" in str(caught.value)
        assert "mode=DROPMALFORMED leaves it out" in str(caught.value)
    else:
        assert offsets_of(path, **given) == told.offsets
    return told


# -- damage of every kind ------------------------------------------------------------------------


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0x40]) + data[at + 1 :]


THREE = batch(0, 3), batch(3, 3, BatchSettings(codec=Compression.LZ4)), batch(6, 3)
SECOND = len(THREE[0])
THIRD = SECOND + len(THREE[1])

DAMAGES: dict[str, tuple[Callable[[bytes], bytes], list[int]]] = {
    "a payload": (lambda data: flipped(data, SECOND + 70), [0, 1, 2, 6, 7, 8]),
    "a CRC": (lambda data: flipped(data, SECOND + 18), [0, 1, 2, 6, 7, 8]),
    "a length": (lambda data: flipped(data, SECOND + 10), [0, 1, 2, 6, 7, 8]),
    "a magic": (lambda data: flipped(data, SECOND + 16), [0, 1, 2, 6, 7, 8]),
    "the first batch": (lambda data: flipped(data, 80), [3, 4, 5, 6, 7, 8]),
    "the last batch": (lambda data: flipped(data, THIRD + 70), [0, 1, 2, 3, 4, 5]),
    "a torn payload": (lambda data: data[: THIRD + 70], [0, 1, 2, 3, 4, 5]),
    "a torn header": (lambda data: data[: THIRD + 20], [0, 1, 2, 3, 4, 5]),
    "one byte more": (lambda data: data + b"\x01", list(range(9))),
    "a batch of zeros": (
        lambda data: data[:SECOND] + bytes(THIRD - SECOND) + data[THIRD:],
        [0, 1, 2, 6, 7, 8],
    ),
    "noise between": (
        lambda data: data[:SECOND] + b"noise" * 30 + data[SECOND:],
        list(range(9)),
    ),
    "nothing but noise": (lambda data: b"noise" * 30, []),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_each_mode_handles_damage(tmp_path: Path, name: str) -> None:
    damage, offsets = DAMAGES[name]
    (path,) = write_segments(tmp_path / "tea-0", THREE)
    path.write_bytes(damage(path.read_bytes()))
    told = check(path)
    assert (told.offsets, len(told.regions)) == (offsets, 1)


def test_zeros_at_the_end_of_a_partition_are_not_damage(tmp_path: Path) -> None:
    (path,) = write_segments(tmp_path / "tea-0", THREE)
    path.write_bytes(path.read_bytes() + bytes(5000))
    assert check(path) == (list(range(9)), [])
    path.write_bytes(bytes(5000))
    assert check(path) == ([], [])


def test_zeros_at_the_end_of_another_segment_are_damage(tmp_path: Path) -> None:
    first, _ = write_segments(tmp_path / "tea-0", THREE, [batch(9, 1)])
    size = first.stat().st_size
    first.write_bytes(first.read_bytes() + bytes(5000))
    with pytest.raises(KraftwireError, match=f"byte {size}: zeros, 5000 bytes not readable"):
        offsets_of(tmp_path / "tea-0")
    good, (bad,) = permissive(tmp_path / "tea-0")
    assert [row["offset"] for row in good] == list(range(10))
    assert (bad["position"], bad["bytes"]) == (size, bytes(5000))


def test_an_empty_segment_has_no_rows_in_any_mode(tmp_path: Path) -> None:
    (path,) = write_segments(tmp_path / "tea-0", THREE)
    path.write_bytes(b"")
    assert check(path) == ([], [])


def test_a_segment_may_mix_magics_and_codecs(tmp_path: Path) -> None:
    old = [message(0, b"old", magic=0), message(1, b"newer")]
    for number, codec in enumerate((Compression.GZIP, Compression.SNAPPY, Compression.LZ4)):
        inner = b"".join(message(at, b"%d" % at) for at in range(3))
        old.append(message(4 + 3 * number, compress(codec, inner), attributes=codec))
    new = [batch(11 + 2 * codec, 2, BatchSettings(codec=codec)) for codec in Compression]
    (path,) = write_segments(tmp_path / "tea-0", [batch(0, 1)])
    path.write_bytes(b"".join(old + new))
    assert check(path) == (list(range(21)), [])
    good, _ = permissive(path)
    labels = ["none"] * 2 + ["gzip"] * 3 + ["snappy"] * 3 + ["lz4"] * 3
    labels += [codec.label for codec in Compression for _ in range(2)]
    assert [row["codec"] for row in good] == labels
    assert [row["timestampType"] for row in good] == [-1] + [0] * 20
    data = bytearray(path.read_bytes())
    data[len(old[0]) + 30] ^= 1
    path.write_bytes(data)
    assert check(path).offsets == [0, *range(2, 21)]


def test_a_batch_over_the_memory_limit_is_damage(tmp_path: Path) -> None:
    limit = {"maxBatchBytes": "64k"}
    record = Record(3, 0, None, bytes(1 << 16), ())
    bomb = encode_batch([record], BatchSettings(codec=Compression.ZSTD))
    (path,) = write_segments(tmp_path / "tea-0", [THREE[0], bomb, THREE[2]])
    with pytest.raises(KraftwireError, match=f"byte {SECOND}: corrupt, .* not readable: .*more"):
        offsets_of(path, **limit)
    good, (bad,) = permissive(path, **limit)
    assert [row["offset"] for row in good] == [0, 1, 2, 6, 7, 8]
    assert (bad["position"], bad["bytes"]) == (SECOND, bomb)
    assert offsets_of(path, mode="DROPMALFORMED", **limit) == [0, 1, 2, 6, 7, 8]


def test_a_large_damaged_region_is_truncated_with_its_size(tmp_path: Path) -> None:
    (path,) = write_segments(tmp_path / "tea-0", THREE)
    size = MAX_CORRUPT_BYTES + 7
    path.write_bytes(b"\x55" * size + path.read_bytes())
    good, (bad,) = permissive(path)
    assert [row["offset"] for row in good] == list(range(9))
    assert (bad["position"], bad["bytes"]) == (0, b"\x55" * MAX_CORRUPT_BYTES)
    assert f"{size} bytes not readable" in bad["reason"]


def test_dropped_bytes_are_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (path,) = write_segments(tmp_path / "tea-0", THREE)
    path.write_bytes(flipped(path.read_bytes(), SECOND + 70))
    with caplog.at_level(logging.WARNING):
        offsets_of(path, mode="DROPMALFORMED")
    assert f"left out: {path}, byte {SECOND}: " in caplog.text


def test_without_crc_checks_a_flipped_byte_is_read(tmp_path: Path) -> None:
    (path,) = write_segments(tmp_path / "tea-0", [batch(0, 1)])
    path.write_bytes(flipped(path.read_bytes(), path.stat().st_size - 5))
    assert offsets_of(path, verifyCrc=False) == [0]
    with pytest.raises(KraftwireError, match="the CRC does not match"):
        offsets_of(path)


# -- the column ------------------------------------------------------------------------------------


def test_the_corrupt_column_can_be_renamed(tmp_path: Path) -> None:
    (path,) = write_segments(tmp_path / "a.b-c-7", THREE)
    path.write_bytes(flipped(path.read_bytes(), SECOND + 70))
    rows = read_rows(
        path,
        columns=["bad", "file", "partition", "topic", "offset", "value", "isControl"],
        columnNameOfCorruptRecord="bad",
        **PERMISSIVE,
    )
    (row,) = (row for row in rows if row["bad"] is not None)
    assert row["bad"]["reason"] == (
        f"corrupt, {THIRD - SECOND} bytes not readable: the CRC does not match"
    )
    del row["bad"]
    assert row == {
        "file": str(path),
        "partition": 7,
        "topic": "a.b-c",
        "offset": None,
        "value": None,
        "isControl": None,
    }
    assert len(rows) == 7


def test_without_the_corrupt_column_only_sound_records_are_read(tmp_path: Path) -> None:
    (path,) = write_segments(tmp_path / "tea-0", THREE)
    path.write_bytes(flipped(path.read_bytes(), SECOND + 70))
    assert offsets_of(path, mode="PERMISSIVE") == [0, 1, 2, 6, 7, 8]


# -- splits ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("has_index", [True, False])
def test_damage_across_two_splits_is_reported_once(tmp_path: Path, has_index: bool) -> None:
    """Whatever is damaged, and wherever the splits are cut."""
    batches = [batch(2 * at, 2, size=100 + 7 * at) for at in range(20)]
    (path,) = write_segments(tmp_path / "tea-0", batches, interval=150)
    if not has_index:
        path.with_suffix(".index").unlink()
    whole = path.read_bytes()
    chance = random.Random(9)
    for _ in range(60):
        data = bytearray(whole)
        at = chance.randrange(len(data))
        size = chance.choice((1, 30, 400, 1500))
        data[at : at + size] = chance.choice((bytes, chance.randbytes))(len(data[at : at + size]))
        path.write_bytes(data)
        told = told_of(bytes(data), path, is_tail=True)
        good, bad = permissive(path.parent, maxSplitBytes=chance.choice((1, 300, 900, 2500)))
        # A batch that stands alone among damage may be told from noise where a split begins.
        assert not set(told.offsets) - {row["offset"] for row in good}
        _account(bytes(data), good, bad)


def test_damage_ends_at_the_next_split(tmp_path: Path) -> None:
    """A batch alone between damages is not told from a value by what lies before it."""
    batches = [batch(at, 1, size=1000) for at in range(12)]
    (path,) = write_segments(tmp_path / "tea-0", batches, interval=100)
    size = len(batches[0])
    data = path.read_bytes()
    path.write_bytes(bytes(size) + data[size : 2 * size] + b"x" * size + data[3 * size :])
    told = check(path)
    assert told == (list(range(3, 12)), [(0, 3 * size)])
    good, bad = permissive(path.parent, maxSplitBytes=size)
    assert [row["offset"] for row in good] == [1, *range(3, 12)]
    assert [(one["position"], len(one["bytes"])) for one in bad] == [(0, size), (2 * size, size)]


def _account(data: bytes, good: list[Row], bad: list[Row]) -> None:
    """Every byte is in a batch that has rows or in a region, once; zeros may be at the end."""
    regions = [(one["position"], one["position"] + len(one["bytes"])) for one in bad]
    starts = {row["batchPosition"] for row in good}
    parts = regions + [(at, at + 12 + int.from_bytes(data[at + 8 : at + 12])) for at in starts]
    position = 0
    for start, end in sorted(parts):
        assert start == position
        position = end
    assert not any(data[position:])


SOURCES = [
    segment_of(topic)
    for topic in ("tea", "codec-zstd", "codec-snappy", "orders", "__consumer_offsets")
]


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.parent.name)
def test_damaged_files_of_a_real_kafka_are_handled_by_each_mode(
    tmp_path: Path, source: Path
) -> None:
    chance = random.Random(source.parent.name)
    data = source.read_bytes()
    path = tmp_path / source.parent.name / source.name
    path.parent.mkdir()
    damaged = 0
    for _ in range(60):
        path.write_bytes(mutant(data, chance.choice(SOURCES).read_bytes(), chance))
        damaged += bool(check(path).regions)
    assert damaged > 30


# -- records that are not of their log -------------------------------------------------------------


def metadata_log(directory: Path) -> Path:
    """Topic records, and among them one that is cut off, one of no known kind, and a null."""
    good = encode_metadata_record(TopicRecord(name="tea"), 0)
    values = [good, good[:-3], b"\x01\xff\x7f\x00", None, good]
    made = [Record(at, 0, None, value, ()) for at, value in enumerate(values)]
    (path,) = write_segments(directory / "__cluster_metadata-0", [encode_batch(made)])
    return path


def test_each_mode_handles_records_of_another_log(tmp_path: Path) -> None:
    path = metadata_log(tmp_path)
    with pytest.raises(KraftwireError) as caught:
        read_rows(path, decode="metadata")
    assert f"{path}, batch at 0, offset 1: " in str(caught.value)
    assert "mode=PERMISSIVE shows it in the row" in str(caught.value)
    rows = read_rows(path, decode="metadata", mode="PERMISSIVE")
    assert [row["offset"] for row in rows] == [0, 1, 2, 3, 4]
    names = [row["TopicRecord"] and row["TopicRecord"]["name"] for row in rows]
    assert names == ["tea", None, None, None, "tea"]
    bad = [row["_corrupt_record"] for row in rows]
    assert [one is None for one in bad] == [True, False, False, False, True]
    assert [one["bytes"] for one in bad[1:4]][1] == b"\x01\xff\x7f\x00"
    assert [one["reason"].partition(":")[0] for one in bad[1:4]] == [
        "offset 1",
        "offset 2",
        "offset 3",
    ]
    assert {one["position"] for one in bad[1:4]} == {0}
    rows = read_rows(path, decode="metadata", mode="DROPMALFORMED")
    assert [row["offset"] for row in rows] == [0, 4]


def test_messages_that_are_not_requested_cause_no_errors(tmp_path: Path) -> None:
    path = metadata_log(tmp_path)
    assert offsets_of(path, decode="metadata") == [0, 1, 2, 3, 4]
    assert offsets_of(path, decode="metadata", mode="DROPMALFORMED") == [0, 1, 2, 3, 4]


# -- in Spark --------------------------------------------------------------------------------------


@pytest.mark.slow
@spark_group
def test_spark_has_the_rows_of_each_mode(spark: SparkSession, tmp_path: Path) -> None:
    (path,) = write_segments(tmp_path / "tea-0", THREE)
    path.write_bytes(flipped(path.read_bytes(), SECOND + 70))
    reader = spark.read.format("kraftwire")
    with pytest.raises(PySparkException) as caught:
        reader.load(str(tmp_path)).collect()
    assert f"{path}, byte {SECOND}: corrupt" in str(caught.value)
    assert "mode=PERMISSIVE shows it in a row" in str(caught.value)
    frame = reader.option("mode", "PERMISSIVE").load(str(tmp_path))
    assert frame.where("_corrupt_record is null").count() == 6
    (row,) = frame.where("_corrupt_record is not null").collect()
    assert (row.topic, row.partition, row.offset) == ("tea", 0, None)
    assert row._corrupt_record.position == SECOND
    assert bytes(row._corrupt_record.bytes) == path.read_bytes()[SECOND:THIRD]
    assert reader.option("mode", "dropmalformed").load(str(tmp_path)).count() == 6


@pytest.mark.slow
@spark_group
def test_a_wrong_offset_is_reported_below_the_root_of_a_volume(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "lost+found").mkdir()
    (path,) = write_segments(tmp_path / "kafka-log0" / "tea-0", THREE)
    path.write_bytes(flipped(path.read_bytes(), SECOND + 4))  # an offset 2**30 further on
    reader = spark.read.format("kraftwire")
    with pytest.raises(PySparkException) as caught:
        reader.load(str(tmp_path)).collect()
    assert f"{path}, byte {SECOND}: out of order" in str(caught.value)
    assert reader.option("mode", "dropmalformed").load(str(tmp_path)).count() == 6
    (row,) = (
        reader.option("mode", "PERMISSIVE")
        .load(str(tmp_path))
        .where("_corrupt_record is not null")
        .collect()
    )
    assert row._corrupt_record.position == SECOND
    assert bytes(row._corrupt_record.bytes) == path.read_bytes()[SECOND:THIRD]


@spark_group
def test_a_sound_broker_has_no_rows_about_damage(spark: SparkSession) -> None:
    reader = spark.read.format("kraftwire").option("mode", "PERMISSIVE")
    frame = reader.load(str(BROKER))
    assert frame.where("_corrupt_record is not null").count() == 0
    assert frame.count() == len(read_rows(BROKER, columns=["offset"]))
