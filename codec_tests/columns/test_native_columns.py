"""What only the native columns can get wrong: memory, threads, what is handed over."""

from __future__ import annotations

import copy
import gc
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import pyarrow as pa
import pytest
from crc32c import crc32c

from kraftwire.columns import DEFAULT_COLUMNS, decode_batches, decode_messages
from kraftwire.columns.engine import native_columns
from kraftwire.log import FileSource
from kraftwire.log.batches.compression import Arena, Compression
from kraftwire_messages.kafka import MetadataResponse
from kraftwire_wire.errors import KraftwireError

from codec_tests.bench.logs import make_segment
from codec_tests.columns.engines import binary
from codec_tests.columns.memory import ANY_ORDER, UNBOUNDED, filled
from codec_tests.stored_files import segment_of

native = native_columns()

pytestmark = pytest.mark.skipif(native is None, reason="the native part is not compiled")


def test_objects_are_complete_or_not_created() -> None:
    assert native is not None
    for cls in (native.RecordColumns, native.MessageColumns, native.HandedOver):
        with pytest.raises(TypeError):
            cls.__new__(cls)
        with pytest.raises(TypeError):
            type("Sub", (cls,), {})
    for columns in (filled(), native.MessageColumns(MetadataResponse)):
        for twin in (copy.copy, pickle.dumps):
            with pytest.raises(TypeError):
                twin(columns)
    with pytest.raises((AttributeError, TypeError)):
        pa.array(native.HandedOver(None, None))
    for count in (-1, 2, 2**59, 2**62):
        with pytest.raises(IndexError):
            native.uuid_text(bytes(31), count)


def test_data_can_be_taken_once() -> None:
    rows = filled()
    handed = rows.take()  # type: ignore[attr-defined]
    first = pa.record_batch(handed)
    assert first.num_rows
    with pytest.raises((ValueError, pa.ArrowInvalid)):
        pa.record_batch(handed)
    assert pa.record_batch(rows.take()).num_rows == 0  # type: ignore[attr-defined]


def test_a_column_outlives_its_batch() -> None:
    batch = pa.record_batch(filled().take())  # type: ignore[attr-defined]
    expected = batch.column("headers").to_pylist()
    headers = batch.column("headers")
    del batch
    gc.collect()
    assert headers.to_pylist() == expected


def test_invalid_calls_are_refused() -> None:
    assert native is not None
    for cls in (native.RecordColumns, native.MessageColumns):
        with pytest.raises(TypeError):
            cls.__new__(cls)
    columns = native.MessageColumns(MetadataResponse)
    ints, shorts = memoryview(bytes(8)).cast("i"), memoryview(bytes(4)).cast("h")
    for begins, ends, versions, row in (
        (ints, ints[:1], shorts, 0),
        (ints, ints, shorts[:1], 0),
        (ints, ints, shorts, -1),
    ):
        with pytest.raises(IndexError):
            columns.read(memoryview(b""), begins, ends, versions, row)
    far = memoryview(bytes.fromhex("ffffff7f")).cast("i")
    assert columns.read(memoryview(b"x"), far, far, shorts[:1], 0) == 0
    with pytest.raises(KraftwireError, match="row 0 of the column lies outside of its data"):
        native.read_prefixes(memoryview(b"x"), far, far)
    rows = filled()
    for numbers in ((-1, 5, 5), (0, 5, 4), (0, 9, 9), (3, 2, 5)):
        with pytest.raises(IndexError):
            rows.read(b"12345", *numbers, 0, ANY_ORDER)  # type: ignore[attr-defined]


def test_columns_are_filled_by_one_call_at_a_time() -> None:
    assert native is not None
    data = segment_of("codec-lz4").read_bytes()
    arena = Arena()
    refused: list[str] = []

    def decompress(codec: int, view: memoryview) -> memoryview:
        for call in (rows.take, lambda: rows.read(data, 0, len(data), len(data), 0, ANY_ORDER)):
            with pytest.raises(RuntimeError) as caught:
                call()
            refused.append(str(caught.value))
        return arena.decompress(codec, view)

    rows = native.RecordColumns(DEFAULT_COLUMNS, UNBOUNDED, 1 << 30, True, crc32c, decompress, None)
    rows.read(data, 0, len(data), len(data), 0, ANY_ORDER)
    assert set(refused) == {"these columns are being filled by another call"}
    assert pa.record_batch(rows.take()).num_rows


def test_threads_read_in_parallel() -> None:
    path = segment_of("orders")
    with FileSource(path) as source:
        expected = pa.Table.from_batches(list(decode_batches(source)))
    value = MetadataResponse(cluster_id="x").encode(12)
    column = binary([value, None, b"\xff"] * 50)
    wrong: list[object] = []

    def work() -> None:
        for _ in range(50):
            with FileSource(path) as source:
                if pa.Table.from_batches(list(decode_batches(source))) != expected:
                    wrong.append("rows")
            found = decode_messages(MetadataResponse, 12, column, on_error=lambda *_: None)
            if found.null_count != 100 or found[0].as_py()["cluster_id"] != "x":
                wrong.append(found)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.slow
def test_memory_does_not_grow() -> None:
    code = """
from codec_tests.columns.memory import peak, read_repeatedly
read_repeatedly(100)
before = peak()
read_repeatedly(1000)
print(peak() - before)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=200,
        env={"PYTHONPATH": ":".join(sys.path)},
    )
    assert int(done.stdout) < 4096


@pytest.mark.slow
@pytest.mark.parametrize("codec", [Compression.NONE, Compression.ZSTD])
def test_a_large_file_takes_no_more_memory_than_a_small_one(
    codec: Compression, tmp_path: Path
) -> None:
    path, records = make_segment(tmp_path / "a", 30_000_000, 1000, 16, codec)
    code = """
import sys
from codec_tests.columns.memory import peak
from kraftwire.columns import decode_batches
from kraftwire.log import FileSource
with FileSource(sys.argv[1]) as source:
    reading = decode_batches(source)
    rows = next(reading).num_rows
    before = peak()
    rows += sum(chunk.num_rows for chunk in reading)
print(rows, peak() - before)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        capture_output=True,
        text=True,
        check=True,
        timeout=200,
        env={"PYTHONPATH": ":".join(sys.path)},
    )
    rows, grown = map(int, done.stdout.split())
    assert rows == records
    assert grown < 16 << 10
