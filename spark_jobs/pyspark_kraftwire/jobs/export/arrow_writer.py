"""Writes segments to Parquet with pyarrow inside the tasks: no row goes through the JVM.

Rules:
- a split becomes one file in `topic=.../partition=.../`, named after the base offset of its segment
  and its position there; the file's bytes depend only on the split and the options;
- a file appears only when it is complete (`outputs`); a note with its counts is written beside the
  data, so that a killed run can be resumed;
- the types are those that Spark's own writer writes and reads.

Ascending columns are stored as differences, keys and values as they are; only repetitive columns
have a dictionary. Offsets and timestamps have statistics for pruning.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kraftwire.log.directories.partition import Partition
from kraftwire_wire.errors import KraftwireError
from pyspark_kraftwire.columns.projection import project
from pyspark_kraftwire.columns.record_columns import CORRUPT_RECORD, default_schema
from pyspark_kraftwire.columns.record_kinds import RecordKind, requested_kinds
from pyspark_kraftwire.decoding.split_reader import SplitReader
from pyspark_kraftwire.jobs.export.counts import CorruptBytes, PartitionCounts
from pyspark_kraftwire.jobs.export.damage import lost_offsets
from pyspark_kraftwire.jobs.export.outputs import OutputDirectory
from pyspark_kraftwire.options import AUTO, Mode, Options
from pyspark_kraftwire.planning.plan import logs_of, plan_partitions, requested_partitions
from pyspark_kraftwire.split import Split

GROUP_BYTES = 128 << 20
GROUP_ROWS = 1_000_000
"""A row group ends when it reaches either; bytes are those of Arrow."""

CODECS = ("zstd", "snappy", "gzip", "lz4", "none")
ZSTD_LEVEL = 3
"""The default of Spark's own writer; pyarrow's is 1."""

DONE = "_kraftwire/done"
"""The directory of the notes about finished parts."""

_PARTITIONED = ("topic", "partition")
_ASCENDING = ("offset", "timestamp", "batchPosition", "sequence")
_STATISTICS = ("offset", "timestamp")
_NO_DICTIONARY = ("key", "value", *_ASCENDING)
_NULL_NAME = "__HIVE_DEFAULT_PARTITION__"
"""Null in paths, for Spark and Hive."""


@dataclass(frozen=True, slots=True)
class ExportPart:
    """A split, the name of its file, and the first offset after its segment."""

    split: Split
    name: str
    following: int | None


class ExportedPart(NamedTuple):
    """The result of a part: its counts, and the size of its file, None if it has no rows.

    `error` says why the part could not be read, if the options make that end the export.
    """

    name: str
    counts: PartitionCounts
    size: int | None
    error: str | None = None


@dataclass(frozen=True)
class Parquet:
    """The compression of the files; a `level` of None is the codec's default."""

    codec: str = "zstd"
    level: int | None = None

    def open(self, sink: Any, schema: pa.Schema) -> pq.ParquetWriter:
        """Return a writer of a file to a stream."""
        level = self.level
        if level is None and self.codec == "zstd":
            level = ZSTD_LEVEL
        encodings = {name: "DELTA_BINARY_PACKED" for name in _ASCENDING if name in schema.names}
        repetitive = [
            path
            for field in schema
            if field.name not in _NO_DICTIONARY
            for path in _leaves(field.name, field.type)
        ]
        return pq.ParquetWriter(
            sink,
            schema,
            compression=self.codec,
            compression_level=level,
            use_dictionary=repetitive,
            column_encoding=encodings or None,
            write_statistics=[name for name in _STATISTICS if name in schema.names],
            store_schema=False,
        )


def _leaves(path: str, kind: pa.DataType) -> Iterator[str]:
    """Yield the Parquet columns of an Arrow column."""
    if pa.types.is_struct(kind):
        for field in kind:
            yield from _leaves(f"{path}.{field.name}", field.type)
    elif pa.types.is_list(kind):
        yield from _leaves(f"{path}.list.element", kind.value_type)
    else:
        yield path


@dataclass(frozen=True)
class ExportPlan:
    """The tasks of an export; each part has a name of its own."""

    options: Options
    kinds: Sequence[RecordKind]
    """The kinds of typed records that have columns."""
    tasks: Sequence[tuple[ExportPart, ...]]

    @property
    def parts(self) -> list[ExportPart]:
        """The parts of all tasks."""
        return [part for task in self.tasks for part in task]

    @property
    def schema(self) -> pa.Schema:
        """The columns of a read, except structs without fields, which Parquet does not have.

        The column `type` still shows the records of such a kind.
        """
        schema = default_schema(self.options, self.kinds)
        return pa.schema([field for field in schema if any(True for _ in _leaves("", field.type))])


def plan_export(options: Options) -> ExportPlan:
    """Plan the export that the options select; raise `KraftwireError` if that is nothing."""
    partitions = requested_partitions(options)
    logs = logs_of(partitions) if options.decode == AUTO else ()
    return ExportPlan(options, requested_kinds(options, logs), _tasks(partitions, options))


