"""The bytes of a binary column, row by row, without a copy."""

from __future__ import annotations

from array import array
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kraftwire_wire.errors import KraftwireError

Int32s = Any
"""A buffer of int32, as `memoryview.cast("i")` or `array("i")` make it."""

NULL = -1
"""The version of a row that is null."""


class Rows(NamedTuple):
    """Row `i` is `data[begins[i]:ends[i]]`; `is_null` says which rows of a column are nothing."""

    data: memoryview
    begins: Int32s
    ends: Int32s
    is_null: pa.BooleanArray | None = None

    def __len__(self) -> int:
        return len(self.begins)

    @property
    def nulls(self) -> set[int]:
        """The rows that are nothing."""
        if self.is_null is None or not self.is_null.true_count:
            return set()
        return set(pc.indices_nonzero(self.is_null).to_pylist())

    def content(self, row: int) -> bytes:
        """The bytes of a row."""
        return bytes(self.data[self.begins[row] : self.ends[row]])


_KINDS = (pa.binary(), pa.large_binary(), pa.binary_view())


def rows_of(column: pa.Array | pa.ChunkedArray) -> Rows:
    """The rows of a column of bytes."""
    if not isinstance(column, pa.Array | pa.ChunkedArray) or column.type not in _KINDS:
        kind = getattr(column, "type", type(column).__name__)
        raise KraftwireError(f"no column of bytes, which binary arrays of pyarrow are: {kind}")
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if column.type != pa.binary():
        column = column.cast(pa.binary())
    _, offsets, data = column.buffers()
    begin, count = column.offset, len(column)
    spans: Int32s = memoryview(offsets).cast("i") if offsets is not None else array("i", [0])
    spans = spans[begin : begin + count + 1]
    return Rows(
        memoryview(data if data is not None else b"").cast("B"),
        spans[:-1],
        spans[1:],
        pc.is_null(column),
    )


def int16s(values: pa.Array) -> Any:
    """The values of an array without nulls, as a buffer of int16."""
    values = values.cast(pa.int16())
    at = values.offset
    return memoryview(values.buffers()[1]).cast("h")[at : at + len(values)]
