"""A few kilobytes that become gigabytes of objects: every reader stays small and says why it stops.

What is read lazily is read to its end: that a batch has many records is no fault.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from kraftwire.columns import decode_batches
from kraftwire.log import Batch, CorruptBatch, Record, decode_batch
from kraftwire.log.batches.compression import Compression
from kraftwire.log.batches.encoding import BatchSettings, encode_batch
from kraftwire.log.batches.large_records import LargeRecords, RecordBudget

from codec_tests.columns.engines import ENGINES, engine
from codec_tests.log.hostile_batches import (
    EMPTY_RECORD,
    HEADERS,
    HOSTILE,
    RECORDS,
    batch_of,
    many_batches,
    record_with_headers,
)
from codec_tests.log.hostile_reading import WAYS

MOST = 300_000_000
SECONDS = 200
TOPICS = {"groups": "__consumer_offsets-0", "metadata": "__cluster_metadata-0"}

SLOW = {"dump-json", "dump-table", "metadata", "groups", "explain"}
"""Ways that print or report each record, which a few hundred thousand show as well."""

FEW = ("headers-zstd", "record-count", "header-count", "nested-wrappers", "records-with-headers")


class Took(NamedTuple):
    """What a process that read a file said, and what it took."""

    peak: int
    seconds: float
    said: str


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a data directory for each kind of batch, in three topics each."""
    base = tmp_path_factory.mktemp("hostile")
    for name, make in HOSTILE.items():
        data = make()
        for partition in ("orders-0", *TOPICS.values()):
            directory = base / name / partition
            directory.mkdir(parents=True)
            (directory / f"{0:020}.log").write_bytes(data)
    return base


