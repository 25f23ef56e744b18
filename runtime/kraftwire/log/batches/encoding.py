"""Encoding records as batches of magic 2: the same bytes that Kafka's builder writes.

Only the compressed bytes may differ. The rest is determined: the base timestamp is the first
record's (or the delete horizon), lengths are the shortest varints, unused bits are 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from crc32c import crc32c

from kraftwire.log.batches.compression import Compression, compress
from kraftwire.log.batches.header import (
    CONTROL,
    CRC_FROM,
    DELETE_HORIZON,
    HEADER,
    LOG_APPEND_TIME,
    LOG_OVERHEAD,
    NO_PRODUCER,
    NO_SEQUENCE,
    TRANSACTIONAL,
)
from kraftwire.log.batches.record import HEADER_KEY_ERRORS, Record
from kraftwire.log.batches.varint import write_varint
from kraftwire_wire.errors import EncodeError
from kraftwire_wire.message import Message
from kraftwire_wire.primitives import NOT_PACKED
from kraftwire_wire.records import encode_control_key, encode_control_value

_MAX_LENGTH = 0x7FFFFFFF
_INT64 = range(-(1 << 63), 1 << 63)


class BatchSettings(NamedTuple):
    """The fields of a batch besides its records; the defaults are those of a plain producer."""

    codec: Compression = Compression.NONE
    partition_leader_epoch: int = 0
    producer_id: int = NO_PRODUCER
    producer_epoch: int = -1
    base_sequence: int = NO_SEQUENCE
    is_transactional: bool = False
    is_control: bool = False
    log_append_time: int | None = None
    """The broker's time in ms, which replaces the records' timestamps; None for CreateTime."""
    delete_horizon: int | None = None
    """The time in ms from which the cleaner may remove tombstones and markers (KIP-534)."""


PLAIN = BatchSettings()


def encode_batch(records: Sequence[Record], settings: BatchSettings = PLAIN) -> bytes:
    """Return a batch of records; their offsets must ascend, and may have gaps.

    Raise `EncodeError` if there are no records or, with the record's index, if a value does not
    fit the format.
    """
    if not records:
        raise EncodeError("no records: a batch needs at least one")
    first, last = records[0], records[-1]
    if first.offset < 0:
        raise EncodeError(f"offset {first.offset} is negative", "records[0]")
    horizon = settings.delete_horizon
    base_timestamp = first.timestamp if horizon is None else horizon
    payload = _encode_records(records, first.offset, base_timestamp)
    payload = compress(settings.codec, payload)
    max_timestamp = settings.log_append_time
    if max_timestamp is None:
        max_timestamp = max(record.timestamp for record in records)
    length = HEADER.size - LOG_OVERHEAD + len(payload)
    if length > _MAX_LENGTH:
        raise EncodeError(f"a batch of {length} bytes is larger than {_MAX_LENGTH}")
    try:
        header = HEADER.pack(
            first.offset,
            length,
            settings.partition_leader_epoch,
            2,
            0,
            _attributes(settings),
            last.offset - first.offset,
            base_timestamp,
            max_timestamp,
            settings.producer_id,
            settings.producer_epoch,
            settings.base_sequence,
            len(records),
        )
    except NOT_PACKED as error:
        raise EncodeError(f"the header does not fit: {error}") from None
    crc = crc32c(payload, crc32c(header[CRC_FROM:]))
    return header[: CRC_FROM - 4] + crc.to_bytes(4) + header[CRC_FROM:] + payload


def control_record(
    offset: int, timestamp: int, control_type: int, message: Message, version: int = 0
) -> Record:
    """Return a control record, for a batch with `BatchSettings.is_control`."""
    key = encode_control_key(control_type)
    return Record(offset, timestamp, key, encode_control_value(control_type, message, version), ())


def _attributes(settings: BatchSettings) -> int:
    attributes = int(settings.codec)
    attributes |= LOG_APPEND_TIME if settings.log_append_time is not None else 0
    attributes |= TRANSACTIONAL if settings.is_transactional else 0
    attributes |= CONTROL if settings.is_control else 0
    attributes |= DELETE_HORIZON if settings.delete_horizon is not None else 0
    return attributes


def _encode_records(records: Sequence[Record], base_offset: int, base_timestamp: int) -> bytes:
    buffer = bytearray()
    previous = base_offset - 1
    for number, record in enumerate(records):
        path = f"records[{number}]"
        if not previous < record.offset <= base_offset + _MAX_LENGTH:
            raise EncodeError(f"offset {record.offset} cannot follow {previous}", path)
        if record.timestamp not in _INT64 or record.timestamp - base_timestamp not in _INT64:
            raise EncodeError(f"timestamp {record.timestamp} does not fit", path)
        previous = record.offset
        body = bytearray(1)  # the attributes; their bits are unused
        write_varint(body, record.timestamp - base_timestamp)
        write_varint(body, record.offset - base_offset)
        _write_bytes(body, record.key)
        _write_bytes(body, record.value)
        write_varint(body, len(record.headers))
        for key, value in record.headers:
            _write_bytes(body, _encode_key(key, path))
            _write_bytes(body, value)
        write_varint(buffer, len(body))
        buffer += body
    return bytes(buffer)


def _encode_key(key: str, path: str) -> bytes:
    try:
        return key.encode(errors=HEADER_KEY_ERRORS)
    except UnicodeEncodeError:
        raise EncodeError(f"header key {key!r} cannot be encoded as UTF-8", path) from None


def _write_bytes(buffer: bytearray, value: bytes | None) -> None:
    if value is None:
        write_varint(buffer, -1)
    else:
        write_varint(buffer, len(value))
        buffer += value
