"""All columns, those that a read has by default, and how each is built from a batch's arrays.

The columns of every read are named and typed as in Spark's Kafka source; those of `includeBatch`
follow its style. `decode` adds a column for each message of Kafka's own logs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from kraftwire.columns.schema import ELEMENT, RECORD_COLUMNS
from kraftwire.log.batches.compression import Compression
from kraftwire.log.batches.header import CONTROL, TRANSACTIONAL
from pyspark_kraftwire.columns.record_kinds import RecordKind
from pyspark_kraftwire.columns.spark_types import TIMESTAMP, microseconds, without_empty
from pyspark_kraftwire.options import AUTO, Mode, Options
from pyspark_kraftwire.split import Split

_HEADERS = pa.list_(pa.field(ELEMENT, pa.struct([("key", pa.string()), ("value", pa.binary())])))
CORRUPT_RECORD = pa.struct(
    [
        ("bytes", pa.binary()),
        ("file", pa.string()),
        ("position", pa.int64()),
        ("reason", pa.string()),
    ]
)
"""A report of `mode=PERMISSIVE` about unreadable bytes; `position` is a byte in the file."""

TYPE, VERSION = "type", "version"

Build = Callable[[pa.RecordBatch, Split], pa.Array]


@dataclass(frozen=True)
class RecordColumn:
    """A column for Spark: its type, the record columns that it needs, and its builder."""

    type: pa.DataType
    needs: tuple[str, ...]
    build: Build


def _as_is(name: str) -> RecordColumn:
    kind = RECORD_COLUMNS[name].type
    return RecordColumn(kind, (name,), lambda batch, split: batch.column(name))


def _constant(kind: pa.DataType, of: Callable[[Split], object]) -> RecordColumn:
    """Return a column with one value for all records of a split."""

    def build(batch: pa.RecordBatch, split: Split) -> pa.Array:
        return pa.repeat(pa.scalar(of(split), kind), batch.num_rows)

    return RecordColumn(kind, (), build)


def _bit(bit: int) -> RecordColumn:
    def build(batch: pa.RecordBatch, split: Split) -> pa.Array:
        mask = pa.scalar(bit, pa.int16())
        return pc.not_equal(pc.bit_wise_and(batch.column("attributes"), mask), 0)

    return RecordColumn(pa.bool_(), ("attributes",), build)


def _codec(batch: pa.RecordBatch, split: Split) -> pa.Array:
    labels = pa.array([codec.label for codec in Compression] + [None] * 3, pa.string())
    return labels.take(pc.bit_wise_and(batch.column("attributes"), pa.scalar(7, pa.int16())))


def _timestamp(batch: pa.RecordBatch, split: Split) -> pa.Array:
    return microseconds(batch.column("timestamp"))


def _headers(batch: pa.RecordBatch, split: Split) -> pa.Array:
    return without_empty(batch.column("headers"), _HEADERS)


_RECORD: dict[str, RecordColumn] = {
    "key": _as_is("key"),
    "value": _as_is("value"),
    "topic": _constant(pa.string(), lambda split: split.topic),
    "partition": _constant(pa.int32(), lambda split: split.partition),
    "offset": _as_is("offset"),
    "timestamp": RecordColumn(TIMESTAMP, ("timestamp",), _timestamp),
    "timestampType": _as_is("timestamp_type"),
}
_WITH_HEADERS = {"headers": RecordColumn(_HEADERS, ("headers",), _headers)}
_BATCH: dict[str, RecordColumn] = {
    "leaderEpoch": _as_is("partition_leader_epoch"),
    "producerId": _as_is("producer_id"),
    "producerEpoch": _as_is("producer_epoch"),
    "sequence": _as_is("sequence"),
    "attributes": _as_is("attributes"),
    "codec": RecordColumn(pa.string(), ("attributes",), _codec),
    "isTransactional": _bit(TRANSACTIONAL),
    "isControl": _bit(CONTROL),
    "batchPosition": _as_is("batch_position"),
    "file": _constant(pa.string(), lambda split: split.file.full_name),
}
COLUMNS: Mapping[str, RecordColumn] = {**_RECORD, **_WITH_HEADERS, **_BATCH}
"""The columns that every read can have."""


def default_schema(options: Options, kinds: Sequence[RecordKind]) -> pa.Schema:
    """Return the columns of a read without a schema; `kinds` are those of its records."""
    names = list(_RECORD)
    if options.decode not in (None, AUTO):
        names = [name for name in names if name not in ("key", "value")]
    names += list(_WITH_HEADERS) if options.include_headers else []
    names += list(_BATCH) if options.include_batch else []
    fields = [pa.field(name, COLUMNS[name].type) for name in names]
    if options.decode is not None:
        fields += [pa.field(TYPE, pa.string()), pa.field(VERSION, pa.int16())]
        # Markers that commit and those that abort share a message, and so a column.
        typed = {name: of for kind in kinds for name, of in kind.columns.items()}
        fields += [pa.field(name, of) for name, of in typed.items()]
    if options.mode is Mode.PERMISSIVE:
        fields.append(pa.field(options.corrupt_column, CORRUPT_RECORD))
    return pa.schema(fields)
