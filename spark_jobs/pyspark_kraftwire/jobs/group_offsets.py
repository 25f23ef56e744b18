"""`group_offsets`: every offset that groups have committed, from `__consumer_offsets`.

Offsets committed in a transaction count if it was committed. As for every `read_committed` reader,
a partition ends before the first record of a transaction that is still open.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple
from uuid import UUID

import click
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812  # as everybody calls it
from pyspark.sql.pandas.types import from_arrow_schema, from_arrow_type

from kraftwire.log.queries.transactions import indexed_transactions
from kraftwire.printing import printable
from kraftwire_messages import kafka
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.uuids import format_uuid
from pyspark_kraftwire.columns.record_columns import COLUMNS, CORRUPT_RECORD, TYPE
from pyspark_kraftwire.columns.record_kinds import message_column
from pyspark_kraftwire.jobs.tables import report_corrupt
from pyspark_kraftwire.options import Mode, Options, parse_options, script_options
from pyspark_kraftwire.planning.plan import requested_partitions

_KINDS = {
    "OffsetCommit": (kafka.OffsetCommitKey, kafka.OffsetCommitValue),
    "LegacyOffsetCommit": (kafka.LegacyOffsetCommitKey, kafka.LegacyOffsetCommitValue),
}
_NO_TOPIC_ID = format_uuid(UUID(int=0))
_KEY = ("group", "topic", "partition")


class OffsetLog(NamedTuple):
    """The options to read a log with: as strings for Spark, and parsed."""

    given: Mapping[str, str]
    options: Options


def find_log(paths: tuple[str, ...], options: Mapping[str, str]) -> OffsetLog:
    """Return the log below some paths; raise `KraftwireError` if there is none.

    Print on standard error which partitions end early, at an open transaction.
    """
    defaults = {"mode": Mode.PERMISSIVE.value, "isolation": "read_committed"}
    given = {**script_options(paths, options, **defaults), "decode": "offsets"}
    parsed = parse_options(given)
    partitions = requested_partitions(parsed)
    if not partitions:
        raise KraftwireError(f"{', '.join(paths)}: no segment of __consumer_offsets")
    for partition in partitions if parsed.read_committed else ():
        stable = indexed_transactions(partition).last_stable_offset
        if stable is not None:
            reason = f"ends at offset {stable}, where a transaction is still open"
            click.echo(printable(f"{partition.label} {reason}"), err=True)
    return OffsetLog(given, parsed)


def _read_log(spark: SparkSession, log: OffsetLog) -> DataFrame:
    """Return the records of the log, and rows about unreadable bytes if `mode` has such rows."""
    is_permissive = log.options.mode is Mode.PERMISSIVE
    corrupt = log.options.corrupt_column
    fields = [pa.field(name, COLUMNS[name].type) for name in ("partition", "offset", "timestamp")]
    fields.append(pa.field(TYPE, pa.string()))
    for message in (message for kind in _KINDS.values() for message in kind):
        fields.append(pa.field(message.__name__, message_column(message)))
    if is_permissive:
        fields.append(pa.field(corrupt, CORRUPT_RECORD))
    options = {name: text for name, text in log.given.items() if name != "paths"}
    reader = spark.read.format("kraftwire").options(**options)
    frame = reader.schema(from_arrow_schema(pa.schema(fields))).load(list(log.options.paths))
    if is_permissive:
        return frame
    return frame.withColumn(corrupt, F.lit(None).cast(from_arrow_type(CORRUPT_RECORD)))


def _commits(rows: DataFrame) -> DataFrame:
    """Return every commit and every deletion of an offset; a deletion has no offset."""
    found = [_commits_of(rows, kind) for kind in _KINDS]
    return found[0].unionByName(found[1]).orderBy("logPartition", "logOffset")


def _commits_of(rows: DataFrame, kind: str) -> DataFrame:
    key, value = f"{kind}Key", f"{kind}Value"
    is_new = kind == "OffsetCommit"

    def new_field(name: str, type_: str) -> Column:
        """Return a field that legacy records do not have."""
        return F.col(f"{value}.{name}") if is_new else F.lit(None).cast(type_)

    epoch, expires = new_field("leader_epoch", "int"), new_field("expire_timestamp", "bigint")
    topic_id = new_field("topic_id", "string")
    return rows.where(F.col(TYPE) == kind).select(
        *(F.col(f"{key}.{name}") for name in _KEY),
        F.col(f"{value}.offset").alias("committedOffset"),
        F.when(epoch >= 0, epoch).alias("leaderEpoch"),
        F.col(f"{value}.metadata").alias("metadata"),
        F.timestamp_millis(f"{value}.commit_timestamp").alias("commitTimestamp"),
        F.timestamp_millis(F.when(expires >= 0, expires)).alias("expireTimestamp"),
        F.when(topic_id != _NO_TOPIC_ID, topic_id).alias("topicId"),
        F.col(value).isNull().alias("deleted"),
        F.col("partition").alias("logPartition"),
        F.col("offset").alias("logOffset"),
        F.col("timestamp").alias("logTimestamp"),
    )


def latest(history: DataFrame) -> DataFrame:
    """Return the newest row of each group and partition."""
    newest = Window.partitionBy(*_KEY).orderBy(F.desc("logOffset"))
    found = history.withColumn("_age", F.row_number().over(newest)).where("_age = 1")
    return found.drop("_age").orderBy(*_KEY)


class Offsets(NamedTuple):
    """The history of offsets, and the number of problems in the log."""

    history: DataFrame
    problems: int


@contextmanager
def offsets(spark: SparkSession, log: OffsetLog) -> Iterator[Offsets]:
    """Read a log once; print on standard error what cannot be read."""
    rows = _read_log(spark, log).persist()
    try:
        yield Offsets(_commits(rows), report_corrupt(rows, log.options.corrupt_column))
    finally:
        rows.unpersist()
