"""Spark's side of a stream: `spark.readStream.format("kraftwire")`.

Spark keeps one of these readers in a Python worker on the driver while a query runs, and creates
others in the tasks. Spark 4.2 and later pass the start of a trigger and support limits. 4.0 and
4.1 only ask for the newest offset, which is not enough to keep a limit across a restart.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pyspark import __version__ as spark_version
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from kraftwire_wire.errors import KraftwireError
from pyspark_kraftwire.columns.projection import Projection
from pyspark_kraftwire.decoding.split_reader import SplitReader
from pyspark_kraftwire.options import Options
from pyspark_kraftwire.planning.plan import Task
from pyspark_kraftwire.split import LostError
from pyspark_kraftwire.streaming.offsets import parse_stream_offset
from pyspark_kraftwire.streaming.progress import Progress

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow

    HAS_LIMITS = True
else:
    try:
        from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow
    except ModuleNotFoundError:
        SupportsTriggerAvailableNow = object
    HAS_LIMITS = SupportsTriggerAvailableNow is not object

_log = logging.getLogger(__name__)


class StreamPartition(InputPartition):
    """The splits of one Spark task."""

    def __init__(self, task: Task) -> None:
        super().__init__(None)
        self.task = task


class KraftwireStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads what brokers append as a stream."""

    def __init__(self, options: Options, projection: Projection) -> None:
        """Raise `KraftwireError` for options that streams or this Spark do not support."""
        is_limited = options.max_bytes_per_trigger or options.max_records_per_trigger
        if is_limited and not HAS_LIMITS:
            reason = "maxBytesPerTrigger and maxRecordsPerTrigger need pyspark 4.2 or later"
            raise KraftwireError(f"{reason}; this is {spark_version}")
        self._options = options
        self._reader = SplitReader(options, projection)
        self._progress  # noqa: B018  # checks the options before the query starts

    def __getstate__(self) -> dict[str, Any]:
        # Tasks do not need the progress.
        return {name: value for name, value in self.__dict__.items() if name != "_progress"}

    @cached_property
    def _progress(self) -> Progress:
        return Progress(self._options)

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802  # Spark's name
        """Return the offset of a stream without batches; the first batch says where it starts."""
        return {}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802  # Spark's name
        """Return one of the limits, if any; `latestOffset` takes their values from the options."""
        from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes, ReadMaxRows

        if self._options.max_bytes_per_trigger is not None:
            return ReadMaxBytes(self._options.max_bytes_per_trigger)
        if self._options.max_records_per_trigger is not None:
            return ReadMaxRows(self._options.max_records_per_trigger)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802  # Spark's name
        self._progress.fix_end()

    def latestOffset(  # noqa: N802  # Spark's name
        self, start: dict[str, Any] | None = None, limit: ReadLimit | None = None
    ) -> dict[str, Any]:
        """Return the end of the next batch."""
        if start is None:
            return self._progress.log_ends().to_json()
        begin = parse_stream_offset(start)
        is_limited = type(limit).__name__ != "ReadAllAvailable"
        return self._progress.latest(begin, limited=is_limited).to_json()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        stop = parse_stream_offset(end)
        if stop is None:
            return []
        tasks = self._progress.plan(parse_stream_offset(start), stop)
        return [StreamPartition(task) for task in tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, StreamPartition):
            return
        for split in partition.task:
            try:
                yield from self._reader.read([split])
            except LostError as error:
                if self._options.fail_on_data_loss:
                    raise
                _log.warning("left out: %s", error)
