"""Reads with the native columns, for tests of memory in processes of their own."""

from __future__ import annotations

import contextlib
import resource

from crc32c import crc32c

from kraftwire.columns import DEFAULT_COLUMNS, decode_batches, decode_messages
from kraftwire.columns.engine import native_columns
from kraftwire.log.batches.compression import Arena
from kraftwire_messages.kafka import MetadataResponse
from kraftwire_wire.errors import DecodeError

from codec_tests.columns.engines import binary
from codec_tests.stored_files import segment_of

native = native_columns()

ANY_ORDER = (0, (1 << 63) - 2, True, 1 << 40)
"""Any offsets, if they ascend."""
UNBOUNDED = (-(2**63), 2**63 - 1, -(2**63), 2**63 - 1)


def filled(name: str = "orders") -> object:
    """Return record columns with the rows of a segment."""
    assert native is not None
    arena = Arena()
    rows = native.RecordColumns(
        DEFAULT_COLUMNS, UNBOUNDED, 1 << 30, True, crc32c, arena.decompress, None
    )
    data = segment_of(name).read_bytes()
    assert rows.read(data, 0, len(data), len(data), 0, ANY_ORDER)[0] == len(data)
    return rows


def peak() -> int:
    """Return the peak memory of this process, in KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def read_repeatedly(times: int) -> None:
    """Read whole and damaged input, with columns taken or dropped and with reads cut short."""
    data = segment_of("orders").read_bytes()
    damaged = data[:700] + b"?" + data[701:]
    value = MetadataResponse(topics=[MetadataResponse.MetadataResponseTopic(name="t")]).encode(12)
    column = binary([value, value[:-1], None, value + b"x"])
    for _ in range(times):
        list(decode_batches(data, control=True))
        list(decode_batches(damaged, on_damage=lambda _: None))
        next(decode_batches(data, chunk=1))
        filled().take()  # type: ignore[attr-defined]
        filled("codec-lz4")
        decode_messages(MetadataResponse, 12, column, on_error=lambda *_: None)
        with contextlib.suppress(DecodeError):
            decode_messages(MetadataResponse, 12, column)
