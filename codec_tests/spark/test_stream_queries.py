"""Streaming queries of Spark's over logs that grow: started, stopped, failed and killed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # as everybody calls it
from pyspark.sql.streaming.query import StreamingQuery

from kraftwire_wire.records import ControlType

from codec_tests.spark import killed_query
from codec_tests.spark.growing import GrowingLog, Seen, transactional

pytestmark = pytest.mark.xdist_group("spark")

SECONDS = 120
"""How long anything may take, on a busy machine too."""


class Queries:
    """Queries from one data directory to Parquet files, one after the other."""

    def __init__(self, spark: SparkSession, place: Path) -> None:
        self.spark = spark
        self.data, self.output, self.checkpoint = (
            place / name for name in ("data", "output", "checkpoint")
        )
        self.data.mkdir()

    def stream(self, **options: object) -> DataFrame:
        """The stream of what is below the data directory."""
        reader = self.spark.readStream.format("kraftwire")
        for name, value in options.items():
            reader = reader.option(name, str(value))
        return reader.load(str(self.data))

    def start(self, frame: DataFrame, *, available_now: bool = False) -> StreamingQuery:
        """Start a query from where the last one was."""
        writer = frame.writeStream.format("parquet").option(
            "checkpointLocation", str(self.checkpoint)
        )
        if available_now:
            writer = writer.trigger(availableNow=True)
        return writer.start(str(self.output))

    def run(self, frame: DataFrame) -> list[int]:
        """Read what is there; how many rows each batch had."""
        query = self.start(frame, available_now=True)
        assert query.awaitTermination(SECONDS)
        return [progress.numInputRows for progress in query.recentProgress]

    def read(self) -> list[Seen]:
        """What the queries have written, in the order of the logs."""
        frame = self.spark.read.parquet(str(self.output))
        rows = frame.select("topic", "partition", "offset", "value").collect()
        return sorted((row[0], row[1], row[2], bytes(row[3])) for row in rows)


@pytest.fixture
def queries(spark: SparkSession, tmp_path: Path) -> Queries:
    return Queries(spark, tmp_path)


@pytest.mark.slow
def test_available_now_runs_continue_each_other(queries: Queries) -> None:
    logs = [GrowingLog(queries.data, "orders-0"), GrowingLog(queries.data, "orders-1")]
    for count in (3, 5):
        for log in logs:
            log.append(count, 1)
            log.roll()
        queries.run(queries.stream())
        assert queries.read() == logs[0].records + logs[1].records
    logs.append(GrowingLog(queries.data, "tea-with-dashes-0"))
    logs[2].append(2)
    logs[0].retire()
    queries.run(queries.stream())
    queries.run(queries.stream())
    assert queries.read() == sorted(record for log in logs for record in log.records)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limit", "most"), [("maxRecordsPerTrigger", 7), ("maxBytesPerTrigger", 400)]
)
def test_the_progress_shows_the_limits(queries: Queries, limit: str, most: int) -> None:
    logs = [GrowingLog(queries.data, f"orders-{number}") for number in range(2)]
    for log in logs:
        log.append(*[2] * 5)
    if limit == "maxBytesPerTrigger":
        most = logs[0].active.stat().st_size // 5 * 3  # three batches of two records
    rows = queries.run(queries.stream(**{limit: most}))
    assert [count for count in rows if count] == [6, 6, 6, 2]
    assert queries.read() == logs[0].records + logs[1].records


@pytest.mark.slow
def test_a_query_stopped_between_batches_resumes(queries: Queries) -> None:
    log = GrowingLog(queries.data, "orders-0")
    for _ in range(3):
        query = queries.start(queries.stream(maxRecordsPerTrigger=3))
        try:
            for count in (4, 2):
                log.append(1, count)
                query.processAllAvailable()
                assert queries.read() == log.records
            log.append(1)  # perhaps in a batch of this query, perhaps in one of the next
        finally:
            query.stop()
        log.roll()
    queries.run(queries.stream())
    assert queries.read() == log.records


def failing_once(marker: Path) -> Callable[[int], bool]:
    """What lets rows pass and fails at offset 6, unless it has failed before."""

    def fail(offset: int) -> bool:
        if offset == 6 and not marker.exists():
            marker.touch()
            raise RuntimeError("this task fails once")
        return True

    return fail


@pytest.mark.slow
def test_a_batch_repeated_after_a_failed_task_is_the_same(queries: Queries, tmp_path: Path) -> None:
    log = GrowingLog(queries.data, "orders-0")
    log.append(2, 2)
    log.roll()
    log.append(2, 2)
    frame = queries.stream(startingOffsets=1)
    fails = F.udf(failing_once(tmp_path / "failed"), "boolean", useArrow=False)(frame["offset"])
    with pytest.raises(StreamingQueryException, match="this task fails once"):
        queries.run(frame.where(fails))
    log.append(3)
    rows = queries.run(frame.where(fails))
    assert [count for count in rows if count] == [7, 3]
    assert queries.read() == log.records[1:]


@pytest.mark.slow
def test_killing_spark_within_a_batch_duplicates_nothing(queries: Queries) -> None:
    log = GrowingLog(queries.data, "orders-0")
    log.append(*[2] * 10)
    paths = [str(path) for path in (queries.data, queries.output, queries.checkpoint)]
    command = [sys.executable, killed_query.__file__, *paths, "13"]
    killed = subprocess.run(command, capture_output=True, timeout=SECONDS, check=False)
    assert killed.returncode != 0
    assert sorted(path.name for path in (queries.checkpoint / "commits").glob("[0-9]*")) == ["0"]
    log.append(1, 1)
    log.roll()
    log.append(2)
    rows = queries.run(queries.stream(maxRecordsPerTrigger=8))
    assert [count for count in rows if count] == [8, 8]
    assert queries.read() == log.records


@pytest.mark.slow
def test_latest_and_read_committed_work_together(queries: Queries) -> None:
    log = GrowingLog(queries.data, "orders-0")
    log.append(3)
    options = {"startingOffsets": "latest", "isolation": "read_committed"}
    queries.run(queries.stream(**options))
    log.write(log.batch(2, transactional(7)))
    log.append(1)
    queries.run(queries.stream(**options))
    assert queries.read() == []
    log.write(log.marker(ControlType.COMMIT, 7))
    queries.run(queries.stream(**options))
    assert queries.read() == log.records[3:]


@pytest.mark.slow
def test_lost_offsets_end_the_query(queries: Queries) -> None:
    log = GrowingLog(queries.data, "orders-0")
    log.append(1)
    queries.run(queries.stream())
    log.append(2)
    log.roll()
    log.append(1)
    log.retire()
    with pytest.raises(StreamingQueryException, match="offsets 1 to 2 were deleted"):
        queries.run(queries.stream())
    queries.run(queries.stream(failOnDataLoss="false"))
    assert queries.read() == log.records[:1] + log.records[3:]


@pytest.mark.slow
def test_ending_offsets_are_refused(queries: Queries) -> None:
    GrowingLog(queries.data, "orders-0")
    with pytest.raises(Exception, match="endingOffsets: a stream has no end"):
        queries.run(queries.stream(endingOffsets=4))


@pytest.mark.slow
def test_a_query_with_a_given_schema_reads_only_its_columns(queries: Queries) -> None:
    log = GrowingLog(queries.data, "orders-0")
    log.append(3)
    reader = queries.spark.readStream.format("kraftwire").schema("offset bigint")
    query = (
        reader.load(str(queries.data))
        .writeStream.format("memory")
        .queryName("offsets_alone")
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(SECONDS)
    rows = queries.spark.table("offsets_alone").collect()
    assert [tuple(row) for row in rows] == [(0,), (1,), (2,)]
