"""Encodes and decodes stored messages: the keys and values of typed records.

Each kind of log has its own framing:
- metadata logs (cluster metadata, remote-log metadata): the value is a frame version,
  always 1, the record's id and its version, each an unsigned varint, then the message;
- coordinator logs: the key is the record's id as int16 and the key message in version 0;
  the value is its version as int16 and the value message, or null for a tombstone;
- control batches: the key is a version and a type, both int16; the value is a message whose
  first two bytes are its version. The registry of a draft may add types;
- blobs inside messages (consumer protocol, principals): a version as int16, then the message.

Logs have the names that `Registry.record` lists.
"""

from __future__ import annotations

from enum import IntEnum
from struct import Struct as Form
from typing import NamedTuple

from kraftwire_wire.errors import DecodeError, EncodeError, KraftwireError
from kraftwire_wire.forms import INT16
from kraftwire_wire.message import Message
from kraftwire_wire.reader import CompactReader
from kraftwire_wire.registry import RecordClasses, Registry, decode_rest
from kraftwire_wire.writer import CompactWriter

FRAME_VERSION = 1
_CONTROL_KEY = Form(">hh")


class VersionedMessage(NamedTuple):
    """A stored message and its version."""

    message: Message
    version: int


class ControlType(IntEnum):
    """The type of a control record."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


_CONTROL_MESSAGES: dict[int, str] = {
    ControlType.ABORT: "EndTxnMarker",
    ControlType.COMMIT: "EndTxnMarker",
    ControlType.LEADER_CHANGE: "LeaderChangeMessage",
    ControlType.SNAPSHOT_HEADER: "SnapshotHeaderRecord",
    ControlType.SNAPSHOT_FOOTER: "SnapshotFooterRecord",
    ControlType.KRAFT_VERSION: "KRaftVersionRecord",
    ControlType.KRAFT_VOTERS: "VotersRecord",
}
_END_OF_TRANSACTION = (ControlType.ABORT, ControlType.COMMIT)


def decode_metadata_record(registry: Registry, log: str, value: bytes) -> VersionedMessage:
    """Decode the value of a record of a metadata log."""
    record, version, start = read_metadata_frame(registry, log, value)
    return VersionedMessage(decode_rest(record, version, value, start), version)


def read_metadata_frame(
    registry: Registry, log: str, value: bytes
) -> tuple[type[Message], int, int]:
    """Return the message class of a metadata log's value, the version, and the message's start."""
    reader = CompactReader(value)
    frame_version = reader.read_unsigned_varint("frame version")
    if frame_version != FRAME_VERSION:
        reason = f"{frame_version} is not supported; only {FRAME_VERSION} is"
        raise DecodeError(reason, "frame version", 0)
    start = reader.position
    record_id = reader.read_unsigned_varint("record id")
    record = _record_classes(registry, log, record_id, start).value
    version = reader.read_unsigned_varint("record version")
    return record, version, reader.position


def encode_metadata_record(message: Message, version: int) -> bytes:
    """Return the value of a record of a metadata log."""
    record_id, body = _record_id(message), message.encode(version)
    writer = CompactWriter()
    for number in (FRAME_VERSION, record_id, version):
        writer.write_unsigned_varint(number)
    return bytes(writer.buffer) + body


def decode_coordinator_key(registry: Registry, log: str, key: bytes) -> Message:
    """Decode the key of a coordinator's record. `API_KEY` of the result is the record's id."""
    key_class = coordinator_classes(registry, log, read_prefix(key, "record id")).key
    return decode_rest(key_class, key_class.VALID_VERSIONS[0], key, INT16.size)


def encode_coordinator_key(message: Message) -> bytes:
    """Return the key of a coordinator's record."""
    return INT16.pack(_record_id(message)) + message.encode(message.VALID_VERSIONS[0])


