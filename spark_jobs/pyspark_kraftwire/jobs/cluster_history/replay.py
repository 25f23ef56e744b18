"""A metadata log replayed in one Spark task: its records become Arrow batches of the tables.

The order of a metadata log is its meaning, so one task reads all of it. Each batch has the
rows of one table, in the struct column with its name; the columns of the other tables are null.
The column `problems` reports what cannot be read. Nothing here knows Spark.

If the start of the log was deleted, the replay starts from the oldest snapshot that it continues.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from kraftwire.log.directories.partition import METADATA_TOPIC, LogFile, Partition
from kraftwire.metadata import ProblemHandler, raise_problem
from kraftwire.metadata.history import oldest_base
from kraftwire.metadata.records.replay import LogReplay, MetadataRecord, read_snapshot
from kraftwire.metadata.records.transactions import MetadataTransactions
from kraftwire_wire.errors import KraftwireError
from pyspark_kraftwire.columns.spark_types import TIMESTAMP, microseconds
from pyspark_kraftwire.jobs.cluster_history.tables import TABLES, HistoryTables, TableRow
from pyspark_kraftwire.options import FILE_SYSTEM, Mode, Options, parse_options, script_options
from pyspark_kraftwire.planning.plan import requested_partitions, selection_of

PROBLEMS = "problems"
_PROBLEM = pa.struct([("reason", pa.string())])
SCHEMA = pa.schema([*TABLES.items(), (PROBLEMS, _PROBLEM)])
"""The schema of the batches."""

_MAX_ROWS = 8192
_MILLISECONDS = pa.timestamp("ms", "UTC")
_ACCEPTED = {
    "paths",
    "mode",
    "endingoffsets",
    "columnnameofcorruptrecord",
    "maxsplitbytes",
    "maxbatchbytes",
}


@dataclass(frozen=True)
class MetadataLog:
    """A metadata log, and how it is to be replayed.

    `options` are those of the source, with the paths. `base` is the snapshot that the replay
    starts from, if the log does not begin at offset 0; `start` is the first offset of the log
    that is replayed. `knows_state` is False if nothing shows what was before `start`.
    """

    options: Mapping[str, str]
    partition: Partition
    base: LogFile | None
    start: int
    stop: int | None
    mode: Mode
    limit: int

    @property
    def knows_state(self) -> bool:
        """Whether the state at `start` is known."""
        return not self.start or self.base is not None


def find_log(paths: tuple[str, ...], options: Mapping[str, str]) -> MetadataLog:
    """Return the one metadata log below some paths; raise `KraftwireError` for none or several."""
    given = script_options(paths, options, mode=Mode.PERMISSIVE.value)
    for name in given:
        if name not in _ACCEPTED and not name.startswith(FILE_SYSTEM):
            raise KraftwireError(f"option {name}: leave it out, a history is of the whole log")
    return open_log(given)


def open_log(options: Mapping[str, str]) -> MetadataLog:
    """Open the log that complete options name; each task opens it again."""
    parsed = parse_options({**options, "decode": "metadata"})
    partition = _partition(parsed)
    base = oldest_base(partition)
    start = partition.segments[0].base_offset if base is None else base.base_offset
    selection = selection_of(partition, parsed)
    limit = parsed.max_batch_bytes
    return MetadataLog(options, partition, base, start, selection.to_offset, parsed.mode, limit)


def _partition(options: Options) -> Partition:
    where = ", ".join(options.paths)
    partitions = requested_partitions(options)
    if not partitions:
        raise KraftwireError(f"{where}: no segment of {METADATA_TOPIC}")
    if len(partitions) > 1:
        places = ", ".join(str(partition.directory) for partition in partitions)
        raise KraftwireError(f"{where}: several metadata logs, name one: {places}")
    (partition,) = partitions
    if partition.segments[0].path.suffix == ".checkpoint":
        raise KraftwireError(f"{where}: a snapshot has no history; name the log beside it")
    return partition


def replay(log: MetadataLog) -> Iterator[pa.RecordBatch]:
    """Yield batches of `SCHEMA`: the tables' rows in the order of the log, and the problems."""
    problems: list[TableRow] = []

    def note(problem: KraftwireError) -> None:
        problems.append((str(problem),))

    report = {Mode.FAILFAST: raise_problem, Mode.PERMISSIVE: note}.get(log.mode, _ignore)
    tables = HistoryTables()
    if log.base is not None:
        for entry in read_snapshot(log.base, report, limit=log.limit):
            tables.add(entry, None, None)
    for count, entry in enumerate(_effective_records(log, report)):
        tables.add(entry, entry.offset, entry.timestamp)
        if count % _MAX_ROWS == 0:
            yield from _batches(tables.rows, _MAX_ROWS)
    tables.finish()
    yield from _batches({**tables.rows, PROBLEMS: problems}, 1)


def _effective_records(log: MetadataLog, report: ProblemHandler) -> Iterator[MetadataRecord]:
    """Yield the records that take effect, in the order in which they do (KIP-868)."""
    transactions = MetadataTransactions(_ignore)
    for entry in LogReplay(log.partition, log.start, log.stop, report, limit=log.limit):
        yield from transactions.feed(entry)


def _ignore(problem: KraftwireError) -> None:
    """Records that do not fit and unfinished transactions change nothing, as in Kafka."""


def _batches(rows: Mapping[str, list[TableRow]], least: int) -> Iterator[pa.RecordBatch]:
    """Remove and yield the rows of every table that has at least `least` rows."""
    for name, found in rows.items():
        if len(found) >= least:
            columns = [
                (
                    _struct(found, field.type)
                    if field.name == name
                    else pa.nulls(len(found), field.type)
                )
                for field in SCHEMA
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=SCHEMA)
            found.clear()


def _struct(rows: list[TableRow], kind: pa.StructType) -> pa.StructArray:
    columns = zip(*rows, strict=True)
    arrays = [_array(column, field.type) for column, field in zip(columns, kind, strict=True)]
    return pa.StructArray.from_arrays(arrays, fields=list(kind))


def _array(column: tuple[object, ...], kind: pa.DataType) -> pa.Array:
    if kind == TIMESTAMP:
        return microseconds(pa.array(column, _MILLISECONDS))
    return pa.array(column, kind)
