"""Segments to Parquet with zstd level 3: `--writer arrow`, compared with Spark's own writer.

Both write the same columns to the same disk, each turn into a new directory.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession

from pyspark_kraftwire.jobs.export.export import ExportRequest, prepare, run

from codec_tests.bench.logs import make_segment, take_turns
from codec_tests.bench.spark_actions import report, segments

SIZE = 256 << 20
_SHAPES = (
    ("values of 1,000 bytes that do not compress", 1000, 16, False),
    ("values of 1,000 bytes, words", 1000, 16, True),
    ("values of 100 bytes, words", 100, 160, True),
)


def bench_parquet(spark: SparkSession, directory: Path, rounds: int) -> None:
    """Compare the writers on segments of a few kinds."""
    for number, (title, value, count, is_words) in enumerate(_SHAPES):
        path = directory / f"parquet-{number}" / "plain-0"
        segment, records = make_segment(path, SIZE, value, count, is_words=is_words)
        out = directory / "out"
        calls: dict[str, Callable[[], object]] = {
            "--writer arrow": partial(by_arrow, spark, path, out),
            "Spark's writer": partial(by_spark, spark, path, out),
        }
        best = take_turns(calls, rounds)
        report(f"Parquet, {title}", segment.stat().st_size, records, best)
        ratio = best["Spark's writer"] / best["--writer arrow"]
        print(f"  Spark's writer takes {ratio:.2f} times as long")
        shutil.rmtree(path.parent)


def by_arrow(spark: SparkSession, path: Path, out: Path) -> None:
    """Write in the tasks."""
    shutil.rmtree(out, ignore_errors=True)
    run(spark, prepare(ExportRequest.of((str(path),), str(out), {})))


def by_spark(spark: SparkSession, path: Path, out: Path) -> None:
    """Write through the JVM; a setting of the session selects the codec."""
    shutil.rmtree(out, ignore_errors=True)
    segments(spark, path).write.partitionBy("topic", "partition").parquet(str(out))
