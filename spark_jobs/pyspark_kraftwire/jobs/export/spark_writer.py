"""Exports through one of Spark's writers: Parquet, or any other format of Spark.

File formats are written in groups of whole Kafka partitions. A group replaces the existing files of
its partitions (dynamic partition overwrite), so an interrupted group is written again without
duplicates. Other formats (jdbc and the like) are only appended to and cannot be resumed.

Spark's writers do not report what they wrote, so a second read of a few columns counts the rows.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

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
from pyspark_kraftwire.planning.plan import pack

Key = tuple[str | None, int | None]

FILES = frozenset(("parquet", "orc", "json", "csv", "avro", "xml", "text"))
"""The file formats, whose partitions Spark can replace."""

GROUP_BYTES = 1 << 30
"""The most input that is read again after a run was killed."""

_KEY = ("topic", "partition")
_NONE = "cast(null as struct<file: string, position: bigint, reason: string>)"


@dataclass(frozen=True)
class ExportGroup:
    """Partitions that are written together: their parts, and the options that select them."""

    number: int
    parts: tuple[ExportPart, ...]
    options: Mapping[str, str]
    is_unnamed: bool
    """Whether these are the segments of unknown topics, which no option can select."""

    @property
    def note(self) -> str:
        """The name of the note that the group is finished."""
        return f"{DONE}/group-{self.number:06}.json"

    @property
    def bytes(self) -> int:
        """The bytes of its segments."""
        return sum(part.split.size for part in self.parts)


def plan_groups(
    parts: Iterable[ExportPart], options: Mapping[str, str], size: int = GROUP_BYTES
) -> list[ExportGroup]:
    """Return the groups of an export, of about `size` bytes; a partition is never divided."""
    partitions: defaultdict[Key, list[ExportPart]] = defaultdict(list)
    for part in parts:
        partitions[part.split.topic, part.split.partition].append(part)
    topics: defaultdict[str | None, list[Key]] = defaultdict(list)
    for key in sorted(partitions, key=str):
        topics[key[0]].append(key)

    def bytes_of(keys: Iterable[Key]) -> int:
        return sum(part.split.size for key in keys for part in partitions[key])

    small = [topic for topic in topics if topic is not None and bytes_of(topics[topic]) <= size]
    chosen: list[tuple[list[Key], dict[str, str]]] = []
    for names in pack(small, size, lambda topic: bytes_of(topics[topic])):
        chosen.append(
            ([key for name in names for key in topics[name]], {"topics": ",".join(names)})
        )
    for topic, keys in topics.items():
        if topic is None:
            chosen.append((keys, {}))
        elif topic not in small:
            for some in pack(keys, size, lambda key: bytes_of([key])):
                numbers = ",".join(str(number) for _, number in some)
                chosen.append((some, {"topics": topic, "partitions": numbers}))
    given = {name.lower(): text for name, text in options.items()}
    return [
        ExportGroup(
            number,
            tuple(part for key in keys for part in partitions[key]),
            {**given, **selected},
            not selected,
        )
        for number, (keys, selected) in enumerate(chosen)
    ]


@dataclass(frozen=True)
class SparkWriter:
    """Writes groups with a Spark writer; `schema` has the columns of the export."""

    spark: SparkSession
    format: str
    write_options: Mapping[str, str]
    options: Options
    schema: pa.Schema

    def replace(self, group: ExportGroup, output: OutputDirectory) -> list[PartitionCounts]:
        """Write a group, replacing the existing files of its partitions."""
        writer = self._writer(group).mode("overwrite")
        writer = writer.option("partitionOverwriteMode", "dynamic")
        writer.partitionBy(*_KEY).save(output.path("").rstrip("/"))
        counts = self.count(group)
        note = json.dumps([one.to_json() for one in counts])
        output.write(group.note, note.encode())
        return counts

    def append(self, group: ExportGroup) -> list[PartitionCounts]:
        """Append a group to the target of a format without files."""
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
        """Read a group again and count its rows."""
        mode, corrupt = self.options.mode, self.options.corrupt_column
        schema = self.schema
        if self.options.decode is None:  # or any column may have errors
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
        report = (F.col(f"{corrupt}.{name}") for name in ("file", "position"))
        bad = F.struct(*report, F.col("offset"), F.col(f"{corrupt}.reason"))
        rows = frame.groupBy(*_KEY).agg(
            F.count(counted).alias("records"),
            F.min(counted).alias("first"),
            F.max(counted).alias("last"),
            F.collect_list(F.when(F.col(corrupt).isNotNull(), bad)).alias("bad"),
        )
        return _with_losses(group, rows.collect())


def _with_losses(group: ExportGroup, rows: Iterable[Row]) -> list[PartitionCounts]:
    """Return the counts of a group's partitions, including those without rows."""
    found: dict[Key, PartitionCounts] = {}
    for part in group.parts:
        key = part.split.topic, part.split.partition
        found.setdefault(key, PartitionCounts(*key)).bytes += part.split.size
    for row in rows:
        counts = found[row.topic, row.partition]
        counts.add_offsets(row.records, row["first"], row["last"])
        counts.corrupt = [CorruptBytes(*bad) for bad in row.bad]
    for part in group.parts:
        split = part.split
        counts = found[split.topic, split.partition]
        here = [
            bad.position
            for bad in counts.corrupt
            if bad.offset is None  # otherwise the batch itself is readable
            and bad.file == split.file.full_name
            and split.start <= bad.position < split.end
        ]
        if here:
            counts.lost += lost_offsets(split, here, part.following)
    return list(found.values())


def finished_groups(
    output: OutputDirectory, groups: Iterable[ExportGroup]
) -> dict[int, list[PartitionCounts]]:
    """Return the counts of the groups that earlier runs finished, by group number."""
    found = {}
    for group in groups:
        data = output.read(group.note)
        if data is not None:
            found[group.number] = [PartitionCounts.from_json(one) for one in json.loads(data)]
    return found
