"""Actions on Spark data frames that the benchmarks share, and how their times are printed."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession


def to_nothing(frame: DataFrame) -> None:
    """Produce every row and discard it."""
    frame.write.format("noop").mode("overwrite").save()


def segments(
    spark: SparkSession, path: Path, schema: str | None = None, decode: str | None = None
) -> DataFrame:
    """Return a read of segments, with all columns or those of a schema."""
    reader = spark.read.format("kraftwire")
    if decode is not None:
        reader = reader.option("decode", decode)
    return (reader.schema(schema) if schema else reader).load(str(path))


def report(title: str, size: int, records: int, best: dict[str, float]) -> None:
    """Print the times of actions on the same bytes."""
    print(f"\n{title}: {size / 1e6:.0f} MB, {records} records")
    for name, seconds in best.items():
        rates = f"{size / seconds / 1e6:8.0f} MB/s {records / seconds / 1e6:7.2f} M records/s"
        print(f"  {name:34}{seconds:8.2f} s {rates}")
