"""Arrow arrays in the types that Spark has.

Spark has no unsigned integers, no uuids and no milliseconds, and its columns may be null. An empty
list becomes null only in `headers`. Arrays are copied only if their type changes.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from kraftwire.columns import uuid_strings
from kraftwire.columns.schema import ELEMENT

TIMESTAMP = pa.timestamp("us", "UTC")
_UUID = pa.binary(16)
_WIDER = {pa.uint16(): pa.int32(), pa.uint32(): pa.int64()}

_MAX_MILLISECONDS = (2**63 - 1) // 1000


def spark_type(kind: pa.DataType) -> pa.DataType:
    """Return the Arrow type that Spark uses for a column of messages; any part may be null.

    A uuid becomes a string as Kafka prints it, uint16 an int, uint32 a bigint.
    """
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, spark_type(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(pa.field(ELEMENT, spark_type(kind.value_type)))
    if kind == _UUID:
        return pa.string()
    return _WIDER.get(kind, kind)


def cast_array(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return an array in one of Spark's types; the fields of structs are matched by name."""
    if array.type == kind:
        return array
    is_nested = pa.types.is_nested(kind)
    mask = array.is_null() if is_nested and array.null_count else None
    if pa.types.is_struct(kind):
        children = [cast_array(array.field(field.name), field.type) for field in kind]
        if not children:
            return pa.nulls(len(array), kind)
        return pa.StructArray.from_arrays(children, fields=list(kind), mask=mask)
    if pa.types.is_list(kind):
        values = cast_array(array.values, kind.value_type)
        return pa.ListArray.from_arrays(array.offsets, values, type=kind, mask=mask)
    if array.type == _UUID:
        return uuid_strings(array)
    return array.cast(kind)


def microseconds(milliseconds: pa.TimestampArray) -> pa.TimestampArray:
    """Return timestamps in microseconds; null if 64 bits cannot hold one."""
    try:
        return milliseconds.cast(TIMESTAMP)
    except pa.ArrowInvalid:
        numbers = milliseconds.cast(pa.int64())
        fits = pc.and_(
            pc.less_equal(numbers, _MAX_MILLISECONDS), pc.greater_equal(numbers, -_MAX_MILLISECONDS)
        )
        return pc.if_else(fits, milliseconds, pa.scalar(None, milliseconds.type)).cast(TIMESTAMP)


def without_empty(headers: pa.ListArray, kind: pa.DataType) -> pa.Array:
    """Return lists of headers with null for empty ones, as in Spark's Kafka source."""
    if not len(headers.values):
        return pa.nulls(len(headers), kind)
    mask = pc.equal(pc.list_value_length(headers), 0)
    values = cast_array(headers.values, kind.value_type)
    return pa.ListArray.from_arrays(headers.offsets, values, type=kind, mask=mask)
