"""Producer snapshots: what a broker knows about a partition's producers up to an offset.

The file is the message ProducerSnapshot after its version (int16). Its field crc is the
CRC-32C of everything after that field.
"""

from __future__ import annotations

from struct import Struct

from crc32c import crc32c

from kraftwire.log.errors import CorruptBatch
from kraftwire_messages.kafka import ProducerSnapshot
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.records import decode_prefixed, encode_prefixed

_CRC = Struct(">I")
_CRC_AT = 2
_CRC_FROM = _CRC_AT + _CRC.size


def decode_producer_snapshot(data: bytes, file: str = "<bytes>") -> ProducerSnapshot:
    """Return the content of a `.snapshot` file; raise `CorruptBatch` if it is damaged."""
    try:
        snapshot = decode_prefixed(ProducerSnapshot, data).message
    except KraftwireError as error:
        raise CorruptBatch(file, getattr(error, "offset", None) or 0, str(error)) from None
    assert isinstance(snapshot, ProducerSnapshot)
    if snapshot.crc != crc32c(data[_CRC_FROM:]):
        raise CorruptBatch(file, _CRC_AT, "the CRC does not match")
    return snapshot


def encode_producer_snapshot(snapshot: ProducerSnapshot) -> bytes:
    """Return the content of a `.snapshot` file in the newest version, with its CRC."""
    data = bytearray(encode_prefixed(snapshot, ProducerSnapshot.VALID_VERSIONS[-1]))
    _CRC.pack_into(data, _CRC_AT, crc32c(data[_CRC_FROM:]))
    return bytes(data)
