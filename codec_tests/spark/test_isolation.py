"""What a read with read_committed sees: what the command line's selection gives."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kraftwire.log import Damage, find_partitions
from kraftwire.log.batches.encoding import BatchSettings, control_record, encode_batch
from kraftwire.log.queries.selection import Selection, select_batches, select_segments
from kraftwire.log.queries.transactions import find_transactions
from kraftwire_messages.kafka import EndTxnMarker
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.records import ControlType

from codec_tests.spark.reads import batch, offsets_of, records, write_segments
from codec_tests.stored_files import BROKER

spark_group = pytest.mark.xdist_group("spark")

COMMITTED = {"isolation": "read_committed"}
TOPICS = ("orders-0", "__consumer_offsets-0", "__consumer_offsets-1", "tea-0")


def selected(directory: Path, start: int | None = None, stop: int | None = None) -> list[int]:
    """The offsets that `kraftwire log dump --isolation read_committed` goes over."""
    (partition,) = find_partitions([directory])
    selection = Selection(start, stop, committed=find_transactions(partition.segments))
    found = []
    for segment in select_segments(partition, selection):
        with segment.open() as source:
            for item in select_batches(source, selection):
                assert not isinstance(item, Damage)
                found += [record.offset for record in selection.records(item)]
    return found


@pytest.mark.parametrize("name", TOPICS)
@pytest.mark.parametrize("size", [1, 300, 1 << 20])
def test_a_committed_read_equals_that_of_the_command_line(name: str, size: int) -> None:
    directory = BROKER / name
    found = offsets_of(directory, maxSplitBytes=size, **COMMITTED)
    assert found == selected(directory)
    everything = offsets_of(directory)
    assert set(found) <= set(everything)
    assert (len(found) < len(everything)) == (name in ("orders-0", "__consumer_offsets-0"))


def test_committed_reads_of_offset_ranges_are_exact() -> None:
    directory = BROKER / "orders-0"
    for start in range(0, 80, 7):
        for stop in range(start + 1, 90, 13):
            found = offsets_of(directory, startingOffsets=start, endingOffsets=stop, **COMMITTED)
            assert found == selected(directory, start, stop)


def test_a_single_segment_knows_only_its_own_markers() -> None:
    """Of a segment that is named alone, only its own markers are known."""
    for path in sorted((BROKER / "orders-0").glob("*.log")):
        found = set(offsets_of(path, **COMMITTED))
        assert found <= set(offsets_of(path))


def test_markers_are_rows_only_in_uncommitted_reads() -> None:
    directory = BROKER / "orders-0"
    markers = set(offsets_of(directory, includeControl=True)) - set(offsets_of(directory))
    assert markers
    assert offsets_of(directory, includeControl=True, **COMMITTED) == selected(directory)


def transaction(first: int, producer: int) -> bytes:
    settings = BatchSettings(producer_id=producer, producer_epoch=0, is_transactional=True)
    return encode_batch(records(first, 2), settings)


def marker(offset: int, producer: int, kind: ControlType) -> bytes:
    settings = BatchSettings(
        producer_id=producer, producer_epoch=0, is_transactional=True, is_control=True
    )
    return encode_batch([control_record(offset, 0, kind, EndTxnMarker())], settings)


def written(directory: Path) -> Path:
    """A transaction that is committed, one that is aborted, and records between and behind."""
    batches = [transaction(0, 1), marker(2, 1, ControlType.COMMIT), batch(3, 2)]
    batches += [transaction(5, 2), marker(7, 2, ControlType.ABORT), batch(8, 2)]
    write_segments(directory / "orders-0", batches[:3], batches[3:])
    return directory / "orders-0"


def test_damage_that_may_hide_a_marker_ends_the_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """All behind the first record of an open transaction is not seen: that must be said."""
    directory = written(tmp_path)
    assert offsets_of(directory, **COMMITTED) == [0, 1, 3, 4, 8, 9]
    path = directory / "00000000000000000000.log"
    data = bytearray(path.read_bytes())
    at = data.index(marker(2, 1, ControlType.COMMIT))
    data[at + 70] ^= 1
    path.write_bytes(data)
    with pytest.raises(KraftwireError) as caught:
        offsets_of(directory, **COMMITTED)
    assert f"{path}, byte {at}: the CRC does not match" in str(caught.value)
    assert "transactions may stay open; mode=PERMISSIVE reads the records" in str(caught.value)
    for mode in ("PERMISSIVE", "DROPMALFORMED"):
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            assert offsets_of(directory, mode=mode, **COMMITTED) == []
        assert f"transactions may stay open: {path}, byte {at}" in caplog.text


def test_zeros_at_the_end_hide_no_marker(tmp_path: Path) -> None:
    directory = written(tmp_path)
    *_, last = sorted(directory.glob("*.log"))
    last.write_bytes(last.read_bytes() + bytes(4096))
    assert offsets_of(directory, **COMMITTED) == [0, 1, 3, 4, 8, 9]
    first = directory / "00000000000000000000.log"
    first.write_bytes(first.read_bytes() + bytes(4096))
    with pytest.raises(KraftwireError, match="transactions may stay open"):
        offsets_of(directory, **COMMITTED)


def test_missing_transaction_indexes_change_nothing(tmp_path: Path) -> None:
    directory = tmp_path / "orders-0"
    shutil.copytree(BROKER / "orders-0", directory)
    expected = offsets_of(directory, **COMMITTED)
    for suffix in ("txnindex", "snapshot", "index", "timeindex"):
        for path in directory.glob(f"*.{suffix}"):
            path.unlink()
        assert offsets_of(directory, **COMMITTED) == expected


@pytest.mark.slow
@spark_group
def test_spark_reads_only_committed_records(spark: SparkSession) -> None:
    for name in ("orders-0", "__consumer_offsets-0"):
        reader = spark.read.format("kraftwire").options(**COMMITTED, maxSplitBytes="200")
        frame = reader.load(str(BROKER / name)).select("offset")
        assert sorted(row.offset for row in frame.collect()) == selected(BROKER / name)