def _tasks(partitions: Sequence[Partition], options: Options) -> list[tuple[ExportPart, ...]]:
    following = {
        segment: partition.end_of(segment)
        for partition in partitions
        for segment in partition.segments
    }
    numbers: dict[str, int] = {}
    tasks = []
    for task in plan_partitions(partitions, options):
        parts = []
        for split in task:
            name = _file_name(split)
            number = numbers[name] = numbers.get(name, -1) + 1
            # Copies of a segment may have the same offsets; a number makes their names differ.
            name = f"{name}-{number}.parquet" if number else f"{name}.parquet"
            parts.append(ExportPart(split, name, following.get(split.file)))
        tasks.append(tuple(parts))
    return tasks


def _file_name(split: Split) -> str:
    topic = _NULL_NAME if split.topic is None else split.topic
    partition = _NULL_NAME if split.partition is None else split.partition
    part = f"part-{split.file.base_offset:020}-{split.start:010}"
    return f"topic={topic}/partition={partition}/{part}"


@dataclass(frozen=True)
class ExportWriter:
    """Writes parts; it is sent to the tasks."""

    reader: SplitReader
    schema: pa.Schema
    """The columns of the files."""
    output: OutputDirectory
    parquet: Parquet

    @classmethod
    def of(cls, plan: ExportPlan, output: OutputDirectory, parquet: Parquet) -> ExportWriter:
        """Return the writer of a plan."""
        options, schema = plan.options, plan.schema
        file_schema = pa.schema([field for field in schema if field.name not in _PARTITIONED])
        read = options
        if options.mode is Mode.DROPMALFORMED:
            read = replace(options, mode=Mode.PERMISSIVE)  # to count the dropped bytes
            schema = schema.append(pa.field(options.corrupt_column, CORRUPT_RECORD))
        fields = [field for field in schema if field.name not in _PARTITIONED]
        return cls(
            SplitReader(read, project(pa.schema(fields), read, plan.kinds)),
            file_schema,
            output,
            parquet,
        )

    def write(self, parts: Iterable[ExportPart]) -> Iterator[ExportedPart]:
        """Write parts one after another, and write a note about each finished one."""
        for part in parts:
            split = part.split
            counts = PartitionCounts(split.topic, split.partition, split.size)
            try:
                size = self._write(part, counts)
            except KraftwireError as error:
                yield ExportedPart(part.name, counts, None, str(error))
                continue
            if counts.corrupt:
                positions = [bad.position for bad in counts.corrupt if bad.offset is None]
                counts.lost = lost_offsets(split, positions, part.following)
            note = {"size": size, "counts": counts.to_json()}
            self.output.write(f"{DONE}/{part.name}.json", json.dumps(note).encode())
            yield ExportedPart(part.name, counts, size)

    def _write(self, part: ExportPart, counts: PartitionCounts) -> int | None:
        """Write the file of a part; return its size, or None if there are no rows."""
        groups = _row_groups(self._rows(part, counts))
        first = next(groups, None)
        if first is None:
            return None
        with self.output.create(part.name) as sink:
            with self.parquet.open(sink, self.schema) as writer:
                writer.write_table(first, row_group_size=first.num_rows)
                for table in groups:
                    writer.write_table(table, row_group_size=table.num_rows)
            return int(sink.tell())

    def _rows(self, part: ExportPart, counts: PartitionCounts) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a file and count them."""
        names = self.schema.names
        corrupt = self.reader.projection.corrupt_name
        for batch in self.reader.read([part.split]):
            bad = batch.column(corrupt) if corrupt is not None else None
            if bad is not None and bad.null_count < len(bad):
                counts.corrupt += _corrupt(bad, batch.column("offset"))
                if corrupt not in names:
                    batch = batch.filter(bad.is_null())
            offsets = batch.column("offset")
            bounds = pc.min_max(offsets).as_py()
            counts.add_offsets(len(offsets) - offsets.null_count, bounds["min"], bounds["max"])
            if batch.num_rows:
                yield batch.select(names)


def _corrupt(bad: pa.StructArray, offsets: pa.Array) -> Iterator[CorruptBytes]:
    """Yield what a batch reports about unreadable bytes and records."""
    for row in pc.indices_nonzero(bad.is_valid()).to_pylist():
        report = {name: bad.field(name)[row].as_py() for name in ("file", "position", "reason")}
        yield CorruptBytes(offset=offsets[row].as_py(), **report)


def _row_groups(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    held: list[pa.RecordBatch] = []
    size = rows = 0
    for batch in batches:
        held.append(batch)
        size += batch.nbytes
        rows += batch.num_rows
        if size >= GROUP_BYTES or rows >= GROUP_ROWS:
            yield pa.Table.from_batches(held)
            held, size, rows = [], 0, 0
    if held:
        yield pa.Table.from_batches(held)


def finished_parts(output: OutputDirectory, parts: Sequence[ExportPart]) -> dict[str, ExportedPart]:
    """Return the parts that an earlier run finished and whose files are complete, by name."""
    notes = output.sizes(DONE)
    if not notes:
        return {}
    sizes = output.sizes()
    found = {}
    for part in parts:
        name = f"{DONE}/{part.name}.json"
        data = output.read(name) if name in notes else None
        if data is not None:
            note = json.loads(data)
            if note["size"] == sizes.get(part.name):
                counts = PartitionCounts.from_json(note["counts"])
                found[part.name] = ExportedPart(part.name, counts, note["size"])
    return found
