"""Formats columns of uuids as Kafka prints them: 22 characters of URL-safe base64."""

from __future__ import annotations

from array import array
from base64 import urlsafe_b64encode
from functools import cache

import pyarrow as pa

from kraftwire.columns.engine import NATIVE

_SIZE, _CHARACTERS = 16, 22


def uuid_strings(uuids: pa.FixedSizeBinaryArray) -> pa.StringArray:
    """Return a column of uuids as strings; nulls stay null."""
    count = len(uuids)
    begin = uuids.offset * _SIZE
    data = uuids.buffers()[1]
    raw = memoryview(data if data is not None else b"").cast("B")[begin : begin + count * _SIZE]
    text = _text(raw, count) if NATIVE is None else NATIVE.uuid_text(raw, count)
    nulls = uuids.is_valid().buffers()[1] if uuids.null_count else None
    buffers = [nulls, _offsets(count.bit_length()), pa.py_buffer(text)]
    return pa.Array.from_buffers(pa.string(), count, buffers)


@cache
def _offsets(power: int) -> pa.Buffer:
    """Return the string offsets for up to `2 ** power` uuids."""
    return pa.py_buffer(array("i", range(0, (_CHARACTERS << power) + 1, _CHARACTERS)))


def _text(raw: memoryview, count: int) -> bytes:
    starts = range(0, count * _SIZE, _SIZE)
    return b"".join(urlsafe_b64encode(raw[at : at + _SIZE])[:_CHARACTERS] for at in starts)