def decode_coordinator_value(
    registry: Registry, log: str, record_id: int, value: bytes | None
) -> VersionedMessage | None:
    """Decode the value of a coordinator's record; return None for a tombstone."""
    if value is None:
        return None
    return decode_prefixed(coordinator_classes(registry, log, record_id).value, value)


def decode_prefixed(message: type[Message], data: bytes) -> VersionedMessage:
    """Decode a version as int16 and the message after it."""
    version = read_prefix(data, "version")
    return VersionedMessage(decode_rest(message, version, data, INT16.size), version)


def encode_prefixed(message: Message, version: int) -> bytes:
    """Return a version as int16 and the message after it, such as a coordinator's value."""
    body = message.encode(version)
    return INT16.pack(version) + body


def decode_control_key(key: bytes) -> ControlType | int:
    """Return the type of a control record, or a plain int if the type is unknown.

    Ignores bytes after the type: later versions of the key may append fields.
    """
    if len(key) < _CONTROL_KEY.size:
        raise DecodeError(f"{len(key)} bytes are not a control record key", offset=0)
    version, number = _CONTROL_KEY.unpack_from(key)
    if version < 0:
        raise DecodeError(
            f"{version}, but versions of control record keys start at 0", "version", 0
        )
    try:
        return ControlType(number)
    except ValueError:
        return int(number)


def encode_control_key(control_type: int) -> bytes:
    """Return the key of a control record, version 0."""
    if not 0 <= control_type <= 0x7FFF:
        raise EncodeError(f"{control_type} is not the type of a control record")
    return _CONTROL_KEY.pack(0, control_type)


def decode_control_value(registry: Registry, control_type: int, value: bytes) -> VersionedMessage:
    """Decode the value of a control record of a known type."""
    message = control_message(registry, control_type)
    if control_type in _END_OF_TRANSACTION:
        return decode_prefixed(message, value)
    # The first field of these messages is their version.
    version = read_prefix(value, "version")
    return VersionedMessage(decode_rest(message, version, value, 0), version)


def control_message(registry: Registry, control_type: int) -> type[Message]:
    """Return the message class of the value of a control record."""
    name = _CONTROL_MESSAGES.get(control_type) or registry.control_records.get(control_type)
    if name is None:
        raise KraftwireError(f"no message is known for control records of type {control_type}")
    return registry.message(name)


def encode_control_value(control_type: int, message: Message, version: int) -> bytes:
    """Return the value of a control record."""
    if control_type in _END_OF_TRANSACTION:
        return encode_prefixed(message, version)
    named = getattr(message, "version", version)
    if named != version:
        reason = (
            f"{named}, but the message is written in version {version}; set the field to {version}"
        )
        raise EncodeError(reason, "version")
    return message.encode(version)


class CoordinatorClasses(NamedTuple):
    """The message classes of a coordinator's record."""

    key: type[Message]
    value: type[Message]


def coordinator_classes(registry: Registry, log: str, record_id: int) -> CoordinatorClasses:
    """Return the message classes of a coordinator's record."""
    key, value = _record_classes(registry, log, record_id, 0)
    if key is None:
        raise KraftwireError(f"{log} is not the log of a coordinator: its records have no keys")
    return CoordinatorClasses(key, value)


def _record_classes(registry: Registry, log: str, record_id: int, offset: int) -> RecordClasses:
    if record_id not in registry.record_ids.get(log, (record_id,)):
        raise DecodeError(f"no {log} record has id {record_id}", "record id", offset)
    return registry.record(log, record_id)


def _record_id(message: Message) -> int:
    if message.API_KEY is None:
        raise EncodeError(f"{type(message).__name__} has no record id")
    return message.API_KEY


def read_prefix(data: bytes, what: str) -> int:
    """Read the int16 before a key or value: a record's id, or a version."""
    if len(data) < INT16.size:
        raise DecodeError(f"needs 2 bytes, there are {len(data)}", what, 0)
    number: int = INT16.unpack_from(data)[0]
    return number
