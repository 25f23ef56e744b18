"""Both column engines on the same input: what they make, and what they say is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple
from unittest.mock import patch
from uuid import UUID

import pyarrow as pa

from kraftwire.columns import (
    RECORD_COLUMNS,
    TypedRows,
    decode_batches,
    decode_messages,
    decode_typed,
    record_schema,
)
from kraftwire.columns.engine import native_columns
from kraftwire.log import Batch, BytesSource, CorruptBatch, Damage, Record
from kraftwire.log.segments.batch_order import BatchOrder
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.message import Message, Struct

ENGINES = ("python", "native") if native_columns() is not None else ("python",)
ALL = tuple(RECORD_COLUMNS)


@contextmanager
def engine(name: str) -> Iterator[None]:
    """Have columns made by one engine."""
    native = native_columns() if name == "native" else None
    modules = ("batches", "messages", "frames", "uuids")
    with ExitStack() as stack:
        for module in modules:
            stack.enter_context(patch(f"kraftwire.columns.{module}.NATIVE", native))
        yield


class Batches(NamedTuple):
    """The rows of a file, and the damage in it; the error where damage ends the reading."""

    table: pa.Table
    damage: list[Damage]
    error: str | None = None


def read_batches_by(
    name: str,
    data: bytes,
    columns: tuple[str, ...] = ALL,
    *,
    raises: bool = False,
    make_order: Callable[[], BatchOrder] = BatchOrder,
    **more: Any,
) -> Batches:
    """What an engine makes of a file of batches."""
    more["order"] = make_order()  # each reading goes on with one of its own
    damage: list[Damage] = []
    chunks, error = [], None
    told = None if raises else damage.append
    with engine(name):
        try:
            for chunk in decode_batches(BytesSource(data, "file"), columns, on_damage=told, **more):
                chunk.validate(full=True)
                chunks.append(chunk)
        except CorruptBatch as caught:
            error = str(caught)
    table = pa.Table.from_batches(chunks, record_schema(columns))
    return Batches(table.combine_chunks(), damage, error)


def batches_alike(data: bytes, columns: tuple[str, ...] = ALL, **more: Any) -> Batches:
    """What both engines make of a file."""
    expected, *others = (read_batches_by(name, data, columns, **more) for name in ENGINES)
    for found in others:
        assert found.damage == expected.damage
        assert found.error == expected.error
        assert found.table.num_rows == expected.table.num_rows
        assert found.table.equals(expected.table)
    return expected


class Decoded(NamedTuple):
    """What came of a column, and what was wrong with its rows."""

    found: Any
    errors: list[tuple[int, str]]


OnError = Callable[[int, KraftwireError], object]


def _decoded(decode: Callable[[OnError], Any]) -> list[Decoded]:
    """What each engine makes of a column."""
    outcomes = []
    for name in ENGINES:
        errors: list[tuple[int, str]] = []

        def note(row: int, error: KraftwireError, into: list[Any] = errors) -> None:
            into.append((row, str(error)))

        with engine(name):
            outcomes.append(Decoded(decode(note), errors))
        assert errors == outcomes[0].errors
    return outcomes


def messages_alike(message: type[Message], version: int, column: pa.Array) -> Decoded:
    """What both engines make of a column of messages."""
    expected, *others = _decoded(
        lambda note: decode_messages(message, version, column, on_error=note)
    )
    for other in others:
        assert_same_array(other.found, expected.found)
    return expected


def typed_alike(log: str, keys: pa.Array, values: pa.Array) -> Decoded:
    """What both engines make of a typed log."""
    expected, *others = _decoded(lambda note: decode_typed(log, keys, values, on_error=note))
    for other in others:
        assert list(other.found) == list(expected.found)
        for kind, rows in other.found.items():
            _assert_same_rows(rows, expected.found[kind])
    return expected


def _assert_same_rows(found: TypedRows, expected: TypedRows) -> None:
    assert found.rows.equals(expected.rows)
    assert found.versions.equals(expected.versions)
    for one, other in ((found.keys, expected.keys), (found.values, expected.values)):
        assert (one is None) == (other is None)
        if one is not None:
            assert_same_array(one, other)


def assert_same_array(found: pa.Array, expected: pa.Array) -> None:
    """Equality under which NaN equals itself."""
    found.validate(full=True)
    assert found.type == expected.type
    assert found.equals(expected) or repr(found.to_pylist()) == repr(expected.to_pylist())


def row_of(batch: Batch, record: Record) -> dict[str, Any]:
    """Return a record as a row of all columns."""
    header = batch.header
    return {
        "key": record.key,
        "value": record.value,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "timestamp_type": int(header.has_log_append_time),
        "headers": [{"key": key, "value": value} for key, value in record.headers],
        "partition_leader_epoch": header.partition_leader_epoch,
        "producer_id": header.producer_id,
        "producer_epoch": header.producer_epoch,
        "sequence": header.sequence_at(record.offset - header.base_offset),
        "attributes": header.attributes,
        "batch_position": header.position,
    }


def rows_of_table(table: pa.Table) -> list[dict[str, Any]]:
    """Return the rows of a table, with timestamps as numbers."""
    at = table.schema.get_field_index("timestamp")
    numbers = table["timestamp"].cast(pa.int64())
    rows: list[dict[str, Any]] = table.set_column(at, "timestamp", numbers).to_pylist()
    return rows


def binary(rows: Iterable[bytes | None]) -> pa.Array:
    return pa.array(list(rows), pa.binary())


def fields_of(value: Any) -> Any:
    """Return a message as a row of its column shows it."""
    if isinstance(value, Struct):
        return {one.name: fields_of(getattr(value, one.name)) for one in value.LAYOUT.fields}
    if isinstance(value, list):
        return [fields_of(item) for item in value]
    return value.bytes if isinstance(value, UUID) else value
