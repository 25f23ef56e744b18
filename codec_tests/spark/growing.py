"""Partitions that grow as a broker's do, and a stream over them without Spark."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from kraftwire.log import Record
from kraftwire.log.batches.encoding import PLAIN, BatchSettings, control_record, encode_batch
from kraftwire.log.directories.file_names import segment_name
from kraftwire.log.segments.segment import read_batches
from kraftwire.log.small_files.indexes import encode_offset_index, encode_time_index
from kraftwire.log.sources.source import FileSource
from kraftwire.log.writers.segment_writer import IndexBuilder
from kraftwire_messages.kafka import EndTxnMarker
from kraftwire_wire.records import ControlType
from pyspark_kraftwire.columns.projection import project
from pyspark_kraftwire.columns.record_columns import default_schema
from pyspark_kraftwire.decoding.split_reader import SplitReader
from pyspark_kraftwire.options import parse_options
from pyspark_kraftwire.planning.plan import Task
from pyspark_kraftwire.streaming.offsets import parse_stream_offset
from pyspark_kraftwire.streaming.progress import Progress

Seen = tuple[str, int, int, bytes]
"""A record as a stream shows it: topic, partition, offset, value."""


class GrowingLog:
    """A partition directory that is written as a broker writes it; `records` are its records."""

    def __init__(self, data: Path, name: str, base: int = 0) -> None:
        """Make the directory, with an empty segment that begins at `base`."""
        self.directory = data / name
        self.directory.mkdir(parents=True)
        self.topic, _, number = name.rpartition("-")
        self.partition = int(number)
        self.next = base
        self.bases = [base]
        self.records: list[Seen] = []
        self.active.touch()

    @property
    def active(self) -> Path:
        """The segment that is written to."""
        return self.segment(self.bases[-1])

    def segment(self, base: int) -> Path:
        """The segment with a base offset."""
        return self.directory / segment_name(base, "log")

    def batch(
        self, count: int = 1, settings: BatchSettings = PLAIN, *, size: int = 0, gap: int = 0
    ) -> bytes:
        """The bytes of the next batch, whose offsets are taken with it."""
        self.next += gap
        values = [b"%d:" % (self.next + at) + b"." * size for at in range(count)]
        records = [
            Record(self.next + at, 1000 + at, b"k", value, ()) for at, value in enumerate(values)
        ]
        self.records += [
            (self.topic, self.partition, self.next + at, value) for at, value in enumerate(values)
        ]
        self.next += count
        return encode_batch(records, settings)

    def marker(self, kind: ControlType, producer: int) -> bytes:
        """The bytes of a marker that ends a transaction."""
        record = control_record(self.next, 1000, kind, EndTxnMarker())
        self.next += 1
        return encode_batch([record], transactional(producer)._replace(is_control=True))

    def write(self, data: bytes) -> None:
        """Append bytes, be they whole batches or not."""
        with self.active.open("ab") as file:
            file.write(data)

    def append(self, *counts: int, size: int = 0) -> None:
        """Append a batch for each count of records."""
        for count in counts:
            self.write(self.batch(count, size=size))

    def roll(self, *, index_interval: int | None = 100) -> None:
        """Begin a new segment; with an interval in bytes, the old one gets its indexes."""
        if self.next == self.bases[-1]:
            return
        if index_interval is not None:
            self.index(self.bases[-1], index_interval)
        self.bases.append(self.next)
        self.active.touch()

    def index(self, base: int, interval: int) -> None:
        """Write the indexes of a segment, which is whole."""
        builder = IndexBuilder(interval)
        with FileSource(self.segment(base)) as source:
            for batch in read_batches(source):
                builder.add(batch.header)
        builder.add_time()
        offsets, times = encode_offset_index(builder.offsets, base), builder.times
        (self.directory / segment_name(base, "index")).write_bytes(offsets)
        (self.directory / segment_name(base, "timeindex")).write_bytes(
            encode_time_index(times, base)
        )

    def retire(self, *, keep_file: bool = False) -> None:
        """Delete the oldest segment, or give it the name with which its deletion begins."""
        path = self.segment(self.bases.pop(0))
        if keep_file:
            path.rename(path.with_name(f"{path.name}.deleted"))
        else:
            path.unlink()

    def cut(self, size: int) -> None:
        """Cut the active segment, as a broker does after a crash or to follow a new leader."""
        os.truncate(self.active, size)


def transactional(producer: int) -> BatchSettings:
    """What a batch of a producer's transaction says."""
    return BatchSettings(
        producer_id=producer, producer_epoch=0, base_sequence=0, is_transactional=True
    )


class FollowingStream:
    """A query as Spark would drive it: offsets go through JSON, tasks are read in their order."""

    def __init__(self, data: Path | str, **given: object) -> None:
        """`given` are options by their names."""
        texts = {name: str(value) for name, value in given.items()}
        self.options = parse_options({"path": str(data), **texts})
        schema = default_schema(self.options, [])
        self._reader = SplitReader(self.options, project(schema, self.options, []))
        self.progress = Progress(self.options)
        self.offset: dict[str, Any] = {}
        """What the checkpoint has."""

    def restart(self) -> None:
        """Another process, which knows the checkpoint alone."""
        self.progress = Progress(self.options)

    def offer(self, *, limited: bool = True) -> dict[str, Any]:
        """The offset that the next trigger reads up to."""
        start = parse_stream_offset(self.offset)
        found = self.progress.latest(start, limited=limited).to_json()
        again: dict[str, Any] = json.loads(json.dumps(found))
        return again

    def tasks(self, end: dict[str, Any]) -> list[Task]:
        """The tasks of the trigger that reads up to an offset."""
        stop = parse_stream_offset(end)
        assert stop is not None
        return self.progress.plan(parse_stream_offset(self.offset), stop)

    def table(self, end: dict[str, Any]) -> pa.Table:
        """What the trigger reads, all columns."""
        return self.table_of(self.tasks(end))

    def table_of(self, tasks: Sequence[Task]) -> pa.Table:
        """What tasks read."""
        batches: list[pa.RecordBatch] = []
        for task in tasks:
            batches += self._reader.read(task)
        return pa.Table.from_batches(batches, self._reader.projection.schema)

    def trigger(self, *, limited: bool = True) -> list[Seen]:
        """One batch, committed."""
        end = self.offer(limited=limited)
        if end == self.offset:
            return []
        found = records_of(self.table(end))
        self.offset = end
        return found

    def all(self) -> list[Seen]:
        """Batches until nothing is new."""
        found: list[Seen] = []
        while True:
            before = self.offset
            found += self.trigger()
            if self.offset == before:
                return found


def records_of(table: pa.Table) -> list[Seen]:
    """The rows that are records, as they were written."""
    columns = [table.column(name).to_pylist() for name in ("topic", "partition", "offset", "value")]
    return [row for row in zip(*columns, strict=True) if row[2] is not None]
