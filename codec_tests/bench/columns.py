"""Speed of columns: segments and typed records to Arrow, compared with limits of the machine.

    python -m codec_tests.bench.columns

The limits are what any such reader has to do: read the file, compute its CRC, copy it once, and
decompress it. The records of other clients are collected in lists, which pyarrow converts. All
take turns on the same bytes in the page cache; the best time counts.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
from aiokafka.record.memory_records import MemoryRecords as AioRecords
from crc32c import crc32c
from kafka.record import MemoryRecords

from kraftwire.columns import decode_batches, decode_messages, decode_typed
from kraftwire.columns.batches import CHUNK, PIECE
from kraftwire.log import FileSource, scan_batches
from kraftwire.log.batches.compression import Arena, Compression
from kraftwire.log.batches.header import HEADER
from kraftwire.log.segments.segment import Damage
from kraftwire_messages.kafka import (
    BrokerRegistrationChangeRecord,
    OffsetCommitKey,
    OffsetCommitValue,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
)
from kraftwire_wire.message import Message
from kraftwire_wire.records import (
    encode_coordinator_key,
    encode_metadata_record,
    encode_prefixed,
)

from codec_tests.bench.logs import make_segment, read_file, report, take_turns

COLUMNS = ("key", "value", "offset", "timestamp")
ROWS = 100_000
_BATCH = 16 << 10


def _copy(data: memoryview, piece: bytearray) -> None:
    for position in range(0, len(data) - len(piece), len(piece)):
        piece[:] = data[position : position + len(piece)]


def _sum(data: memoryview) -> None:
    for position in range(0, len(data), _BATCH):
        crc32c(data[position : position + _BATCH])


def _ours(path: Path, columns: tuple[str, ...]) -> None:
    with FileSource(path) as source:
        for _ in decode_batches(source, columns):
            pass


def _client(records: Any, next_batch: Callable[[Any], Any]) -> None:
    """Convert what a client's reader returns to Arrow."""
    rows: list[tuple[Any, ...]] = []
    while (batch := next_batch(records)) is not None:
        assert batch.validate_crc()
        rows += [(one.key, one.value, one.offset, one.timestamp) for one in batch]
    pa.table([pa.array(column) for column in zip(*rows, strict=True)], names=list(COLUMNS))


def _aiokafka(path: Path) -> None:
    records = AioRecords(path.read_bytes())
    _client(records, lambda one: one.next_batch() if one.has_next() else None)


def _kafka_python(path: Path) -> None:
    _client(MemoryRecords(path.read_bytes()), lambda one: one.next_batch())


def _packed(path: Path) -> list[tuple[int, memoryview]]:
    """Return the codec and the compressed bytes of each batch."""
    with FileSource(path) as source:
        batches = [item for item in scan_batches(source) if not isinstance(item, Damage)]
    return [(one.header.codec, memoryview(one.data)[HEADER.size :]) for one in batches]


def _decompress(packed: list[tuple[int, memoryview]]) -> None:
    arena = Arena()
    for codec, data in packed:
        arena.decompress(codec, data)


def _decompress_and_keep(packed: list[tuple[int, memoryview]]) -> None:
    """Decompress and copy once into new memory, as any reader that returns the content must."""
    arena, chunk, used = Arena(), bytearray(CHUNK), 0
    for codec, data in packed:
        content = arena.decompress(codec, data)
        if used + len(content) > len(chunk):
            chunk, used = bytearray(max(CHUNK, len(content))), 0
        chunk[used : used + len(content)] = content
        used += len(content)


