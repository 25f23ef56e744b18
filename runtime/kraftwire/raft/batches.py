"""Record batches of a metadata log: made by a leader, taken from a response by a follower.

A batch keeps the bytes that it was made or received with, so that the logs of all replicas
are the same, byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kraftwire.log.batch import Batch, parse_batch
from kraftwire.log.encode import BatchSettings, control_record, encode_batch
from kraftwire.log.errors import CorruptBatch
from kraftwire.log.header import HEADER, LOG_OVERHEAD
from kraftwire.log.record import Record
from kraftwire_wire.message import Message
from kraftwire_wire.records import ControlType, decode_control_key, decode_control_value
from kraftwire_wire.registry import Registry

_KNOWN = frozenset(map(int, ControlType))
_LENGTH_AT = LOG_OVERHEAD - 4


class Control(NamedTuple):
    """A control record: its type, its message, and the version to write that in."""

    type: int
    message: Message
    version: int = 0


def data_batch(base_offset: int, epoch: int, timestamp: int, values: Sequence[bytes]) -> Batch:
    """A batch of records of the state machine; `timestamp` in ms."""
    records = [
        Record(base_offset + number, timestamp, None, value, ())
        for number, value in enumerate(values)
    ]
    return parse_batch(encode_batch(records, BatchSettings(partition_leader_epoch=epoch)))


def control_batch(base_offset: int, epoch: int, timestamp: int, said: Sequence[Control]) -> Batch:
    """A batch of control records; `timestamp` in ms."""
    records = [
        control_record(base_offset + number, timestamp, one.type, one.message, one.version)
        for number, one in enumerate(said)
    ]
    settings = BatchSettings(partition_leader_epoch=epoch, is_control=True)
    return parse_batch(encode_batch(records, settings))


def split_batches(data: bytes) -> Iterator[Batch]:
    """The batches that a leader has sent, but for one at the end that was cut off.

    `CorruptBatch` where bytes are no batch, or another than was sent.
    """
    position = 0
    while len(data) - position >= HEADER.size:
        length = int.from_bytes(data[position + _LENGTH_AT : position + LOG_OVERHEAD], signed=True)
        if length > len(data) - position - LOG_OVERHEAD:
            return
        batch = parse_batch(data, position)
        yield batch
        position = batch.header.end


def controls_of(batch: Batch, registry: Registry) -> Iterator[tuple[int, Control]]:
    """The control records of a batch and their offsets; those of types of the future left out.

    `KraftwireError` where one cannot be read.
    """
    header = batch.header
    if not header.is_control:
        return
    offsets = range(header.base_offset, header.last_offset + 1)
    if [record.offset for record in batch.records] != list(offsets):
        raise CorruptBatch(batch.file, header.position, f"its records have not {offsets}")
    for record in batch.records:
        number = int(decode_control_key(record.key or b""))
        if number in _KNOWN or number in registry.control_records:
            message, version = decode_control_value(registry, number, record.value or b"")
            yield record.offset, Control(number, message, version)
