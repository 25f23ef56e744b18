"""The records of a metadata log that took effect, as a DataFrame in their order.

What stands between a BeginTransactionRecord and an AbortTransactionRecord (KIP-868) never
did; what follows the last BeginTransactionRecord without an end has not yet. Control records
are of no transaction.

A log whose beginning was deleted is told from a snapshot on: its records come before those
of the log, with no offset and no timestamp of their own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812  # as everybody calls it

from kraftwire.log.directory import LogFile
from kraftwire.log.file_names import FileKind
from kraftwire_messages import kafka
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.message import Message
from pyspark_kraftwire.jobs.records import read_records
from pyspark_kraftwire.options import Mode, Options, parse_options
from pyspark_kraftwire.plan import wanted_partitions
from pyspark_kraftwire.table import TYPE

SEQUENCE = "sequence"
"""The order of the records: offsets, and numbers below 0 for those of a snapshot."""

MESSAGES: tuple[type[Message], ...] = (
    kafka.TopicRecord,
    kafka.RemoveTopicRecord,
    kafka.PartitionRecord,
    kafka.PartitionChangeRecord,
    kafka.ClearElrRecord,
    kafka.RegisterBrokerRecord,
    kafka.UnregisterBrokerRecord,
    kafka.FenceBrokerRecord,
    kafka.UnfenceBrokerRecord,
    kafka.BrokerRegistrationChangeRecord,
    kafka.VotersRecord,
    kafka.LeaderChangeMessage,
)
"""The messages that the tables are made of; the others are not decoded."""

_BEGIN = kafka.BeginTransactionRecord.__name__
_END = kafka.EndTransactionRecord.__name__
_MARKERS = (_BEGIN, _END, kafka.AbortTransactionRecord.__name__)
_CONTROL = (kafka.VotersRecord.__name__, kafka.LeaderChangeMessage.__name__)
_BEFORE = 1 << 62
_COLUMNS = ("offset", "timestamp", "leaderEpoch")


@dataclass(frozen=True)
class MetadataLog:
    """Where a metadata log is; `base` is the snapshot that it is told from on.

    `start` is the offset of its first record that is told; `knows_state` says whether that
    is all there ever was, or a snapshot has it.
    """

    paths: tuple[str, ...]
    options: Mapping[str, str]
    corrupt_column: str
    base: LogFile | None
    start: int
    knows_state: bool


def find_log(paths: tuple[str, ...], options: Mapping[str, str]) -> MetadataLog:
    """The metadata log below some paths; `KraftwireError` where there is none, or several."""
    named = {name.lower(): text for name, text in options.items()}
    given = {"mode": Mode.PERMISSIVE.value, **named, "paths": json.dumps(paths)}
    given |= {"decode": "metadata", "includecontrol": "true"}
    parsed = parse_options(given)
    found = _partition_segments(parsed)
    first = found[0][0].base_offset
    snapshots = [one for one in found[1] if one.base_offset >= first]
    base = min(snapshots, key=lambda one: one.base_offset, default=None) if first else None
    start = first if base is None else base.base_offset
    knows_state = not first or base is not None
    return MetadataLog(paths, given, parsed.corrupt_column, base, start, knows_state)


def _partition_segments(options: Options) -> tuple[list[LogFile], list[LogFile]]:
    """The segments of the one log there is, and its snapshots."""
    where = ", ".join(options.paths)
    partitions = wanted_partitions(options)
    if not partitions:
        raise KraftwireError(f"{where}: no segment of __cluster_metadata")
    if len(partitions) > 1:
        places = ", ".join(str(partition.directory) for partition in partitions)
        raise KraftwireError(f"{where}: several metadata logs, name one of them: {places}")
    (partition,) = partitions
    if partition.segments[0].path.suffix == ".checkpoint":
        raise KraftwireError(f"{where}: a snapshot, which has no history; name the log beside it")
    return partition.segments, partition.of_kind(FileKind.SNAPSHOT)


def read_log(spark: SparkSession, log: MetadataLog) -> DataFrame:
    """All records that are told, and rows for what cannot be read."""
    rows = read_records(spark, log.paths, log.options, _COLUMNS, MESSAGES)
    rows = rows.where((F.col("offset") >= log.start) | F.col(log.corrupt_column).isNotNull())
    rows = rows.withColumn(SEQUENCE, F.col("offset"))
    if log.base is None:
        return rows
    snapshot = read_records(spark, [log.base.full_name], log.options, _COLUMNS, MESSAGES)
    snapshot = snapshot.withColumn(SEQUENCE, F.col("offset") - F.lit(_BEFORE))
    for name in ("offset", "timestamp"):
        snapshot = snapshot.withColumn(name, F.lit(None).cast(snapshot.schema[name].dataType))
    return snapshot.unionByName(rows)


def effective(rows: DataFrame) -> DataFrame:
    """The records that took effect, of those that the tables are made of."""
    told = rows.where(F.col(TYPE).isin([one.__name__ for one in MESSAGES] + list(_MARKERS)))
    marker = F.when(F.col(TYPE).isin(*_MARKERS), F.col(TYPE))
    log = Window.partitionBy(F.lit(0))
    until = (Window.unboundedPreceding, -1)
    # What follows is looked for backwards, since Spark goes forward only to the end each time.
    before = F.last(marker, ignorenulls=True).over(log.orderBy(SEQUENCE).rowsBetween(*until))
    behind = log.orderBy(F.desc(SEQUENCE)).rowsBetween(*until)
    told = told.withColumn("_before", before)
    told = told.withColumn("_after", F.last(marker, ignorenulls=True).over(behind))
    is_free = F.col(TYPE).isin(*_CONTROL) | F.coalesce(F.col("_before") != _BEGIN, F.lit(True))
    counts = is_free | F.coalesce(F.col("_after") == _END, F.lit(False))
    kept = told.where(counts & ~F.col(TYPE).isin(*_MARKERS))
    return kept.drop("_before", "_after")
