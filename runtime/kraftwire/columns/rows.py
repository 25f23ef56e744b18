"""Gives access to the bytes of a binary column, row by row, without a copy."""

from __future__ import annotations

from array import array
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kraftwire_wire.errors import KraftwireError

Int32s = Any
"""A buffer of int32, such as `memoryview.cast("i")` or `array("i")`."""

NULL = -1
"""The version of a row that is null."""


class Rows(NamedTuple):
    """The rows of a binary column; row `i` is `data[begins[i]:ends[i]]` unless `is_null`."""

    data: memoryview
    begins: Int32s
    ends: Int32s
    is_null: pa.BooleanArray | None = None

    def __len__(self) -> int:
        return len(self.begins)

    @property
    def nulls(self) -> set[int]:
        if self.is_null is None or not self.is_null.true_count:
            return set()
        return set(pc.indices_nonzero(self.is_null).to_pylist())

    def content(self, row: int) -> bytes:
        return bytes(self.data[self.begins[row] : self.ends[row]])


def rows_of(column: pa.Array | pa.ChunkedArray) -> Rows:
    """Return the rows of a binary column; null rows are empty."""
    if not _is_binary(column):
        kind = getattr(column, "type", type(column).__name__)
        raise KraftwireError(f"expected a binary array of pyarrow, got {kind}")
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if column.type != pa.binary():
        column = column.cast(pa.binary())
    _, offsets, data = column.buffers()
    begin, count = column.offset, len(column)
    spans: Int32s = memoryview(offsets).cast("i") if offsets is not None else array("i", [0])
    begins, ends = spans[begin : begin + count], spans[begin + 1 : begin + count + 1]
    is_null = pc.is_null(column)
    if column.null_count:  # the bytes of a null row are undefined
        ends = int32_buffer(pc.if_else(is_null, int32_array(begins), int32_array(ends)))
    return Rows(memoryview(data if data is not None else b"").cast("B"), begins, ends, is_null)


def _is_binary(column: object) -> bool:
    if not isinstance(column, pa.Array | pa.ChunkedArray):
        return False
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    return any(
        is_kind(kind)
        for is_kind in (
            pa.types.is_null,
            pa.types.is_binary,
            pa.types.is_large_binary,
            pa.types.is_binary_view,
            pa.types.is_fixed_size_binary,
        )
    )


def int32_array(values: Int32s) -> pa.Int32Array:
    """Return a buffer of int32 as an array."""
    return pa.Array.from_buffers(pa.int32(), len(values), [None, pa.py_buffer(values)])


def int32_buffer(values: Any) -> Int32s:
    """Return an array of int32 without nulls as a buffer."""
    at = values.offset
    return memoryview(values.buffers()[1]).cast("i")[at : at + len(values)]


def int16_buffer(values: pa.Array) -> Any:
    """Return the values of an array without nulls as a buffer of int16."""
    values = values.cast(pa.int16())
    at = values.offset
    return memoryview(values.buffers()[1]).cast("h")[at : at + len(values)]
