"""Messages of magic 0 and 1, which brokers before 0.11 wrote and which are still on disks.

A message is offset (int64), size (int32), CRC-32 of the rest, magic, attributes, with magic
1 a timestamp (int64, ms), then key and value, each after its size (int32, -1 for null). The
value of a compressed message contains messages. With magic 1 their offsets count from 0 and
the outer offset is that of the last (KIP-31); with magic 0 they are the offsets themselves. The
inner messages may have the other magic. If the broker set the outer timestamp, it applies to
all inner messages that have one (KIP-32).
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from struct import Struct

from kraftwire.log.batches.header import (
    LEGACY_CRC_FROM,
    LOG_OVERHEAD,
    BatchHeader,
    parse_header,
    problem_of,
)
from kraftwire.log.batches.record import Record, RecordChunk
from kraftwire.log.errors import CorruptBatch

_SIZE = Struct(">i")
_CHUNK = 1000
"""How many messages `decode_legacy` yields at a time."""


def decode_legacy(data: bytes | bytearray, header: BatchHeader, file: str) -> Iterator[RecordChunk]:
    """Yield the record of a message, or those inside it if it is compressed.

    `data` is the whole message, or what `compressed_value` decompresses to.
    """
    if not header.codec:
        key, value = _key_and_value(bytes(data), header, file, header.position)
        yield RecordChunk([Record(header.base_offset, header.max_timestamp, key, value, ())], 0)
        return
    shift = 0
    if header.magic >= 1 and header.base_offset > 0:
        # The outer offset is that of the last message; old clients left it at 0.
        shift = header.base_offset - _last_offset(data)
    for records in _inner_records(data, header, file):
        if shift:
            records = [record._replace(offset=record.offset + shift) for record in records]
        yield RecordChunk(records, 0)


def compressed_value(data: bytes, header: BatchHeader, file: str) -> bytes:
    """Return the value of a compressed message; `data` is the whole message."""
    value = _key_and_value(data, header, file, header.position)[1]
    if value is None:
        raise CorruptBatch(file, header.position, "a compressed message without a value")
    return value


def _last_offset(data: bytes | bytearray) -> int:
    """Return the offset of the last message; follow the sizes without checking them."""
    position = last = 0
    while 0 <= position <= len(data) - LOG_OVERHEAD:
        last = position
        position += LOG_OVERHEAD + max(_SIZE.unpack_from(data, position + LOG_OVERHEAD - 4)[0], 0)
    return int.from_bytes(data[last : last + 8], signed=True)


def _inner_records(
    data: bytes | bytearray, outer: BatchHeader, file: str
) -> Iterator[list[Record]]:
    records: list[Record] = []
    position = 0
    while position < len(data):
        header = parse_header(data, position, position)
        place = f"at byte {position} of the decompressed messages"
        if header is None or header.end > len(data):
            raise CorruptBatch(file, outer.position, f"a message is cut off {place}")
        problem = problem_of(header)
        if problem is None and (header.magic > 1 or header.codec):
            problem = f"a message of magic {header.magic} with codec {header.codec}"
        message = bytes(data[position : header.end])
        if problem is None and legacy_crc(message) != header.crc:
            problem = "a message whose CRC does not match"
        if problem is not None:
            raise CorruptBatch(file, outer.position, f"{problem} {place}")
        key, value = _key_and_value(message, header, file, outer.position)
        dated = outer if outer.has_log_append_time and header.magic else header
        records.append(Record(header.base_offset, dated.max_timestamp, key, value, ()))
        position = header.end
        if len(records) == _CHUNK:
            yield records
            records = []
    if not position:
        raise CorruptBatch(file, outer.position, "a compressed message contains no messages")
    yield records


def _key_and_value(
    data: bytes, header: BatchHeader, file: str, position: int
) -> tuple[bytes | None, bytes | None]:
    fields: list[bytes | None] = []
    at = header.header_size
    for _ in range(2):
        if at + _SIZE.size > len(data):
            raise CorruptBatch(file, position, "a message ends before its key and value do")
        size: int = _SIZE.unpack_from(data, at)[0]
        at += _SIZE.size
        if size < -1 or size > len(data) - at:
            raise CorruptBatch(file, position, f"a field of {size} bytes, {len(data) - at} left")
        fields.append(None if size < 0 else data[at : at + size])
        at += max(size, 0)
    if at != len(data):
        raise CorruptBatch(file, position, f"{len(data) - at} bytes follow key and value")
    return fields[0], fields[1]


def legacy_crc(message: bytes) -> int:
    """Return the CRC-32 of a message's bytes."""
    return zlib.crc32(message[LEGACY_CRC_FROM:])
