"""The Spark data source `kraftwire`: Spark's side of batch reads.

On the driver, Spark creates a `KraftwireSource` from the options, gets a schema and a reader from
it, and calls `partitions` in a Python worker; `read` runs in the executors.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.types import StructType

from pyspark_kraftwire.options import AUTO, Options, parse_options

if TYPE_CHECKING:
    import pyarrow as pa

    from pyspark_kraftwire.columns.filters import PushedFilter
    from pyspark_kraftwire.columns.projection import Projection
    from pyspark_kraftwire.columns.record_kinds import RecordKind
    from pyspark_kraftwire.planning.plan import Task


class KraftwireSource(DataSource):
    """Kafka's log segments as DataFrames: `spark.read.format("kraftwire").load(path)`."""

    @classmethod
    def name(cls) -> str:
        return "kraftwire"

    @cached_property
    def _options(self) -> Options:
        return parse_options(dict(self.options))

    @cached_property
    def _kinds(self) -> list[RecordKind]:
        """The kinds of typed records; for `auto`, found by listing the paths."""
        from pyspark_kraftwire.columns.record_kinds import requested_kinds
        from pyspark_kraftwire.planning.plan import logs_of, requested_partitions

        options = self._options
        logs = logs_of(requested_partitions(options)) if options.decode == AUTO else ()
        return requested_kinds(options, logs)

    def schema(self) -> StructType:
        """Return the default columns."""
        from pyspark.sql.pandas.types import from_arrow_schema

        from pyspark_kraftwire.columns.record_columns import default_schema

        return from_arrow_schema(default_schema(self._options, self._kinds))

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return a batch reader; it accepts filters if Spark pushes them down."""
        kind = _FilteringReader if _pushes_filters_down() else _Reader
        return kind(self._options, self._project(schema))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """Return a reader that follows the logs."""
        from pyspark_kraftwire.stream_source import KraftwireStreamReader

        return KraftwireStreamReader(self._options, self._project(schema))

    def _project(self, schema: StructType) -> Projection:
        """Return the columns that a Spark schema requests."""
        from pyspark_kraftwire.columns.projection import project

        return project(_arrow_schema(schema), self._options, self._kinds)


def _arrow_schema(schema: StructType) -> pa.Schema:
    """Return the schema that Spark compares Arrow batches with."""
    from pyspark.sql.pandas.types import to_arrow_schema

    try:
        return to_arrow_schema(schema, timezone="UTC")
    except TypeError:  # older pyspark always uses UTC
        return to_arrow_schema(schema)


def _pushes_filters_down() -> bool:
    """Whether this is the worker in which Spark plans reads with filters.

    If `spark.sql.python.filterPushdown.enabled` is off, Spark refuses a reader with
    `pushFilters`, and a data source cannot see that setting. If it is on, Spark plans queries
    with filters in a worker that runs the module `planner`.
    """
    planner = "pyspark.sql.worker.data_source_pushdown_filters"
    main = getattr(sys.modules.get("__main__"), "__spec__", None)
    return planner in sys.modules or (main is not None and main.name == planner)


class TaskPartition(InputPartition):
    """The splits of one Spark task."""

    def __init__(self, task: Task) -> None:
        super().__init__(None)
        self.task = task


class _Reader(DataSourceReader):
    def __init__(self, options: Options, projection: Projection) -> None:
        from pyspark_kraftwire.decoding.split_reader import SplitReader

        self._reader = SplitReader(options, projection)

    def partitions(self) -> Sequence[InputPartition]:
        """Return the tasks; none if the filters exclude everything."""
        from pyspark_kraftwire.planning.plan import plan

        tasks = plan(self._reader.options, self._reader.filters)
        return [TaskPartition(task) for task in tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # If there are no tasks, Spark passes a partition that it created itself.
        return self._reader.read(partition.task if isinstance(partition, TaskPartition) else ())


class _FilteringReader(_Reader):
    def pushFilters(self, filters: list[Any]) -> Iterable[Any]:  # noqa: N802  # Spark's name
        """Accept the filters that can be applied exactly; yield the others back to Spark."""
        from dataclasses import replace

        from pyspark_kraftwire.columns.filters import PushedFilters, can_apply

        accepted = []
        for one in filters:
            parsed = parse_filter(one)
            if parsed is not None and can_apply(parsed, self._reader.projection.schema):
                accepted.append(parsed)
            else:
                yield one
        self._reader = replace(self._reader, filters=PushedFilters(tuple(accepted)))


def parse_filter(one: Any) -> PushedFilter | None:
    """Return a filter of `pyspark.sql.datasource` as ours; None for one on a field of a struct."""
    from pyspark.sql.datasource import Not

    from pyspark_kraftwire.columns.filters import PushedFilter

    negated = isinstance(one, Not)
    inner: Any = one.child if negated else one
    path: tuple[str, ...] = getattr(inner, "attribute", ())
    if len(path) != 1:
        return None
    return PushedFilter(type(inner).__name__, path[0], getattr(inner, "value", None), negated)
