"""An export through a writer of Spark's: Parquet, or any other format that Spark has.

Formats of files are written in groups of whole partitions of Kafka's, each group in the place
of what is there of those partitions (dynamic partition overwrite). So a group that was cut
off is written again and stands there once. Other formats (jdbc and the like) are appended to,
once, and cannot be resumed.

What is counted is counted by a read of its own, of the columns that this takes, since Spark's
writers do not say what they have written.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame, DataFrameWriter, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # as everybody calls it
from pyspark.sql.pandas.types import from_arrow_schema

from pyspark_kraftwire.columns.record_columns import CORRUPT_RECORD
from pyspark_kraftwire.jobs.export.arrow_writer import DONE, ExportPart
from pyspark_kraftwire.jobs.export.counts import CorruptBytes, PartitionCounts
from pyspark_kraftwire.jobs.export.damage import lost_offsets
from pyspark_kraftwire.jobs.export.outputs import OutputDirectory
from pyspark_kraftwire.options import Mode, Options

T = TypeVar("T")
Key = tuple[str | None, int | None]

FILES = frozenset(("parquet", "orc", "json", "csv", "avro", "xml", "text"))
"""The formats that are files, whose partitions Spark can replace."""

GROUP_BYTES = 1 << 30
"""How much input is lost at most when a run is killed."""

_KEY = ("topic", "partition")
_NONE = "cast(null as struct<file: string, position: bigint, reason: string>)"


@dataclass(frozen=True)
class ExportGroup:
    """Partitions that are written together: pieces, and the options that read just these."""

    number: int
    pieces: tuple[ExportPart, ...]
    options: Mapping[str, str]
    is_unnamed: bool
    """Whether these are the segments whose topic nobody knows, which no option names."""

    @property
    def note(self) -> str:
        """Where it is noted that the group is finished."""
        return f"{DONE}/group-{self.number:06}.json"

    @property
    def bytes(self) -> int:
        """How much is read."""
        return sum(piece.split.size for piece in self.pieces)


def plan_groups(
    pieces: Iterable[ExportPart], options: Mapping[str, str], size: int = GROUP_BYTES
) -> list[ExportGroup]:
    """The groups of an export, of about `size` bytes; a partition is never divided."""
    partitions: defaultdict[Key, list[ExportPart]] = defaultdict(list)
    for piece in pieces:
        partitions[piece.split.topic, piece.split.partition].append(piece)
    topics: defaultdict[str | None, list[Key]] = defaultdict(list)
    for key in sorted(partitions, key=str):
        topics[key[0]].append(key)

    def bytes_of(keys: Iterable[Key]) -> int:
        return sum(piece.split.size for key in keys for piece in partitions[key])

    small = [topic for topic in topics if topic is not None and bytes_of(topics[topic]) <= size]
    chosen: list[tuple[list[Key], dict[str, str]]] = []
    for names in _packed(small, size, lambda topic: bytes_of(topics[topic])):
        chosen.append(
            ([key for name in names for key in topics[name]], {"topics": ",".join(names)})
        )
    for topic, keys in topics.items():
        if topic is None:
            chosen.append((keys, {}))
        elif topic not in small:
            for some in _packed(keys, size, lambda key: bytes_of([key])):
                numbers = ",".join(str(number) for _, number in some)
                chosen.append((some, {"topics": topic, "partitions": numbers}))
    given = {name.lower(): text for name, text in options.items()}
    return [
        ExportGroup(
            number,
            tuple(piece for key in keys for piece in partitions[key]),
            {**given, **selected},
            not selected,
        )
        for number, (keys, selected) in enumerate(chosen)
    ]


def _packed(items: Sequence[T], size: int, bytes_of: Callable[[T], int]) -> Iterator[list[T]]:
    """Items in their order, in lists of about `size` bytes."""
    held: list[T] = []
    filled = 0
    for item in items:
        if held and filled + bytes_of(item) > size:
            yield held
            held, filled = [], 0
        held.append(item)
        filled += bytes_of(item)
    if held:
        yield held


@dataclass(frozen=True)
class SparkWriter:
    """Writes groups with a writer of Spark's; `schema` has the columns of the export."""

    spark: SparkSession
    format: str
    write_options: Mapping[str, str]
    options: Options
    schema: pa.Schema

    def replace(self, group: ExportGroup, output: OutputDirectory) -> list[PartitionCounts]:
        """Write the partitions of a group in the place of what is there of them."""
        writer = self._writer(group).mode("overwrite")
        writer = writer.option("partitionOverwriteMode", "dynamic")
        writer.partitionBy(*_KEY).save(output.path("").rstrip("/"))
        counts = self.count(group)
        note = json.dumps([one.to_json() for one in counts])
        output.write(group.note, note.encode())
        return counts

    def append(self, group: ExportGroup) -> list[PartitionCounts]:
        """Write a group to a format that is no file, behind what is there."""
        self._writer(group).mode("append").save()
        return self.count(group)

    def _writer(self, group: ExportGroup) -> DataFrameWriter:
        rows = self._read(group, self.schema, self.options.mode)
        return rows.write.format(self.format).options(**self.write_options)

    def _read(self, group: ExportGroup, schema: pa.Schema, mode: Mode) -> DataFrame:
        left_out = ("paths", "mode")
        given = {name: text for name, text in group.options.items() if name not in left_out}
        reader = self.spark.read.format("kraftwire").options(**given).option("mode", mode.value)
        frame = reader.schema(from_arrow_schema(schema)).load(list(self.options.paths))
        return frame.where(F.col("topic").isNull()) if group.is_unnamed else frame

    def count(self, group: ExportGroup) -> list[PartitionCounts]:
        """Read a group once more, and count."""
        mode, corrupt = self.options.mode, self.options.corrupt_column
        schema = self.schema
        if self.options.decode is None:  # else every column can have what cannot be read
            schema = pa.schema([schema.field(name) for name in (*_KEY, "offset")])
        if mode is Mode.FAILFAST:
            frame = self._read(group, schema, mode).withColumn(corrupt, F.expr(_NONE))
        else:
            if corrupt not in schema.names:
                schema = schema.append(pa.field(corrupt, CORRUPT_RECORD))
            frame = self._read(group, schema, Mode.PERMISSIVE)
        counted = F.col("offset")
        if mode is Mode.DROPMALFORMED:
            counted = F.when(F.col(corrupt).isNull(), counted)
        said = (F.col(f"{corrupt}.{name}") for name in ("file", "position"))
        bad = F.struct(*said, F.col("offset"), F.col(f"{corrupt}.reason"))
        rows = frame.groupBy(*_KEY).agg(
            F.count(counted).alias("records"),
            F.min(counted).alias("first"),
            F.max(counted).alias("last"),
            F.collect_list(F.when(F.col(corrupt).isNotNull(), bad)).alias("bad"),
        )
        return _with_losses(group, rows.collect())


