"""Batches of a few kilobytes that decompress to millions of headers, records or messages."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable

from crc32c import crc32c

from kraftwire.log.batches.compression import Compression, compress
from kraftwire.log.batches.header import CONTROL, CRC_FROM, HEADER, LOG_OVERHEAD, TRANSACTIONAL
from kraftwire.log.batches.varint import write_varint

HEADERS = 5_000_000
RECORDS = 1_500_000
EMPTY_RECORD = b"\x0c\0\0\0\x01\x01\0"
ABORT_MARKER = b"\x22\0\0\0\x08\0\0\0\0\x0c\0\0\0\0\0\0\0\0"


def batch_of(
    payload: bytes,
    count: int,
    codec: Compression = Compression.ZSTD,
    *,
    base_offset: int = 0,
    attributes: int = 0,
    last_delta: int | None = None,
) -> bytes:
    """A batch of magic 2 that announces `count` records, whatever the payload is."""
    packed = compress(codec, payload)
    header = HEADER.pack(
        base_offset,
        HEADER.size - LOG_OVERHEAD + len(packed),
        0,
        2,
        0,
        codec | attributes,
        count - 1 if last_delta is None else last_delta,
        *(0, 0, -1, -1, -1),
        count,
    )
    crc = crc32c(packed, crc32c(header[CRC_FROM:]))
    return header[: CRC_FROM - 4] + crc.to_bytes(4) + header[CRC_FROM:] + packed


def record_with_headers(count: int, content: bytes | None = None) -> bytes:
    """A record that announces `count` headers; empty ones unless the content is given."""
    body = bytearray(b"\0\0\0\x01\x01")
    write_varint(body, count)
    body += b"\0\x01" * count if content is None else content
    record = bytearray()
    write_varint(record, len(body))
    return bytes(record + body)


def records_with_headers(records: int, headers: int) -> bytes:
    """Many records, each with as many headers as a record may have."""
    return record_with_headers(headers) * records


def message(offset: int, value: bytes, codec: int = 0) -> bytes:
    """A message of magic 1."""
    body = struct.pack(">bbqii", 1, codec, 5, -1, len(value)) + value
    return struct.pack(">qiI", offset, len(body) + 4, zlib.crc32(body)) + body


def wrapped(messages: bytes, count: int) -> bytes:
    """A compressed message of magic 1 around others."""
    return message(count - 1, compress(Compression.GZIP, messages), Compression.GZIP)


def many_batches() -> bytes:
    """Batches that are within every limit, one after the other."""
    some = batch_of(record_with_headers(100_000), 1), batch_of(EMPTY_RECORD * 60_000, 60_000)
    data, offset = b"", 0
    for one in some * 6:
        data += offset.to_bytes(8) + one[8:]
        offset += int.from_bytes(one[23:27]) + 1
    return data


def _headers(codec: Compression) -> Callable[[], bytes]:
    return lambda: batch_of(record_with_headers(HEADERS), 1, codec)


HOSTILE: dict[str, Callable[[], bytes]] = {
    "headers-gzip": _headers(Compression.GZIP),
    "headers-snappy": _headers(Compression.SNAPPY),
    "headers-lz4": _headers(Compression.LZ4),
    "headers-zstd": _headers(Compression.ZSTD),
    "records": lambda: batch_of(EMPTY_RECORD * RECORDS, RECORDS),
    "records-with-headers": lambda: batch_of(records_with_headers(20, 250_000), 20),
    "abort-markers": lambda: batch_of(
        ABORT_MARKER * RECORDS, RECORDS, attributes=TRANSACTIONAL | CONTROL
    ),
    "beyond-the-limit": lambda: batch_of(EMPTY_RECORD * 20_000_000, 20_000_000),
    "record-count": lambda: batch_of(EMPTY_RECORD, 2**31 - 1, Compression.NONE),
    "record-count-zstd": lambda: batch_of(EMPTY_RECORD, 2**31 - 1),
    "header-count": lambda: batch_of(record_with_headers(2**31 - 1, b""), 1, Compression.NONE),
    "wrapper": lambda: wrapped(message(0, b"") * 300_000, 300_000),
    "nested-wrappers": lambda: wrapped(wrapped(message(0, b"") * 100, 100), 1),
    "many-batches": many_batches,
}
"""What makes a batch, or some, of each kind."""
