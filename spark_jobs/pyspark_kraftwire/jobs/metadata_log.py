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

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812  # as everybody calls it
from pyspark.sql.pandas.types import from_arrow_schema, from_arrow_type

from kraftwire.log.directory import LogFile
from kraftwire.log.file_names import FileKind
from kraftwire.log.storage import LOCAL
from kraftwire_messages import kafka
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.message import Message
from pyspark_kraftwire.kinds import message_column
from pyspark_kraftwire.options import Mode, Options, parse_options
from pyspark_kraftwire.plan import wanted_partitions
from pyspark_kraftwire.table import COLUMNS, CORRUPT_RECORD, TYPE

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


@dataclass(frozen=True)
class MetadataLog:
    """Where a metadata log is; `base` is the snapshot that it is told from on.

    `start` is the offset of its first record that is told; `knows_state` says whether that
    is all there ever was, or a snapshot has it.
    """

    options: Mapping[str, str]
    base: LogFile | None
    start: int
    knows_state: bool

    @property
    def corrupt_column(self) -> str:
        """The column that says what cannot be read."""
        return parse_options(self.options).corrupt_column


def find_log(paths: tuple[str, ...], options: Mapping[str, str]) -> MetadataLog:
    """The metadata log below some paths; `KraftwireError` where there is none, or several."""
    named = {name.lower(): text for name, text in options.items()}
    given = {"mode": Mode.PERMISSIVE.value, **named, "paths": json.dumps(paths)}
    given |= {"decode": "metadata", "includecontrol": "true"}
    parsed = parse_options(given)
    found = _partition_segments(parsed)
    first = found[0][0].base_offset
    snapshots = [one for one in found[1] if one.base_offset >= first and one.storage is LOCAL]
    base = min(snapshots, key=lambda one: one.base_offset, default=None) if first else None
    start = first if base is None else base.base_offset
    return MetadataLog(given, base, start, not first or base is not None)


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
    paths = json.loads(log.options["paths"])
    rows = _read(spark, log, paths).where(
        (F.col("offset") >= log.start) | F.col(log.corrupt_column).isNotNull()
    )
    rows = rows.withColumn(SEQUENCE, F.col("offset"))
    if log.base is None:
        return rows
    snapshot = _read(spark, log, [str(log.base.path)])
    snapshot = snapshot.withColumn(SEQUENCE, F.col("offset") - F.lit(_BEFORE))
    for name in ("offset", "timestamp"):
        snapshot = snapshot.withColumn(name, F.lit(None).cast(snapshot.schema[name].dataType))
    return snapshot.unionByName(rows)


def _read(spark: SparkSession, log: MetadataLog, paths: list[str]) -> DataFrame:
    given = {name: text for name, text in log.options.items() if name != "paths"}
    columns = [pa.field(name, COLUMNS[name].type) for name in ("offset", "timestamp")]
    columns += [pa.field("leaderEpoch", pa.int32()), pa.field(TYPE, pa.string())]
    columns += [pa.field(one.__name__, message_column(one)) for one in MESSAGES]
    if parse_options(given | {"path": "/"}).mode is Mode.PERMISSIVE:
        columns.append(pa.field(log.corrupt_column, CORRUPT_RECORD))
    schema = from_arrow_schema(pa.schema(columns))
    frame = spark.read.format("kraftwire").options(**given).schema(schema).load(paths)
    if log.corrupt_column not in frame.columns:
        frame = frame.withColumn(
            log.corrupt_column, F.lit(None).cast(from_arrow_type(CORRUPT_RECORD))
        )
    return frame


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
