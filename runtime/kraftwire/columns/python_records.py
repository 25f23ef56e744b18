"""Converts records to columns in plain Python: the fallback of the native engine.

It also does what the native engine does not: it reads batches of magic 0 and 1 and header keys
that are not UTF-8 (with replacement characters, as in Java), and it raises the errors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from kraftwire.log.batches.batch import Batch
from kraftwire.log.batches.header import BatchHeader
from kraftwire.log.batches.record import HEADER_KEY_ERRORS, Record
from kraftwire.log.errors import CorruptBatch

_MIN_INT64, _MAX_INT64 = -(1 << 63), (1 << 63) - 1
_NO_TIMESTAMP_TYPE = -1
_ROW = 50
"""Approximate size of a row in addition to its content, in bytes."""


class PythonRecords:
    """Collects records as rows of the requested columns."""

    def __init__(self, schema: pa.Schema, room: int) -> None:
        """A chunk is full at `room` bytes or rows."""
        self._schema = schema
        self._room = room
        self._columns: dict[str, list[Any]] = {name: [] for name in schema.names}
        self._size = 0
        self.rows = 0

    @property
    def is_full(self) -> bool:
        return self._size >= self._room or self.rows >= self._room

    def check(self, batch: Batch) -> Sequence[Record]:
        """Return the records of a batch; raise `CorruptBatch` if they do not fit into columns."""
        for record in batch.records:
            if not (_is_64_bit(record.offset) and _is_64_bit(record.timestamp)):
                reason = f"offset {record.offset} or timestamp {record.timestamp} exceeds 64 bits"
                raise CorruptBatch(batch.file, batch.header.position, reason)
        return batch.records

    def append(self, header: BatchHeader, records: list[Record]) -> None:
        """Append records of a batch as rows."""
        for name, values in self._columns.items():
            value_of = _VALUES[name]
            values.extend(value_of(header, record) for record in records)
        self.rows += len(records)
        self._size += sum(map(_size_of, records))

    def take(self) -> pa.RecordBatch:
        """Return the rows so far and start a new chunk."""
        arrays = [
            pa.array(values, field.type)
            for values, field in zip(self._columns.values(), self._schema, strict=True)
        ]
        rows, self.rows, self._size = self.rows, 0, 0
        self._columns = {name: [] for name in self._columns}
        if not arrays:
            return pa.record_batch(pa.array([{}] * rows, pa.struct([])))
        return pa.record_batch(arrays, schema=self._schema)


def _size_of(record: Record) -> int:
    """Return the approximate size of a record in bytes."""
    size = _ROW + len(record.key or b"") + len(record.value or b"")
    for key, value in record.headers:
        size += len(key) + len(value or b"")
    return size


def _is_64_bit(number: int) -> bool:
    return _MIN_INT64 <= number <= _MAX_INT64


def _headers(header: BatchHeader, record: Record) -> list[dict[str, Any]]:
    return [
        {"key": key.encode(errors=HEADER_KEY_ERRORS).decode(errors="replace"), "value": value}
        for key, value in record.headers
    ]


def _timestamp_type(header: BatchHeader, record: Record) -> int:
    return int(header.has_log_append_time) if header.magic else _NO_TIMESTAMP_TYPE


_VALUES: dict[str, Callable[[BatchHeader, Record], object]] = {
    "key": lambda header, record: record.key,
    "value": lambda header, record: record.value,
    "offset": lambda header, record: record.offset,
    "timestamp": lambda header, record: record.timestamp,
    "timestamp_type": _timestamp_type,
    "headers": _headers,
    "partition_leader_epoch": lambda header, record: header.partition_leader_epoch,
    "producer_id": lambda header, record: header.producer_id,
    "producer_epoch": lambda header, record: header.producer_epoch,
    "sequence": lambda header, record: header.sequence_at(record.offset - header.base_offset),
    "attributes": lambda header, record: header.attributes,
    "batch_position": lambda header, record: header.position,
}
