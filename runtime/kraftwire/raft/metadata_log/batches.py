"""Builds record batches for a leader, and splits the responses that a follower receives.

A batch keeps the bytes that it was built or received with, so that the logs of all replicas are
the same, byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kraftwire.log.batches.batch import Batch, decode_batch
from kraftwire.log.batches.compression import DEFAULT_LIMIT
from kraftwire.log.batches.encoding import BatchSettings, control_record, encode_batch
from kraftwire.log.batches.header import HEADER, LOG_OVERHEAD
from kraftwire.log.batches.record import Record
from kraftwire.log.errors import CorruptBatch
from kraftwire_wire.message import Message
from kraftwire_wire.records import ControlType, decode_control_key, decode_control_value
from kraftwire_wire.registry import Registry

_KNOWN = frozenset(map(int, ControlType))
_LENGTH_AT = LOG_OVERHEAD - 4

MOST_CONTROL_BYTES = 1 << 20
"""The most bytes of control records that a replica reads in one step.

Kafka's control batches have a few hundred bytes. A batch with more than this is refused.
"""


class ControlRecord(NamedTuple):
    """A control record: its type, its message, and the version to write that in."""

    type: int
    message: Message
    version: int = 0


def data_batch(base_offset: int, epoch: int, timestamp: int, values: Sequence[bytes]) -> Batch:
    """Return a batch of records of the state machine; `timestamp` in ms."""
    records = [
        Record(base_offset + number, timestamp, None, value, ())
        for number, value in enumerate(values)
    ]
    return decode_batch(encode_batch(records, BatchSettings(partition_leader_epoch=epoch)))


def control_batch(
    base_offset: int, epoch: int, timestamp: int, controls: Sequence[ControlRecord]
) -> Batch:
    """Return a batch of control records; `timestamp` in ms."""
    records = [
        control_record(base_offset + number, timestamp, one.type, one.message, one.version)
        for number, one in enumerate(controls)
    ]
    settings = BatchSettings(partition_leader_epoch=epoch, is_control=True)
    return decode_batch(encode_batch(records, settings))


def split_batches(data: bytes, limit: int = DEFAULT_LIMIT) -> Iterator[Batch]:
    """Yield the batches that a leader has sent, except an incomplete one at the end.

    `limit` is how many bytes one batch may decompress to. Raises `CorruptBatch` for bytes that are
    not a batch, or whose CRC does not match.
    """
    position = 0
    while len(data) - position >= HEADER.size:
        length = int.from_bytes(data[position + _LENGTH_AT : position + LOG_OVERHEAD], signed=True)
        if length > len(data) - position - LOG_OVERHEAD:
            return
        batch = decode_batch(data, position, limit=limit)
        yield batch
        position = batch.header.end


def check_size(batch: Batch) -> int:
    """Return how many bytes have to be decompressed or parsed now to append a batch.

    Raises `CorruptBatch` if its control records have too many bytes: a few kilobytes can decompress
    to gigabytes. Uncompressed data records count nothing, because they are read later.
    """
    header = batch.header
    if not header.codec and not header.is_control:
        return 0
    size = batch.unpacked_size()
    if not header.is_control:
        return size
    if size > MOST_CONTROL_BYTES:
        reason = f"{size} bytes of control records; the limit is {MOST_CONTROL_BYTES}"
        raise CorruptBatch(batch.file, header.position, reason)
    return size


def controls_of(batch: Batch, registry: Registry) -> Iterator[tuple[int, ControlRecord]]:
    """Yield the control records of a batch and their offsets, except those of unknown types.

    Raises `KraftwireError` if one cannot be read.
    """
    header = batch.header
    if not header.is_control:
        return
    check_size(batch)
    offsets = range(header.base_offset, header.last_offset + 1)
    records = batch.records
    if [record.offset for record in records] != list(offsets):
        raise CorruptBatch(
            batch.file,
            header.position,
            f"its records do not have the offsets {offsets.start} to {header.last_offset}",
        )
    for record in records:
        number = int(decode_control_key(record.key or b""))
        if number in _KNOWN or number in registry.control_records:
            message, version = decode_control_value(registry, number, record.value or b"")
            yield record.offset, ControlRecord(number, message, version)
