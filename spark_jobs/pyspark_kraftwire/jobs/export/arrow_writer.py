"""Segments to Parquet, written with pyarrow inside the tasks: no row goes through the JVM.

Rules:
- a split becomes one file, named after the first offset of its segment and its position
  there, below `topic=.../partition=.../`; its bytes depend on the split and the options;
- a file is there when it is whole (`jobs.outputs`); what is finished is noted beside the
  data, with its counts, so that a run that was killed goes on where it was;
- types are those that Spark's own writer makes, as Spark reads them back.

Columns whose values come in order are stored as differences, those of bytes as they are;
only what repeats gets a dictionary. Offsets and timestamps have statistics to prune by.
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
"""Row groups end at the first of both; bytes are those of Arrow."""

CODECS = ("zstd", "snappy", "gzip", "lz4", "none")
ZSTD_LEVEL = 3
"""As Spark's own writer has it; pyarrow's is 1."""

DONE = "_kraftwire/done"
"""Where it is noted what is finished."""

_PARTITIONED = ("topic", "partition")
_ASCENDING = ("offset", "timestamp", "batchPosition", "sequence")
_STATISTICS = ("offset", "timestamp")
_NO_DICTIONARY = ("key", "value", *_ASCENDING)
_NO_NAME = "__HIVE_DEFAULT_PARTITION__"
"""What stands in paths for null, to Spark as to Hive."""


@dataclass(frozen=True, slots=True)
class ExportPart:
    """A split, the name of the file that it becomes, and the first offset behind its segment."""

    split: Split
    name: str
    following: int | None


class ExportedPart(NamedTuple):
    """What became of a piece: its counts, and the bytes of its file, None where it has none.

    `error` says why it could not be read, where the options have that end the export.
    """

    piece: str
    counts: PartitionCounts
    size: int | None
    error: str | None = None


@dataclass(frozen=True)
class Parquet:
    """How files are compressed; `level` is the codec's own, None for the usual one."""

    codec: str = "zstd"
    level: int | None = None

    def open(self, sink: Any, schema: pa.Schema) -> pq.ParquetWriter:
        """A writer of a file to a stream."""
        level = self.level
        if level is None and self.codec == "zstd":
            level = ZSTD_LEVEL
        encodings = {name: "DELTA_BINARY_PACKED" for name in _ASCENDING if name in schema.names}
        repeated = [
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
            use_dictionary=repeated,
            column_encoding=encodings or None,
            write_statistics=[name for name in _STATISTICS if name in schema.names],
            store_schema=False,
        )


def _leaves(path: str, kind: pa.DataType) -> Iterator[str]:
    """The columns of Parquet that a column of Arrow becomes."""
    if pa.types.is_struct(kind):
        for field in kind:
            yield from _leaves(f"{path}.{field.name}", field.type)
    elif pa.types.is_list(kind):
        yield from _leaves(f"{path}.list.element", kind.value_type)
    else:
        yield path


@dataclass(frozen=True)
class ExportPlan:
    """What an export writes, as tasks; no two pieces have one name."""

    options: Options
    kinds: Sequence[RecordKind]
    """The kinds of typed records that there are columns for."""
    tasks: Sequence[tuple[ExportPart, ...]]

    @property
    def pieces(self) -> list[ExportPart]:
        """All that is to be written."""
        return [piece for task in self.tasks for piece in task]

    @property
    def schema(self) -> pa.Schema:
        """The columns: those of a read, but for structs without a field.

        Parquet has no such structs; `type` says which records they would stand in.
        """
        schema = default_schema(self.options, self.kinds)
        return pa.schema([field for field in schema if any(True for _ in _leaves("", field.type))])


def plan_export(options: Options) -> ExportPlan:
    """What is to be written of what the options ask for; `KraftwireError` for nothing."""
    partitions = requested_partitions(options)
    logs = logs_of(partitions) if options.decode == AUTO else ()
    return ExportPlan(options, requested_kinds(options, logs), _tasks(partitions, options))


