"""Speed of the Spark data source, on two cores and in one run with what else there is.

    python -m codec_tests.bench.spark [--large] [--svg FILE]

Segments of 1 GiB from our own writer lie in the page cache; with `--large` there are eight.
Actions take turns, the best turn counts, the first warms up. Rows go to Spark's `noop` sink,
which takes them all and keeps none, unless an action says otherwise. The memory is the most
that a Python worker held, as the kernel counts it.
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
    """Partitions `plain-0` and on, a segment each; the records of one."""
    segment, records = make_segment(directory / "plain-0", size, _VALUE, _TO_A_BATCH)
    for number in range(1, copies):
        shutil.copytree(segment.parent, directory / f"plain-{number}")
    return records


# -- actions ---------------------------------------------------------------------------------


def binary_files(spark: SparkSession, path: Path) -> DataFrame:
    """Whole files through Spark, decoded behind it."""
    files = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    content = files.option("pathGlobFilter", "*.log").load(str(path)).select("content")
    return content.mapInArrow(decode_files, _BINARY)


@contextmanager
def watching_workers() -> Iterator[list[int]]:
    """Follow the Python workers below this process; the list ends up with the most one held."""
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
    """The resident bytes of processes that Spark runs Python in."""
    for entry in Path("/proc").iterdir():
        try:
            if b"pyspark.daemon" in (entry / "cmdline").read_bytes():
                status = (entry / "status").read_text()
                yield int(status.split("VmRSS:")[1].split()[0]) << 10
        except (OSError, IndexError):
            continue  # no process, or one that has just ended


def bench_plain(spark: SparkSession, directory: Path, copies: int) -> dict[str, float]:
    """Records of about 600 bytes; the best times."""
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
    """Whether the time grows with the bytes alone."""
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
    """A segment of 1 GiB with its index."""
    options = parse_options({"path": str(directory / "one")})
    best = take_turns({"plan": partial(plan, options)}, 20)["plan"]
    print(f"\nplanning a segment of 1 GiB through its index: {best * 1e3:.2f} ms")


def draw(target: Path, segment: Path, best: dict[str, float]) -> None:
    """The picture of where the time goes."""
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
    """Print the figures."""
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
