"""Speed of reading segments: headers, batches, records, and the dump command.

    python -m codec_tests.bench.logs [--java]

Creates segments with incompressible values in batches of 16 KB and 1 KB, and with small values for
every codec. All readers take turns on the same file in the page cache; the best time counts.
`--java` includes Kafka's dump tool, with JVM start: the time for a large file less that for a
small one is without it.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from aiokafka.record.memory_records import MemoryRecords as AioRecords
from kafka.record import MemoryRecords

from kraftwire.log import Batch, FileSource, Record, scan_batches, scan_headers
from kraftwire.log.batches.compression import Compression
from kraftwire.log.batches.encoding import BatchSettings, encode_batch
from kraftwire.log.writers.segment_writer import SegmentWriter

ROUNDS = 9
_MEGABYTE = 1_000_000


def make_segment(
    directory: Path,
    size: int,
    value: int,
    count: int,
    codec: Compression = Compression.NONE,
    *,
    is_words: bool | None = None,
) -> tuple[Path, int]:
    """Write a segment of about `size` bytes; return its path and its number of records.

    A batch has `count` values of `value` bytes: words if there is a codec, else incompressible
    bytes, unless `is_words` is set.
    """
    rng = random.Random(7)
    if is_words is None:
        is_words = codec is not Compression.NONE
    templates = [_values(rng, value, count, is_words=is_words) for _ in range(20)]
    directory.mkdir(parents=True)
    offset = turn = 0
    with SegmentWriter(directory, 0) as writer:
        while writer.size < size:
            records = [
                Record(offset + number, 1_700_000_000_000 + offset, b"key %d" % number, content, ())
                for number, content in enumerate(templates[turn % len(templates)])
            ]
            writer.append(encode_batch(records, BatchSettings(codec=codec)))
            offset += count
            turn += 1
    return directory / "00000000000000000000.log", offset


def _values(rng: random.Random, value: int, count: int, *, is_words: bool) -> list[bytes]:
    if not is_words:
        return [rng.randbytes(value) for _ in range(count)]
    words = [b"tea", b"cup", b"kettle", b"leaf", b"water", b"steam"]
    return [b" ".join(rng.choices(words, k=value // 5)) for _ in range(count)]


def read_file(path: Path, buffer: bytearray) -> None:
    """Read a file through a buffer."""
    with FileSource(path) as source:
        for position in range(0, source.size, len(buffer)):
            source.read_into(position, buffer)


def _headers(path: Path) -> int:
    with FileSource(path) as source:
        return sum(1 for _ in scan_headers(source))


def _batches(path: Path) -> int:
    with FileSource(path) as source:
        return sum(1 for _ in scan_batches(source))


def _records(path: Path) -> int:
    with FileSource(path) as source:
        return sum(len(item.records) for item in scan_batches(source) if isinstance(item, Batch))


def _kafka_python(path: Path) -> int:
    records: Any = MemoryRecords(path.read_bytes())
    count = 0
    while (batch := records.next_batch()) is not None:
        assert batch.validate_crc()
        for _ in batch:
            count += 1
    return count


def _aiokafka(path: Path) -> int:
    records: Any = AioRecords(path.read_bytes())
    count = 0
    while records.has_next():
        batch = records.next_batch()
        assert batch.validate_crc()
        for _ in batch:
            count += 1
    return count


def take_turns(
    calls: dict[str, Callable[[], object]],
    rounds: int = ROUNDS,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Return the best time of each call in seconds."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            start = clock()
            call()
            best[name] = min(best[name], clock() - start)
    return best


def report(title: str, size: int, records: int, best: dict[str, float]) -> None:
    print(f"\n{title}: {size / _MEGABYTE:.0f} MB, {records} records")
    for name, seconds in best.items():
        rate = f"{size / seconds / _MEGABYTE:8.0f} MB/s"
        print(
            f"  {name:28}{seconds * 1e3:9.1f} ms {rate} {seconds / records * 1e9:8.0f} ns a record"
        )


def bench_reading(directory: Path) -> None:
    """Compare our readers with other clients' on several shapes."""
    shapes = [
        ("values of 1000 bytes, batches of 16 KB", 200_000_000, 1000, 16, Compression.NONE),
        ("values of 60 bytes, batches of 16 KB", 20_000_000, 60, 200, Compression.NONE),
        ("values of 1000 bytes, one a batch", 50_000_000, 1000, 1, Compression.NONE),
    ]
    shapes += [
        (f"values of 60 bytes, {codec.label}", 4_000_000, 60, 200, codec)
        for codec in Compression
        if codec
    ]
    for number, (title, size, value, count, codec) in enumerate(shapes):
        path, records = make_segment(directory / f"shape-{number}", size, value, count, codec)
        calls: dict[str, Callable[[], object]] = {
            "read the file": path.read_bytes,
            "headers": partial(_headers, path),
            "batches, CRC checked": partial(_batches, path),
            "records, CRC checked": partial(_records, path),
            "aiokafka's records (Cython)": partial(_aiokafka, path),
        }
        if codec in (Compression.NONE, Compression.GZIP):
            calls["kafka-python's records"] = partial(_kafka_python, path)
        report(title, path.stat().st_size, records, take_turns(calls))


def bench_dump(directory: Path) -> None:
    """Compare `kraftwire log dump` and `scan` with Kafka's own tool."""
    path, records = make_segment(directory / "dump-0", 20_000_000, 1000, 16)
    small, _ = make_segment(directory / "dump-1", 20_000, 1000, 16)
    kraftwire = [str(Path(sys.executable).with_name("kraftwire")), "log"]

    def run(*command: str) -> None:
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)

    def java(file: Path, *options: str) -> None:
        from codec_tests.interop.kafka_tools import run_tool

        run_tool("DumpLogSegments", *options, "--files", str(file))

    calls: dict[str, Callable[[], object]] = {
        "kraftwire log scan": lambda: run(*kraftwire, "scan", str(path)),
        "kraftwire log dump --batches": lambda: run(*kraftwire, "dump", "--batches", str(path)),
        "kraftwire log dump": lambda: run(*kraftwire, "dump", str(path)),
        "(start of kraftwire)": lambda: run(*kraftwire, "dump", str(small)),
    }
    if "--java" in sys.argv:
        calls |= {
            "DumpLogSegments, batches": lambda: java(path),
            "DumpLogSegments, records": lambda: java(path, "--print-data-log"),
            "(start of DumpLogSegments)": lambda: java(small),
        }
    report("the commands", path.stat().st_size, records, take_turns(calls, 3))


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="kraftwire-bench-") as name:
        bench_reading(Path(name))
        bench_dump(Path(name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
