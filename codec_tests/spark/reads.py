"""Reads as Spark would have them done, without Spark; and partitions to read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from kraftwire.log import Record
from kraftwire.log.batches.encoding import PLAIN, BatchSettings, encode_batch
from kraftwire.log.writers.segment_writer import INDEX_INTERVAL, SegmentWriter
from pyspark_kraftwire.columns.filters import PushedFilter, PushedFilters
from pyspark_kraftwire.columns.projection import project
from pyspark_kraftwire.columns.record_columns import default_schema
from pyspark_kraftwire.columns.record_kinds import requested_kinds
from pyspark_kraftwire.decoding.split_reader import SplitReader
from pyspark_kraftwire.options import AUTO, Options, parse_options
from pyspark_kraftwire.planning.plan import Task, logs_of, plan, requested_partitions

Row = dict[str, Any]


def options_of(*paths: Path | str, **given: object) -> Options:
    """Options of a read, given as Python values."""
    texts = {name: str(value) for name, value in given.items()}
    found = parse_options({name.replace("fs_", "fs.", 1): text for name, text in texts.items()})
    return Options(**{**vars(found), "paths": tuple(map(str, paths))})


def planned(
    *paths: Path | str,
    columns: Sequence[str] | None = None,
    schema: pa.Schema | None = None,
    filters: Iterable[PushedFilter] = (),
    **given: object,
) -> tuple[SplitReader, list[Task]]:
    """A read and its tasks; `columns` are some of those that it has by itself."""
    options = options_of(*paths, **given)
    logs = logs_of(requested_partitions(options)) if options.decode == AUTO else ()
    kinds = requested_kinds(options, logs)
    if schema is None:
        schema = default_schema(options, kinds)
        if columns is not None:
            schema = pa.schema([schema.field(name) for name in columns])
    projection = project(schema, options, kinds)
    reader = SplitReader(options, projection, PushedFilters(tuple(filters)))
    return reader, plan(reader.options, reader.filters)


def table_of(reader: SplitReader, tasks: Iterable[Task]) -> pa.Table:
    """What tasks give, one after the other."""
    batches = [batch for task in tasks for batch in reader.read(task)]
    for batch in batches:
        assert batch.schema == reader.projection.schema
    return pa.Table.from_batches(batches, reader.projection.schema)


def read_table(*paths: Path | str, **given: Any) -> pa.Table:
    """What a read gives; see `planned`."""
    return table_of(*planned(*paths, **given))


def read_rows(*paths: Path | str, **given: Any) -> list[Row]:
    """The rows of `read_table`."""
    rows: list[Row] = read_table(*paths, **given).to_pylist()
    return rows


def offsets_of(*paths: Path | str, **given: Any) -> list[int]:
    """The offsets of a read's rows, in their order."""
    return [row["offset"] for row in read_rows(*paths, columns=["offset"], **given)]


def labels(*paths: Path | str, **options: object) -> list[str]:
    """The partitions that a read of some paths goes over."""
    return sorted(one.label for one in requested_partitions(options_of(*paths, **options)))


def records(
    first: int, count: int, *, size: int = 20, time: int = 1000, step: int = 1
) -> list[Record]:
    """Records whose keys tell their offsets, `step` ms apart."""
    return [
        Record(first + at, time + at * step, b"%d" % (first + at), bytes(size), ())
        for at in range(count)
    ]


def batch(first: int, count: int, settings: BatchSettings = PLAIN, **of_records: int) -> bytes:
    """A batch of `records`."""
    return encode_batch(records(first, count, **of_records), settings)


def write_segments(
    directory: Path, *segments: Sequence[bytes], interval: int = INDEX_INTERVAL
) -> list[Path]:
    """Segments of these batches, with their indexes; the paths of the segments."""
    directory.mkdir(parents=True, exist_ok=True)
    paths = []
    for batches in segments:
        base = int.from_bytes(batches[0][:8])
        with SegmentWriter(directory, base, index_interval=interval) as writer:
            for one in batches:
                writer.append(one)
        paths.append(directory / f"{base:020}.log")
    return paths
