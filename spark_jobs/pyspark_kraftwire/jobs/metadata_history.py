"""`metadata_history`: the history of a cluster, as tables, out of its metadata log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark.sql import DataFrame, SparkSession

from pyspark_kraftwire.jobs.metadata_log import SEQUENCE, MetadataLog, effective, read_log
from pyspark_kraftwire.jobs.metadata_nodes import brokers, leader_epochs, voters
from pyspark_kraftwire.jobs.metadata_topics import (
    assignments,
    leaderships,
    partition_states,
    topics,
)
from pyspark_kraftwire.jobs.tables import report_corrupt

_OF_RECORDS: dict[str, Callable[[DataFrame], DataFrame]] = {
    "topics": topics,
    "brokers": brokers,
    "voters": voters,
    "leader_epochs": leader_epochs,
}
_OF_STATES: dict[str, Callable[[DataFrame], DataFrame]] = {
    "partitions": assignments,
    "leaders": leaderships,
}
TABLES = ("topics", "partitions", "leaders", "brokers", "voters", "leader_epochs")
"""The tables by their names, made of the records that took effect, or of partitions' states."""
assert set(TABLES) == _OF_RECORDS.keys() | _OF_STATES.keys()


class History:
    """The tables of a metadata log; `problems` is how much of it could not be read."""

    def __init__(self, records: DataFrame, problems: int) -> None:
        """`records` are those that took effect."""
        self._records = records
        self._states: DataFrame | None = None
        self.problems = problems

    def close(self) -> None:
        """Let go of what was kept for several tables."""
        if self._states is not None:
            self._states.unpersist()

    def table(self, name: str) -> DataFrame:
        """A table, in the order of the log."""
        if name in _OF_STATES:
            if self._states is None:
                self._states = partition_states(self._records).persist()
            found = _OF_STATES[name](self._states)
        else:
            found = _OF_RECORDS[name](self._records)
        # One record can be about several partitions, or voters.
        within = [column for column in ("topic", "partition", "voterId") if column in found.columns]
        return found.orderBy(SEQUENCE, *within).drop(SEQUENCE)


@contextmanager
def history(spark: SparkSession, log: MetadataLog) -> Iterator[History]:
    """Read a log, once for all tables; what cannot be read is told on standard error."""
    rows = read_log(spark, log).persist()
    try:
        problems = report_corrupt(rows, log.corrupt_column)
        records = effective(rows).persist()
        try:
            told = History(records, problems)
            try:
                yield told
            finally:
                told.close()
        finally:
            records.unpersist()
    finally:
        rows.unpersist()
