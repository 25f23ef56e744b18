"""`group_offsets`: every offset that groups have committed, out of `__consumer_offsets`.

What was committed in a transaction counts where that was committed. As to any reader of what
is committed, there is nothing behind the first record of a transaction that is still open.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple
from uuid import UUID

import click
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812  # as everybody calls it

from kraftwire.log.queries.transactions import indexed_transactions
from kraftwire.printing import printable
from kraftwire_messages import kafka
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.uuids import format_uuid
from pyspark_kraftwire.columns.record_columns import TYPE
from pyspark_kraftwire.jobs.records import read_records
from pyspark_kraftwire.jobs.tables import report_corrupt
from pyspark_kraftwire.options import Mode, parse_options
from pyspark_kraftwire.planning.plan import requested_partitions

_KINDS = {
    "OffsetCommit": (kafka.OffsetCommitKey, kafka.OffsetCommitValue),
    "LegacyOffsetCommit": (kafka.LegacyOffsetCommitKey, kafka.LegacyOffsetCommitValue),
}
_NO_TOPIC_ID = format_uuid(UUID(int=0))
_KEY = ("group", "topic", "partition")


class OffsetLog(NamedTuple):
    """Where the partitions to read lie, and the options of the source."""

    paths: tuple[str, ...]
    options: Mapping[str, str]
    corrupt_column: str


def find_log(paths: tuple[str, ...], options: Mapping[str, str]) -> OffsetLog:
    """The log below some paths; `KraftwireError` where there is none.

    Tells on standard error which partitions end early, at a transaction that is open.
    """
    usual = {"mode": Mode.PERMISSIVE.value, "isolation": "read_committed"}
    named = {name.lower(): text for name, text in options.items()}
    given = {**usual, **named, "decode": "offsets", "paths": json.dumps(paths)}
    parsed = parse_options(given)
    partitions = requested_partitions(parsed)
    if not partitions:
        raise KraftwireError(f"{', '.join(paths)}: no segment of __consumer_offsets")
    for partition in partitions if parsed.read_committed else ():
        stable = indexed_transactions(partition).last_stable_offset
        if stable is not None:
            reason = f"nothing from offset {stable} on, where a transaction is open"
            click.echo(printable(f"{partition.label}: {reason}"), err=True)
    return OffsetLog(paths, given, parsed.corrupt_column)


def read_log(spark: SparkSession, log: OffsetLog) -> DataFrame:
    """The records of the log, and rows for what cannot be read."""
    messages = [message for kind in _KINDS.values() for message in kind]
    columns = ("partition", "offset", "timestamp")
    return read_records(spark, log.paths, log.options, columns, messages)


def commits(rows: DataFrame) -> DataFrame:
    """Every commit and every deletion of an offset; a deletion has none."""
    found = [_commits_of(rows, kind) for kind in _KINDS]
    return found[0].unionByName(found[1]).orderBy("logPartition", "logOffset")


def _commits_of(rows: DataFrame, kind: str) -> DataFrame:
    key, value = f"{kind}Key", f"{kind}Value"
    is_new = kind == "OffsetCommit"

    def said(name: str, type_: str) -> Column:
        """What only newer records have."""
        return F.col(f"{value}.{name}") if is_new else F.lit(None).cast(type_)

    epoch, expires = said("leader_epoch", "int"), said("expire_timestamp", "bigint")
    topic_id = said("topic_id", "string")
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
    """The newest row of each partition that a group has committed for."""
    newest = Window.partitionBy(*_KEY).orderBy(F.desc("logOffset"))
    found = history.withColumn("_age", F.row_number().over(newest)).where("_age = 1")
    return found.drop("_age").orderBy(*_KEY)


class Offsets(NamedTuple):
    """The history of offsets, and how much of the log could not be read."""

    history: DataFrame
    problems: int


@contextmanager
def offsets(spark: SparkSession, log: OffsetLog) -> Iterator[Offsets]:
    """Read a log once; what cannot be read is told on standard error."""
    rows = read_log(spark, log).persist()
    try:
        yield Offsets(commits(rows), report_corrupt(rows, log.corrupt_column))
    finally:
        rows.unpersist()
