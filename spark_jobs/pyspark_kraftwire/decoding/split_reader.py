"""Reads a task's splits as Arrow batches of the schema that Spark expects.

`mode` decides about unreadable bytes: FAILFAST ends the read, PERMISSIVE makes a row of them,
DROPMALFORMED leaves them out with a warning in the log. Zeros at the end of a partition are not
damage, since brokers can preallocate segments.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import dataclass, field

import pyarrow as pa

from kraftwire.columns import decode_batches
from kraftwire.log.segments.segment import Damage, DamageKind
from kraftwire.log.sources.source import Source
from kraftwire_wire.errors import KraftwireError
from pyspark_kraftwire.columns.filters import PushedFilters
from pyspark_kraftwire.columns.projection import Projection
from pyspark_kraftwire.columns.record_columns import COLUMNS, CORRUPT_RECORD
from pyspark_kraftwire.decoding.typed_columns import TypedColumns, control_rows
from pyspark_kraftwire.options import Mode, Options
from pyspark_kraftwire.split import Split

MAX_CORRUPT_BYTES = 1 << 20
"""The most bytes of a damaged region that a row holds; its reason has the full size."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SplitReader:
    """Reads splits; all tasks of a query have the same reader."""

    options: Options
    projection: Projection
    filters: PushedFilters = field(default_factory=PushedFilters)

    def read(self, splits: Iterable[Split]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of splits; raise `KraftwireError` if they cannot be read."""
        for split in splits:
            with split.open() as source:
                yield from _SplitRead(self, split, source).batches()


@dataclass
class _CorruptRegion:
    data: bytes
    position: int
    reason: str


class _SplitRead:
    """Reads one split."""

    def __init__(self, reading: SplitReader, split: Split, source: Source) -> None:
        self._options = reading.options
        self._projection = reading.projection
        self._filters = reading.filters
        self._split = split
        self._source = source
        self._corrupt: list[_CorruptRegion] = []

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the split, with rows about damage at the places where it is."""
        split = self._split
        chunks = decode_batches(
            self._source,
            self._projection.needs(self._options),
            start=split.start,
            end=split.end,
            selection=split.selection,
            control=self._options.include_control,
            on_damage=self._on_damage,
            limit=self._options.max_batch_bytes,
            verify_crc=self._options.verify_crc,
            order=copy(split.order),
        )
        for chunk in chunks:
            if self._corrupt:
                yield from self._corrupt_rows()
            batch = self._project(chunk)
            if batch.num_rows:
                yield batch
        yield from self._corrupt_rows()

    def _on_damage(self, damage: Damage) -> None:
        split = self._split
        if damage.kind is DamageKind.ZEROS and split.is_tail:
            return
        # A split begins at a batch, so damage that reaches into the next one ends there.
        end = min(damage.end, split.end) if damage.start < split.end else damage.end
        damage = damage._replace(end=end)
        error = damage.error(self._source.name)
        mode = self._options.mode
        if mode is Mode.FAILFAST:
            raise KraftwireError(f"{error}; mode=PERMISSIVE shows it in a row, {_DROPS}")
        if mode is Mode.DROPMALFORMED:
            _log.warning("left out: %s", error)
            return
        size = min(damage.size, MAX_CORRUPT_BYTES)
        data = self._source.read_at(damage.start, size)
        self._corrupt.append(_CorruptRegion(data, damage.start, error.reason))

    def _corrupt_rows(self) -> Iterator[pa.RecordBatch]:
        """Yield rows about unreadable bytes; only topic, partition and file are known for them."""
        rows, self._corrupt = self._corrupt, []
        if not rows or self._projection.corrupt_name is None:
            return
        count = len(rows)
        arrays = []
        for one in self._projection.schema:
            name = self._projection.records.get(one.name)
            if one.name == self._projection.corrupt_name:
                array = self._corrupt_array(rows, list(range(count)), count)
            elif name in ("topic", "partition", "file"):
                empty = pa.record_batch([pa.nulls(count)], names=["rows"])
                array = COLUMNS[name].build(empty, self._split)
            else:
                array = pa.nulls(count, one.type)
            arrays.append(array)
        batch = pa.record_batch(arrays, schema=self._projection.schema)
        batch = self._filters.apply(batch)
        if batch.num_rows:
            yield batch

    def _corrupt_array(self, rows: list[_CorruptRegion], places: list[int], count: int) -> pa.Array:
        """Return the corrupt column; `places` are the rows about unreadable bytes."""
        values: list[dict[str, object] | None] = [None] * count
        for place, row in zip(places, rows, strict=True):
            values[place] = {
                "bytes": row.data,
                "file": self._source.name,
                "position": row.position,
                "reason": row.reason,
            }
        return pa.array(values, CORRUPT_RECORD)

    def _project(self, chunk: pa.RecordBatch) -> pa.RecordBatch:
        """Return the requested columns of a chunk of records."""
        projection, split = self._projection, self._split
        made = {name: COLUMNS[of].build(chunk, split) for name, of in projection.records.items()}
        typed = self._typed(chunk) if projection.decodes else None
        if typed is not None:
            made |= {name: typed.messages(of) for name, of in projection.messages.items()}
            if projection.type_name is not None:
                made[projection.type_name] = typed.kind_names()
            if projection.version_name is not None:
                made[projection.version_name] = typed.versions()
        errors = typed.errors if typed is not None else {}
        if projection.corrupt_name is not None:
            made[projection.corrupt_name] = self._corrupt_records(chunk, errors)
        arrays = [made[name] for name in projection.schema.names]
        batch = pa.record_batch(arrays, schema=projection.schema)
        if errors and self._options.mode is Mode.DROPMALFORMED:
            kept = [row not in errors for row in range(batch.num_rows)]
            batch = batch.filter(pa.array(kept))
        return self._filters.apply(batch)

    def _corrupt_records(
        self, chunk: pa.RecordBatch, errors: dict[int, KraftwireError]
    ) -> pa.Array:
        if not errors:
            return pa.nulls(chunk.num_rows, CORRUPT_RECORD)
        rows = [
            _CorruptRegion(
                chunk.column("value")[row].as_py() or b"",
                chunk.column("batch_position")[row].as_py(),
                f"offset {chunk.column('offset')[row].as_py()}: {error}",
            )
            for row, error in errors.items()
        ]
        return self._corrupt_array(rows, list(errors), chunk.num_rows)

    def _typed(self, chunk: pa.RecordBatch) -> TypedColumns:
        """Decode the typed columns of a chunk; the mode decides about unreadable records."""
        typed = TypedColumns(chunk.num_rows, self._projection.message_types)
        keys, values = chunk.column("key"), chunk.column("value")
        rows = None
        if self._options.include_control:
            control = control_rows(chunk.column("attributes"))
            if len(control):
                typed.read_control(keys, values, control)
                rows = _others(control, chunk.num_rows)
        if self._split.log is not None:
            typed.read(self._split.log, keys, values, rows)
        if typed.errors and self._options.mode is not Mode.PERMISSIVE:
            self._raise_or_warn(chunk, typed.errors)
        return typed

    def _raise_or_warn(self, chunk: pa.RecordBatch, errors: dict[int, KraftwireError]) -> None:
        for row, error in sorted(errors.items()):
            at = chunk.column("batch_position")[row].as_py()
            offset = chunk.column("offset")[row].as_py()
            where = f"{self._source.name}, batch at {at}, offset {offset}: {error}"
            if self._options.mode is Mode.FAILFAST:
                raise KraftwireError(f"{where}; mode=PERMISSIVE shows it in the row, {_DROPS}")
            _log.warning("left out: %s", where)


_DROPS = "mode=DROPMALFORMED leaves it out"


def _others(rows: pa.Array, count: int) -> pa.Array:
    """Return the rows that are not in `rows`, in ascending order."""
    chosen = set(rows.to_pylist())
    return pa.array([row for row in range(count) if row not in chosen], pa.int64())