def bench_plain(directory: Path) -> None:
    shapes = [(1000, 16, 200_000_000), (300, 50, 100_000_000), (100, 140, 100_000_000)]
    shapes += [(60, 200, 40_000_000), (1000, 1, 50_000_000)]
    for value, count, size in shapes:
        path, records = make_segment(directory / f"{value}-{count}", size, value, count)
        data, piece = memoryview(path.read_bytes()), bytearray(PIECE)
        small = path.stat().st_size <= 50_000_000
        calls: dict[str, Callable[[], object]] = {
            "limit: read": partial(read_file, path, piece),
            "limit: copy in memory": partial(_copy, data, piece),
            "limit: CRC-32C": partial(_sum, data),
            "decode_batches": partial(_ours, path, COLUMNS),
            "decode_batches, offset only": partial(_ours, path, ("offset",)),
        }
        if small:
            calls["aiokafka into Arrow"] = partial(_aiokafka, path)
            calls["kafka-python into Arrow"] = partial(_kafka_python, path)
        title = f"values of {value} bytes, {count} to a batch"
        report(title, path.stat().st_size, records, take_turns(calls))


def bench_compressed(directory: Path) -> None:
    """Compare compressed segments with the decompressor alone."""
    for codec in (Compression.LZ4, Compression.SNAPPY, Compression.ZSTD, Compression.GZIP):
        for value, count in ((60, 200), (1000, 16), (1000, 160)):
            where = directory / f"{codec.label}-{value}-{count}"
            path, records = make_segment(where, 6_000_000, value, count, codec)
            packed = _packed(path)
            calls: dict[str, Callable[[], object]] = {
                "limit: decompress": partial(_decompress, packed),
                "limit: and copy once": partial(_decompress_and_keep, packed),
                "decode_batches": partial(_ours, path, COLUMNS),
                "aiokafka into Arrow": partial(_aiokafka, path),
            }
            best = take_turns(calls)
            title = f"{codec.label}, values of {value} bytes, {count} to a batch"
            report(title, path.stat().st_size, records, best)
            ratio = best["decode_batches"] / best["limit: decompress"]
            print(f"  {ratio:.2f} x the decompressor's time")


def _typed() -> dict[str, Callable[[], object]]:
    """Return the calls for typed records of several shapes."""
    topic = UUID(int=7)
    flat: list[tuple[str, Message, int]] = [
        ("ProducerIdsRecord", ProducerIdsRecord(broker_id=1, next_producer_id=5), 0),
        ("BrokerRegistrationChange", BrokerRegistrationChangeRecord(broker_id=1, fenced=1), 2),
        ("OffsetCommitValue", OffsetCommitValue(offset=5, commit_timestamp=9), 3),
        ("PartitionRecord", PartitionRecord(replicas=[1, 2, 3], isr=[1, 2, 3], leader=1), 1),
    ]
    calls: dict[str, Callable[[], object]] = {}
    for name, message, version in flat:
        column = pa.array([message.encode(version)] * ROWS, pa.binary())
        calls[name] = partial(decode_messages, type(message), version, column)
    calls["  the same as objects"] = partial(_objects, flat[-1][1].encode(1), PartitionRecord, 1)
    change = PartitionChangeRecord(topic_id=topic, isr=[1, 2, 3], leader=1)
    mixed = [encode_metadata_record(change, 0), encode_metadata_record(flat[0][1], 0)]
    values = pa.array(mixed * (ROWS // 2), pa.binary())
    nothing = pa.nulls(ROWS, pa.binary())
    calls["two kinds of a metadata log"] = partial(
        decode_typed, "cluster-metadata", nothing, values
    )
    key = encode_coordinator_key(OffsetCommitKey(group="group", topic="topic", partition=3))
    commits = pa.array([encode_prefixed(flat[2][1], 3)] * ROWS, pa.binary())
    keys = pa.array([key] * ROWS, pa.binary())
    calls["offset commits, key and value"] = partial(decode_typed, "group", keys, commits)
    return calls


def _objects(data: bytes, message: type[Message], version: int) -> None:
    codec = message.codec(version)
    for _ in range(ROWS):
        codec.decode(data)


def main() -> int:
    print(f"typed records: {ROWS} rows")
    for name, seconds in take_turns(_typed()).items():
        print(f"  {name:32}{seconds / ROWS * 1e9:8.0f} ns a record")
    with tempfile.TemporaryDirectory() as directory:
        bench_plain(Path(directory))
        bench_compressed(Path(directory))
    return 0


if __name__ == "__main__":
    sys.exit(main())
