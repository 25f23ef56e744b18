"""Speed of the Spark data source on two cores, compared with other ways in one run.

    python -m codec_tests.bench.spark [--large] [--svg FILE]

Segments of 1 GiB from our own writer are in the page cache; `--large` uses eight. Actions take
turns, the best time counts, and the first round warms up. Rows go to Spark's `noop` sink unless an
action says otherwise. Memory is the maximum of a Python worker as the kernel reports it.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from pyspark_kraftwire.options import parse_options
from pyspark_kraftwire.planning.plan import plan

from codec_tests.bench.logs import make_segment, take_turns
from codec_tests.bench.spark_actions import report, segments, to_nothing
from codec_tests.bench.spark_parquet import bench_parquet
from codec_tests.bench.spark_peers import AiokafkaSource, decode_files
from codec_tests.bench.spark_phases import measure, picture
from codec_tests.bench.spark_typed import bench_typed
from codec_tests.spark_session import local_spark

GIB = 1 << 30
SMALL = 32 << 20
"""binaryFile holds whole files: two of 128 MiB are too much for a heap of 1 GiB."""
ROUNDS = 4
_VALUE, _TO_A_BATCH = 560, 28
_PRUNED = "offset bigint, timestamp timestamp, key binary"
_BINARY = "key binary, value binary, offset bigint"


SETTINGS = {
    "spark.driver.memory": "1g",
    "spark.sql.parquet.compression.codec": "zstd",
}


# -- data ------------------------------------------------------------------------------------


def make_plain(directory: Path, size: int, copies: int) -> int:
    """Write partitions `plain-0` and on with one segment each; return the records of one."""
    segment, records = make_segment(directory / "plain-0", size, _VALUE, _TO_A_BATCH)
    for number in range(1, copies):
        shutil.copytree(segment.parent, directory / f"plain-{number}")
    return records


# -- actions ---------------------------------------------------------------------------------


def binary_files(spark: SparkSession, path: Path) -> DataFrame:
    """Read whole files with Spark and decode them in Python."""
    files = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    content = files.option("pathGlobFilter", "*.log").load(str(path)).select("content")
    return content.mapInArrow(decode_files, _BINARY)


@contextmanager
def watching_workers() -> Iterator[list[int]]:
    """Yield a list whose one item becomes the maximum memory of a Python worker."""
    most = [0]
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.05):
            most[0] = max([most[0], *_worker_sizes()])

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield most
    finally:
        done.set()
        thread.join()


def _worker_sizes() -> Iterator[int]:
    """Yield the resident bytes of Spark's Python processes."""
    for entry in Path("/proc").iterdir():
        try:
            if b"pyspark.daemon" in (entry / "cmdline").read_bytes():
                status = (entry / "status").read_text()
                yield int(status.split("VmRSS:")[1].split()[0]) << 10
        except (OSError, IndexError):
            continue  # not a process, or it has just ended


def bench_plain(spark: SparkSession, directory: Path, copies: int) -> dict[str, float]:
    """Measure records of about 600 bytes; return the best times."""
    records = make_plain(directory / "one", GIB, 1)
    make_plain(directory / "small", SMALL, 8)
    actions: dict[str, Callable[[], object]] = {
        "count()": lambda: segments(spark, directory / "one").count(),
        "all columns": lambda: to_nothing(segments(spark, directory / "one")),
        "offset, timestamp, key": lambda: to_nothing(segments(spark, directory / "one", _PRUNED)),
    }
    small: dict[str, Callable[[], object]] = {
        "key, value, offset": lambda: to_nothing(segments(spark, directory / "small", _BINARY)),
        "  binaryFile + mapInArrow": lambda: to_nothing(binary_files(spark, directory / "small")),
    }
    size = (directory / "one/plain-0/00000000000000000000.log").stat().st_size
    with watching_workers() as most:
        best = take_turns(actions, ROUNDS)
    report("a segment of 1 GiB", size, records, best)
    print(f"  a Python worker held at most {most[0] / 1e6:.0f} MB")
    report("8 segments of 32 MiB", 8 * SMALL, records // 4, take_turns(small, ROUNDS))
    tuples = spark.read.format("aiokafka").load(str(directory / "small/plain-0"))
    seconds = take_turns({"aiokafka": partial(to_nothing, tuples)}, 1)["aiokafka"]
    report("one of them", SMALL, records // 32, {"  tuples of aiokafka": seconds})
    if copies > 1:
        bench_large(spark, directory, copies, best["count()"])
    return best


def bench_large(spark: SparkSession, directory: Path, copies: int, one: float) -> None:
    """Check that the time grows only with the bytes."""
    records = make_plain(directory / "many", GIB, copies)
    calls: dict[str, Callable[[], object]] = {
        "count()": lambda: segments(spark, directory / "many").count(),
        "offset, timestamp, key": lambda: to_nothing(segments(spark, directory / "many", _PRUNED)),
    }
    with watching_workers() as most:
        best = take_turns(calls, 2)
    report(f"{copies} segments of 1 GiB", copies * GIB, copies * records, best)
    print(f"  count(): {best['count()'] / copies / one:.2f} of the time for one, per GiB")
    print(f"  a Python worker held at most {most[0] / 1e6:.0f} MB")


def bench_planning(directory: Path) -> None:
    options = parse_options({"path": str(directory / "one")})
    best = take_turns({"plan": partial(plan, options)}, 20)["plan"]
    print(f"\nplanning a segment of 1 GiB through its index: {best * 1e3:.2f} ms")


def draw(target: Path, segment: Path, best: dict[str, float]) -> None:
    bars = [
        measure("all columns", segment, None, best["all columns"]),
        measure(
            "offset, timestamp, key",
            segment,
            ("offset", "timestamp", "key"),
            best["offset, timestamp, key"],
        ),
    ]
    note = "Core-seconds for 1 GiB of records of 600 bytes on two cores, from the page cache"
    target.write_text(picture(bars, note))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true", help="eight segments of 1 GiB as well")
    parser.add_argument("--svg", type=Path, help="where to draw where the time goes")
    arguments = parser.parse_args()
    with local_spark("kraftwire bench", SETTINGS) as spark, tempfile.TemporaryDirectory() as name:
        spark.dataSource.register(AiokafkaSource)
        directory = Path(name)
        best = bench_plain(spark, directory, 8 if arguments.large else 1)
        if arguments.svg:
            draw(arguments.svg, directory / "one/plain-0/00000000000000000000.log", best)
        bench_planning(directory)
        bench_typed(spark, directory, ROUNDS)
        bench_parquet(spark, directory, ROUNDS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
