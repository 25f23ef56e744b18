"""Decodes a column of encoded messages to a column of Arrow structs.

A struct has the fields of all versions of the message, so that all versions fit into one column.
A field that a version lacks has its default. Unknown tagged fields are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc

from kraftwire.columns.engine import NATIVE
from kraftwire.columns.rows import NULL, Rows, int16_buffer, rows_of
from kraftwire.columns.schema import message_type
from kraftwire_wire.errors import DecodeError, FieldError, KraftwireError
from kraftwire_wire.message import Message, Struct

_UNUSUAL_RUN = 32
"""The least number of rows that plain Python reads after the native engine stops."""

OnError = Callable[[int, KraftwireError], object]


def decode_messages(
    message: type[Message],
    version: int,
    column: pa.Array,
    *,
    on_error: OnError | None = None,
) -> pa.StructArray:
    """Return the messages of a binary column, all of one version, as structs of `message_type`.

    A null row stays null. Raises `DecodeError` for the first row that is not a message, with a path
    that begins with the row. If `on_error` is passed, it is called instead, and the row becomes
    null. Raises `UnsupportedVersion` if the message lacks the version.
    """
    message.codec(version)
    rows = rows_of(column)
    versions = pc.if_else(
        rows.is_null, pa.scalar(NULL, pa.int16()), pa.scalar(int(version), pa.int16())
    )
    return decode_rows(message, rows, int16_buffer(versions), on_error or raise_error)


def raise_error(row: int, error: KraftwireError) -> None:
    """Raise the error of a row, with the row at the start of its path."""
    step = f"[{row}]"
    if isinstance(error, FieldError):
        raise error.inside(step)
    raise DecodeError(str(error), step) from error


def decode_rows(
    message: type[Message], rows: Rows, versions: Any, on_error: OnError
) -> pa.StructArray:
    """Return messages as structs, each in its own version; a version below 0 means null."""
    kind = message_type(message)
    if NATIVE is None:
        found = [_decode(message, rows, versions, row, on_error) for row in range(len(rows))]
        return message_array(found, kind)
    native = NATIVE.MessageColumns(message)
    parts: list[pa.StructArray] = []
    versions = memoryview(bytearray(versions)).cast("h")  # copied: a refused row becomes null
    row = native.read(rows.data, rows.begins, rows.ends, versions, 0)
    while row < len(rows):
        if versions[row] == NULL:
            raise MemoryError  # the only reason for which the engine stops at a null
        first = _decode(message, rows, versions, row, on_error)
        if first is None:
            versions[row] = NULL
        else:
            # Unusual rows come together, and each change of engine ends a part.
            end = min(row + _UNUSUAL_RUN, len(rows))
            more = [_decode(message, rows, versions, at, on_error) for at in range(row + 1, end)]
            parts += pa.array(native.take()), message_array([first, *more], kind)
            row = end
        row = native.read(rows.data, rows.begins, rows.ends, versions, row)
    parts.append(pa.array(native.take()))
    return _joined(parts)


def _joined(parts: list[pa.StructArray]) -> pa.StructArray:
    if len(parts) == 1:
        return parts[0]
    try:
        return pa.concat_arrays(parts)
    except pa.ArrowInvalid as error:  # offsets have 32 bits
        raise KraftwireError(f"the column is too large, decode it in parts: {error}") from None


def _decode(
    message: type[Message], rows: Rows, versions: Any, row: int, on_error: OnError
) -> Message | None:
    """Decode one row in plain Python."""
    version = versions[row]
    if version < 0:
        return None
    try:
        return message.codec(version).decode(rows.content(row))
    except KraftwireError as error:
        on_error(row, error)
        return None


def message_array(messages: list[Message | None], kind: pa.StructType) -> pa.StructArray:
    """Convert messages of one class to a struct array in plain Python; None becomes null."""
    return pa.array([_plain(message) for message in messages], kind)


def _plain(value: Any) -> Any:
    if isinstance(value, Struct):
        fields = value.LAYOUT.fields
        return {field.name: _plain(getattr(value, field.name)) for field in fields}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value.bytes if isinstance(value, UUID) else value
