"""Decoding records of magic 2: the decompressed bytes after a batch's header.

A record is: length, attributes (int8, unused), timestamp delta (varlong), offset delta, key
length, key, value length, value, header count, and per header key length, key, value length,
value; all numbers except the attributes are zigzag varints, and -1 is the length of null.

Records are read in chunks, so a batch of millions does not have to fit into memory. The headers
of one record do: they are checked against the limit of the batch before they are decoded.

The loop is written for speed: the first two bytes of a varint are read in place, and bounds
are checked once per record. Slices cannot go beyond the bytes, and any wrong length moves the
position away from the record's end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from kraftwire.log.batches.compression import over_limit
from kraftwire.log.batches.header import BatchHeader
from kraftwire.log.batches.varint import read_varint, read_varlong
from kraftwire.log.errors import CorruptBatch

Header = tuple[str, bytes | None]

HEADER_KEY_ERRORS = "surrogateescape"
"""Header keys are UTF-8; other bytes become single surrogates and are encoded back unchanged."""

OBJECT_BYTES = 512
"""Bytes counted for a record or a header besides its content; Python needs fewer."""

_MIN_RECORD = 7
"""Bytes of the smallest record: six varints of one byte, and the attributes."""

_CHUNK_BYTES = 256 << 10
"""Bytes of records that are decoded at a time."""


class Record(NamedTuple):
    """One record: its offset, its timestamp in ms, and its content."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]


class RecordChunk(NamedTuple):
    """Some consecutive records of a batch, and how many headers they have in total."""

    records: list[Record]
    headers: int


def decode_records(
    data: bytes | bytearray, start: int, header: BatchHeader, file: str, limit: int
) -> Iterator[RecordChunk]:
    """Yield the records in `data` from `start` to its end, or raise `CorruptBatch`.

    `limit` is how many bytes the headers of one record may take.
    """
    count = header.record_count
    if count * _MIN_RECORD > len(data) - start:
        reason = f"{count} records do not fit into {len(data) - start} bytes"
        raise CorruptBatch(file, header.position, reason)
    position, done = start, 0
    while done < count:
        records: list[Record] = []
        try:
            position, headers = _read_records(data, position, header, count - done, limit, records)
        except (IndexError, ValueError) as error:
            reason = "the bytes end within it" if isinstance(error, IndexError) else str(error)
            reason = f"record {done + len(records)} of {count}: {reason}"
            raise CorruptBatch(file, header.position, reason) from None
        done += len(records)
        if isinstance(data, bytearray):
            for place, record in enumerate(records):  # one by one, since a value may be large
                records[place] = _with_bytes(record)
        yield RecordChunk(records, headers)
    if position != len(data):
        reason = f"{len(data) - position} bytes follow the last of {count} records"
        raise CorruptBatch(file, header.position, reason)


def _with_bytes(record: Record) -> Record:
    """Return a record with its bytearray fields converted to bytes."""
    offset, timestamp, key, value, headers = record
    return Record(
        offset,
        timestamp,
        None if key is None else bytes(key),
        None if value is None else bytes(value),
        tuple((name, None if text is None else bytes(text)) for name, text in headers),
    )


def _read_records(
    data: bytes | bytearray,
    position: int,
    header: BatchHeader,
    count: int,
    limit: int,
    records: list[Record],
) -> tuple[int, int]:
    """Append up to `count` records that begin within a chunk.

    Return the position after the last one, and how many headers they have.
    """
    base_offset, base_timestamp = header.base_offset, header.base_timestamp
    append_time = header.max_timestamp if header.has_log_append_time else None
    append, new, total = records.append, tuple.__new__, len(data)
    stop, header_count = position + _CHUNK_BYTES, 0
    for _ in range(count):
        if position >= stop:
            break
        # The record's length; the attributes after it are unused.
        raw = data[position]
        if raw < 0x80:
            position += 1
        elif (high := data[position + 1]) < 0x80:
            raw = raw & 0x7F | high << 7
            position += 2
        else:
            length, position = read_varint(data, position)
            raw = length << 1 if length >= 0 else 1
        end = position + (raw >> 1)
        if raw & 1 or end > total:
            raise ValueError(f"its length goes beyond the {total} bytes of the records")
        position += 1
        # The timestamp delta.
        raw = data[position]
        if raw < 0x80:
            timestamp = base_timestamp + ((raw >> 1) ^ -(raw & 1))
            position += 1
        elif (high := data[position + 1]) < 0x80:
            raw = raw & 0x7F | high << 7
            timestamp = base_timestamp + ((raw >> 1) ^ -(raw & 1))
            position += 2
        else:
            delta, position = read_varlong(data, position)
            timestamp = base_timestamp + delta
        # The offset delta.
        raw = data[position]
        if raw < 0x80:
            offset = base_offset + ((raw >> 1) ^ -(raw & 1))
            position += 1
        elif (high := data[position + 1]) < 0x80:
            raw = raw & 0x7F | high << 7
            offset = base_offset + ((raw >> 1) ^ -(raw & 1))
            position += 2
        else:
            delta, position = read_varint(data, position)
            offset = base_offset + delta
        # The key.
        raw = data[position]
        key = value = None
        if raw == 1:
            position += 1
        else:
            if raw < 0x80 and not raw & 1:
                position += 1
                size = raw >> 1
            else:
                size, position = _read_size(data, position)
            key = data[position : position + size]
            position += size
        # The value.
        raw = data[position]
        if raw == 1:
            position += 1
        else:
            if raw < 0x80 and not raw & 1:
                position += 1
                size = raw >> 1
            elif (high := data[position + 1]) < 0x80 and not raw & 1:
                position += 2
                size = (raw & 0x7F | high << 7) >> 1
            else:
                size, position = _read_size(data, position)
            value = data[position : position + size]
            position += size
        headers: tuple[Header, ...] = ()
        if data[position]:
            headers, position = _read_headers(data, position, end, limit)
            header_count += len(headers)
        else:
            position += 1
        if position != end:
            raise ValueError("its length differs from that of its fields")
        if append_time is not None:
            timestamp = append_time
        append(new(Record, (offset, timestamp, key, value, headers)))
    return position, header_count


def _read_size(data: bytes | bytearray, position: int) -> tuple[int, int]:
    size, position = read_varint(data, position)
    if size < 0:
        raise ValueError(f"a field of {size} bytes")
    return size, position


def _read_headers(
    data: bytes | bytearray, position: int, end: int, limit: int
) -> tuple[tuple[Header, ...], int]:
    count, position = read_varint(data, position)
    if not 0 <= count <= end - position:
        raise ValueError(f"{count} headers in {end - position} bytes")
    if count * OBJECT_BYTES > limit:
        raise ValueError(over_limit(f"{count} headers are too many for one record", limit))
    headers: list[Any] = []
    for _ in range(count):
        size, position = _read_size(data, position)
        key = data[position : position + size].decode(errors=HEADER_KEY_ERRORS)
        position += size
        size, position = read_varint(data, position)
        value = None
        if size >= 0:
            value = data[position : position + size]
            position += size
        elif size != -1:
            raise ValueError(f"a header value of {size} bytes")
        if position > end:
            raise ValueError("a header goes beyond its record")
        headers.append((key, value))
    return tuple(headers), position