def _tasks(partitions: Sequence[Partition], options: Options) -> list[tuple[ExportPart, ...]]:
    following = {
        segment: partition.end_of(segment)
        for partition in partitions
        for segment in partition.segments
    }
    taken: dict[str, int] = {}
    tasks = []
    for task in plan_partitions(partitions, options):
        pieces = []
        for split in task:
            name = _file_name(split)
            number = taken[name] = taken.get(name, -1) + 1
            # Copies of segments may have the same offsets; they are told apart by their order.
            name = f"{name}-{number}.parquet" if number else f"{name}.parquet"
            pieces.append(ExportPart(split, name, following.get(split.file)))
        tasks.append(tuple(pieces))
    return tasks


def _file_name(split: Split) -> str:
    topic = _NO_NAME if split.topic is None else split.topic
    partition = _NO_NAME if split.partition is None else split.partition
    part = f"part-{split.file.base_offset:020}-{split.start:010}"
    return f"topic={topic}/partition={partition}/{part}"


@dataclass(frozen=True)
class ExportWriter:
    """Writes pieces; it goes to the tasks."""

    reading: SplitReader
    schema: pa.Schema
    """The columns of the files."""
    output: OutputDirectory
    parquet: Parquet

    @classmethod
    def of(cls, plan: ExportPlan, output: OutputDirectory, parquet: Parquet) -> ExportWriter:
        """A writer of what is planned."""
        options, schema = plan.options, plan.schema
        file_schema = pa.schema([field for field in schema if field.name not in _PARTITIONED])
        read = options
        if options.mode is Mode.DROPMALFORMED:
            read = replace(options, mode=Mode.PERMISSIVE)  # to count what is left out
            schema = schema.append(pa.field(options.corrupt_column, CORRUPT_RECORD))
        wanted = [field for field in schema if field.name not in _PARTITIONED]
        return cls(
            SplitReader(read, project(pa.schema(wanted), read, plan.kinds)),
            file_schema,
            output,
            parquet,
        )

    def write(self, pieces: Iterable[ExportPart]) -> Iterator[ExportedPart]:
        """Write some pieces, one after the other, and note each when it is finished."""
        for piece in pieces:
            split = piece.split
            counts = PartitionCounts(split.topic, split.partition, split.size)
            try:
                size = self._write(piece, counts)
            except KraftwireError as error:
                yield ExportedPart(piece.name, counts, None, str(error))
                continue
            if counts.corrupt:
                positions = [bad.position for bad in counts.corrupt if bad.offset is None]
                counts.lost = lost_offsets(split, positions, piece.following)
            note = {"size": size, "counts": counts.to_json()}
            self.output.write(f"{DONE}/{piece.name}.json", json.dumps(note).encode())
            yield ExportedPart(piece.name, counts, size)

    def _write(self, piece: ExportPart, counts: PartitionCounts) -> int | None:
        """Write the file of a piece, where it has rows; its bytes."""
        groups = _row_groups(self._rows(piece, counts))
        first = next(groups, None)
        if first is None:
            return None
        with self.output.create(piece.name) as sink:
            with self.parquet.open(sink, self.schema) as writer:
                writer.write_table(first, row_group_size=first.num_rows)
                for table in groups:
                    writer.write_table(table, row_group_size=table.num_rows)
            return int(sink.tell())

    def _rows(self, piece: ExportPart, counts: PartitionCounts) -> Iterator[pa.RecordBatch]:
        """The rows of a file, counted."""
        names = self.schema.names
        corrupt = self.reading.wanted.corrupt_name
        for batch in self.reading.read([piece.split]):
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
    """What a batch says of bytes, and of records, that cannot be read."""
    for row in pc.indices_nonzero(bad.is_valid()).to_pylist():
        said = {name: bad.field(name)[row].as_py() for name in ("file", "position", "reason")}
        yield CorruptBytes(said["file"], said["position"], offsets[row].as_py(), said["reason"])


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


def finished(output: OutputDirectory, pieces: Sequence[ExportPart]) -> dict[str, ExportedPart]:
    """The pieces that an earlier run has finished and whose files are still whole, by name."""
    noted = output.sizes(DONE)
    if not noted:
        return {}
    sizes = output.sizes()
    found = {}
    for piece in pieces:
        name = f"{DONE}/{piece.name}.json"
        data = output.read(name) if name in noted else None
        if data is not None:
            note = json.loads(data)
            if note["size"] == sizes.get(piece.name):
                counts = PartitionCounts.from_json(note["counts"])
                found[piece.name] = ExportedPart(piece.name, counts, note["size"])
    return found
