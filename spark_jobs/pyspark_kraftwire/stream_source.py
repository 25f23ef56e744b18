"""Spark's side of a stream: `spark.readStream.format("kraftwire")`.

Spark keeps one of these readers in a Python worker on the driver for as long as a query runs,
and makes others to read with. Spark 4.2 and later say where a trigger begins and have limits;
4.0 and 4.1 ask for the newest offset alone, with which a limit cannot be kept over a restart.
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
    """What one task of Spark's reads of a stream."""

    def __init__(self, task: Task) -> None:
        super().__init__(None)
        self.task = task


class KraftwireStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A stream of what brokers append."""

    def __init__(self, options: Options, wanted: Projection) -> None:
        """Raises `KraftwireError` for options that streams or this Spark do not support."""
        is_limited = options.max_bytes_per_trigger or options.max_records_per_trigger
        if is_limited and not HAS_LIMITS:
            what = "maxBytesPerTrigger and maxRecordsPerTrigger need pyspark 4.2 or later"
            raise KraftwireError(f"{what}; this is {spark_version}")
        self._options = options
        self._reading = SplitReader(options, wanted)
        self._progress  # noqa: B018  # refuses options before the query begins

    def __getstate__(self) -> dict[str, Any]:
        # Tasks read without it.
        return {name: of for name, of in self.__dict__.items() if name != "_progress"}

    @cached_property
    def _progress(self) -> Progress:
        return Progress(self._options)

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802  # Spark's name
        """A stream that has not begun: the first batch says where it does."""
        return {}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802  # Spark's name
        """A limit where there is one; the options say what it is, for there may be two."""
        from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes, ReadMaxRows

        if self._options.max_bytes_per_trigger is not None:
            return ReadMaxBytes(self._options.max_bytes_per_trigger)
        if self._options.max_records_per_trigger is not None:
            return ReadMaxRows(self._options.max_records_per_trigger)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802  # Spark's name
        """Make the stream end where the logs end now."""
        self._progress.fix_end()

    def latestOffset(  # noqa: N802  # Spark's name
        self, start: dict[str, Any] | None = None, limit: ReadLimit | None = None
    ) -> dict[str, Any]:
        """Return the end of the next batch."""
        if start is None:
            return self._progress.reach().to_json()
        begin = parse_stream_offset(start)
        is_limited = type(limit).__name__ != "ReadAllAvailable"
        return self._progress.latest(begin, limited=is_limited).to_json()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """The tasks of a batch."""
        stop = parse_stream_offset(end)
        if stop is None:
            return []
        tasks = self._progress.plan(parse_stream_offset(start), stop)
        return [StreamPartition(task) for task in tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a task."""
        if not isinstance(partition, StreamPartition):
            return
        for split in partition.task:
            try:
                yield from self._reading.read([split])
            except LostError as error:
                if self._options.fail_on_data_loss:
                    raise
                _log.warning("left out: %s", error)