def _with_losses(group: ExportGroup, rows: Iterable[Row]) -> list[PartitionCounts]:
    """The counts of a group's partitions, those among them that have no rows too."""
    found: dict[Key, PartitionCounts] = {}
    for piece in group.pieces:
        key = piece.split.topic, piece.split.partition
        found.setdefault(key, PartitionCounts(*key)).bytes += piece.split.size
    for row in rows:
        counts = found[row.topic, row.partition]
        counts.add_offsets(row.records, row["first"], row["last"])
        counts.corrupt = [CorruptBytes(*bad) for bad in row.bad]
    for piece in group.pieces:
        split = piece.split
        counts = found[split.topic, split.partition]
        here = [
            bad.position
            for bad in counts.corrupt
            if bad.offset is None  # else its batch is sound
            and bad.file == split.file.full_name
            and split.start <= bad.position < split.end
        ]
        if here:
            counts.lost += lost_offsets(split, here, piece.following)
    return list(found.values())


def finished_groups(
    output: OutputDirectory, groups: Iterable[ExportGroup]
) -> dict[int, list[PartitionCounts]]:
    """What earlier runs have finished, by the numbers of the groups."""
    found = {}
    for group in groups:
        data = output.read(group.note)
        if data is not None:
            found[group.number] = [PartitionCounts.from_json(one) for one in json.loads(data)]
    return found