def read(way: str, path: Path, name: str = "") -> Took:
    """Read a partition in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "codec_tests.log.hostile_reading", way, str(path)],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        cwd=Path(__file__).parents[2],
        env={"PYTHONIOENCODING": "utf-8"} | ({"KRAFTWIRE_ENGINE": name} if name else {}),
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    took = json.loads(done.stdout.splitlines()[-1])
    return Took(took["peak"], took["seconds"], done.stderr)


CASES = [(way, name) for way in WAYS for name in HOSTILE if name in FEW or way not in SLOW]


@pytest.mark.parametrize(("way", "name"), CASES)
def test_memory_stays_small(way: str, name: str, files: Path) -> None:
    took = read(way, files / name / TOPICS.get(way, "orders-0"))
    assert took.peak < MOST, took
    assert "MemoryError" not in took.said
    if way == "follower":
        assert took.seconds < 5, took


@pytest.mark.parametrize("name", ["headers-zstd", "records", "beyond-the-limit"])
def test_the_python_columns_stay_small_too(name: str, files: Path) -> None:
    took = read("columns", files / name / "orders-0", name="python")
    assert took.peak < MOST, took


@pytest.mark.parametrize(
    "way", ["dump-json", "dump-table", "columns", "metadata", "replay", "proxy"]
)
def test_the_error_says_why_and_how_to_raise_the_limit(way: str, files: Path) -> None:
    said = read(way, files / "headers-zstd" / TOPICS.get(way, "orders-0")).said
    assert f"byte 0: record 0 of 1: {HEADERS} headers are too many for one record" in said
    assert "--max-batch-bytes, in Spark maxBatchBytes" in said


@pytest.mark.slow
def test_the_limit_can_be_raised() -> None:
    data = batch_of(record_with_headers(300_000), 1)
    header = decode_batch(data).header
    with pytest.raises(CorruptBatch, match="300000 headers"):
        _ = Batch(header, data, "f").records
    (record,) = Batch(header, data, "f", limit=300_000 * 512).records
    assert record.headers == (("", None),) * 300_000
    (chunk,) = decode_batches(data, ["headers"], limit=300_000 * 512)
    assert len(chunk.column("headers")[0]) == 300_000


# -- what is honest ------------------------------------------------------------------------


def large(count: int = 300_000) -> list[Record]:
    """Records that are too many to keep in a list."""
    return [Record(at, 1000 + at, b"%d" % at, None, ()) for at in range(count)]


@pytest.mark.slow
@pytest.mark.parametrize("codec", [Compression.NONE, Compression.LZ4])
def test_large_batches_are_read_to_the_last_record(codec: Compression) -> None:
    records = large()
    batch = decode_batch(encode_batch(records, BatchSettings(codec=codec)))
    found = batch.records
    assert isinstance(found, LargeRecords)
    assert len(found) == len(records)
    assert list(found) == records
    assert found[0] == records[0]
    assert found[-1] == records[-1]
    assert found[5:50:7] == records[5:50:7]
    assert found[50:5:-7] == records[50:5:-7]
    with pytest.raises(IndexError):
        _ = found[len(records)]


@pytest.mark.slow
def test_damage_at_the_end_of_a_large_batch_is_found_first() -> None:
    count = 500_000
    batch = decode_batch(batch_of(EMPTY_RECORD * (count - 1) + b"\x0c\0\0\0\x03\x01\0", count))
    with pytest.raises(CorruptBatch, match=f"record {count - 1} of {count}: a field of -2 bytes"):
        _ = batch.records


@pytest.mark.slow
@pytest.mark.parametrize("name", ENGINES)
def test_chunks_of_a_large_batch_are_small(name: str) -> None:
    records = [record._replace(offset=record.offset + 1) for record in large()]
    before = encode_batch([Record(0, 5, b"before", None, ())])
    after = encode_batch([Record(2_000_000, 5, b"after", None, ())])
    data = before + encode_batch(records, BatchSettings(codec=Compression.ZSTD)) + after
    with engine(name):
        chunks = list(decode_batches(data, ["offset", "key"], chunk=1 << 20))
    keys = [key for chunk in chunks for key in chunk.column("key").to_pylist()]
    assert keys == [b"before", *(record.key for record in records), b"after"]
    assert max(chunk.nbytes for chunk in chunks) < 4 << 20


@pytest.mark.slow
@pytest.mark.parametrize("name", ENGINES)
def test_a_large_batch_is_read_completely_or_not_at_all(name: str) -> None:
    count = 700_000
    good = batch_of(EMPTY_RECORD * 3, 3)
    bad = batch_of(EMPTY_RECORD * (count - 1) + b"\x0c\0\0\0\x03\x01\0", count, base_offset=3)
    rows: list[int] = []
    with engine(name), pytest.raises(CorruptBatch, match=f"record {count - 1} of {count}"):
        rows.extend(chunk.num_rows for chunk in decode_batches(good + bad, ["offset"]))
    assert sum(rows) == 3


def test_batches_within_the_limit_do_not_add_up() -> None:
    rows = sum(chunk.num_rows for chunk in decode_batches(many_batches(), ["offset"]))
    assert rows == 6 * 60_001


@pytest.mark.slow
def test_records_kept_together_are_counted_over_all_batches() -> None:
    batch = decode_batch(batch_of(EMPTY_RECORD * 1000, 1000))
    budget = RecordBudget(3000 * 512)
    assert len(budget.hold(batch)) == 1000
    assert len(budget.hold(batch)) == 1000
    with pytest.raises(CorruptBatch, match="its records are too many to keep in memory"):
        budget.hold(batch)
    large_one = decode_batch(batch_of(EMPTY_RECORD * RECORDS, RECORDS))
    with pytest.raises(CorruptBatch, match="its records are too many"):
        RecordBudget().hold(large_one)


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("500000000", 0, ""),
        ("100", 1, "to raise the limit of 100 bytes for a batch"),
        ("many", 2, "KRAFTWIRE_MAX_BATCH_BYTES=many: write a number of bytes"),
        ("0", 2, "KRAFTWIRE_MAX_BATCH_BYTES=0: write a number of bytes"),
    ],
)
def test_the_environment_sets_the_limit_of_every_command(
    tmp_path: Path, text: str, code: int, said: str
) -> None:
    directory = tmp_path / "orders-0"
    directory.mkdir()
    (directory / f"{0:020}.log").write_bytes(batch_of(record_with_headers(50), 1))
    done = subprocess.run(
        [Path(sys.executable).with_name("kraftwire"), "log", "dump", directory],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env={"KRAFTWIRE_MAX_BATCH_BYTES": text},
        check=False,
    )
    assert (done.returncode, said in done.stderr) == (code, True), done.stderr
    assert "Traceback" not in done.stderr
