"""The tables of `metadata_history` as DataFrames."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # as everybody calls it
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from kraftwire.printing import printable
from pyspark_kraftwire.jobs.cluster_history.replay import (
    PROBLEMS,
    SCHEMA,
    MetadataLog,
    open_log,
    replay,
)

if TYPE_CHECKING:
    import pyarrow as pa

_OPTIONS = "log"


class History:
    """The tables of a metadata log; `problems` is the number of problems in it."""

    def __init__(self, rows: DataFrame, problems: int) -> None:
        """`rows` are the rows of all tables."""
        self._rows = rows
        self.problems = problems

    def table(self, name: str) -> DataFrame:
        """Return a table, in the order of the log."""
        return self._rows.where(F.col(name).isNotNull()).select(f"{name}.*")


@contextmanager
def history(spark: SparkSession, log: MetadataLog) -> Iterator[History]:
    """Replay a log once for all tables; print on standard error what cannot be read."""
    spark.dataSource.register(_HistorySource)
    reader = spark.read.format(_HistorySource.name()).option(
        _OPTIONS, json.dumps(dict(log.options))
    )
    rows = reader.load().persist()
    try:
        found = rows.where(F.col(PROBLEMS).isNotNull()).select(f"{PROBLEMS}.reason").collect()
        for row in found:
            click.echo(printable(row.reason), err=True)
        yield History(rows, len(found))
    finally:
        rows.unpersist()


class _HistorySource(DataSource):
    """The rows of all tables, from one task that replays the log."""

    @classmethod
    def name(cls) -> str:
        return "kraftwire_metadata_history"

    def schema(self) -> StructType:
        return from_arrow_schema(SCHEMA)

    def reader(self, schema: StructType) -> DataSourceReader:
        return _HistoryReader(json.loads(self.options[_OPTIONS]))


class _HistoryReader(DataSourceReader):
    def __init__(self, options: dict[str, str]) -> None:
        self._options = options

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        yield from replay(open_log(self._options))
