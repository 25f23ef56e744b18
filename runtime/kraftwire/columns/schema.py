"""The Arrow types of the columns of records, and of any message according to its LAYOUT."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import pyarrow as pa

from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.layout import Array, Field, StructType, Type
from kraftwire_wire.message import Message

ELEMENT = "element"
"""The name of a list's child field, as Spark expects it."""


def list_of(kind: pa.DataType) -> pa.DataType:
    """Return the type of a list without nulls."""
    return pa.list_(pa.field(ELEMENT, kind, nullable=False))


_HEADER = pa.struct([pa.field("key", pa.string(), nullable=False), ("value", pa.binary())])

RECORD_COLUMNS: dict[str, pa.Field] = {
    field.name: field
    for field in (
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("timestamp", pa.timestamp("ms", "UTC"), nullable=False),
        pa.field("timestamp_type", pa.int32(), nullable=False),
        pa.field("headers", list_of(_HEADER), nullable=False),
        pa.field("partition_leader_epoch", pa.int32(), nullable=False),
        pa.field("producer_id", pa.int64(), nullable=False),
        pa.field("producer_epoch", pa.int16(), nullable=False),
        pa.field("sequence", pa.int32(), nullable=False),
        pa.field("attributes", pa.int16(), nullable=False),
        pa.field("batch_position", pa.int64(), nullable=False),
    )
}
"""The columns of records.

`timestamp` is -1 ms if the record has none. `timestamp_type` is 0 for CreateTime, 1 for
LogAppendTime, -1 for neither (magic 0). Values from a batch's header are the same for all its
records: `attributes` are its flags (`kraftwire.log.batches.header`), and `batch_position` is the
batch's position in its file. Values that the batch's format lacks are -1.
"""

DEFAULT_COLUMNS = ("key", "value", "offset", "timestamp", "timestamp_type", "headers")


def record_schema(columns: Iterable[str] = DEFAULT_COLUMNS) -> pa.Schema:
    """Return the schema of these record columns, in this order; raise for unknown names."""
    names = list(columns)
    for name in names:
        if name not in RECORD_COLUMNS:
            raise KraftwireError(f"no column {name!r}; there are {', '.join(RECORD_COLUMNS)}")
    if len(set(names)) < len(names):
        raise KraftwireError(f"a column is requested twice: {', '.join(names)}")
    return pa.schema([RECORD_COLUMNS[name] for name in names])


_PRIMITIVES = {
    "bool": pa.bool_(),
    "int8": pa.int8(),
    "int16": pa.int16(),
    "uint16": pa.uint16(),
    "int32": pa.int32(),
    "uint32": pa.uint32(),
    "int64": pa.int64(),
    "float64": pa.float64(),
    "uuid": pa.binary(16),
    "string": pa.string(),
    "bytes": pa.binary(),
    "records": pa.binary(),
}


def message_type(message: type[Message]) -> pa.StructType:
    """Return the struct type of a message: the fields of all its versions, in order."""
    untyped: Any = message  # mypy takes the class for unhashable, as its instances are
    return _message_type(untyped)


@cache
def _message_type(message: Any) -> pa.StructType:
    return _struct_type(message, message, ())


def _struct_type(message: type[Any], struct: type[Any], within: tuple[type[Any], ...]) -> Any:
    if struct in within:
        raise KraftwireError(f"{struct.__qualname__} contains itself, so it cannot be a column")
    within = (*within, struct)
    return pa.struct([_field(message, field, within) for field in struct.LAYOUT.fields])


def _field(message: type[Any], field: Field, within: tuple[type[Any], ...]) -> pa.Field:
    is_nullable = bool(field.nullable) or field.default is None
    return pa.field(field.name, _type(message, field.type, within), nullable=is_nullable)


def _type(message: type[Any], kind: Type, within: tuple[type[Any], ...]) -> pa.DataType:
    if isinstance(kind, Array):
        return list_of(_type(message, kind.element, within))
    if isinstance(kind, StructType):
        return _struct_type(message, kind.class_in(message), within)
    return _PRIMITIVES[kind]
