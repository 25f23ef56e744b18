"""Typed records: the key and value of a record as messages, by the record's topic.

The schema depends on the topic (`log_of_topic`): cluster metadata, the coordinators' topics and
remote-log metadata have records with ids; control batches have control records in every
topic.
"""

from __future__ import annotations

import base64
import re
from typing import Any, NamedTuple

from kraftwire.log.batches.batch import Batch
from kraftwire.log.batches.record import Record
from kraftwire.log.directories.partition import METADATA_TOPIC
from kraftwire_messages.kafka import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    GroupMetadataValue,
    registry,
)
from kraftwire_wire.errors import DecodeError, KraftwireError
from kraftwire_wire.message import Message
from kraftwire_wire.records import (
    VersionedMessage,
    decode_control_key,
    decode_control_value,
    decode_coordinator_key,
    decode_coordinator_value,
    decode_metadata_record,
    decode_prefixed,
)

TOPICS = {
    METADATA_TOPIC: "cluster-metadata",
    "__consumer_offsets": "group",
    "__transaction_state": "transaction",
    "__share_group_state": "share",
    "__remote_log_metadata": "remote-log",
}
"""The logs whose records have types, by topic; the names are those of `Registry.record`."""

LOGS = tuple(TOPICS.values())
CONTROL = "control"

KEYLESS = ("cluster-metadata", "remote-log")
"""The logs whose record ids are in the values; in the other logs they are in the keys."""

_WORDS = re.compile("(?<=[a-z0-9])(?=[A-Z])")


class TypedRecord(NamedTuple):
    """A record's content as messages.

    `log` is one of `LOGS`, or `control`; `id` is the record's id there, or the control type.
    `key` is None if the log has no typed keys, `value` None for a tombstone.
    """

    log: str
    id: int
    key: Message | None
    value: VersionedMessage | None

    @property
    def name(self) -> str:
        """The name of its value's message, or of its key's."""
        message = self.value.message if self.value is not None else self.key
        return type(message).__name__ if message is not None else str(self.id)


def log_of_topic(topic: str | None) -> str | None:
    """Return the log whose records are in a topic; None if they have no types."""
    return TOPICS.get(topic) if topic is not None else None


def decode_typed(log: str | None, batch: Batch, record: Record) -> TypedRecord | None:
    """Return a record as messages; None if its topic has no types.

    Raise `DecodeError` if the bytes are not a record of the log, `UnsupportedVersion` for a version
    that this release of the messages lacks.
    """
    if batch.header.is_control:
        return _control_record(record)
    if log is None:
        return None
    if log in KEYLESS:
        if record.value is None:
            raise DecodeError(f"a record of {log} without a value")
        value = decode_metadata_record(registry, log, record.value)
        return TypedRecord(log, _id(value.message), None, value)
    if record.key is None:
        raise DecodeError(f"a record of {log} without a key")
    key = decode_coordinator_key(registry, log, record.key)
    return TypedRecord(
        log, _id(key), key, decode_coordinator_value(registry, log, _id(key), record.value)
    )


def _control_record(record: Record) -> TypedRecord:
    if record.key is None:
        raise DecodeError("a control record without a key")
    control_type = decode_control_key(record.key)
    value = decode_control_value(registry, control_type, record.value or b"")
    return TypedRecord(CONTROL, int(control_type), None, value)


def kafka_json(typed: TypedRecord) -> tuple[dict[str, Any] | None, Any]:
    """Return key and value as the JSON of Kafka's dump-log tool; None if it prints none.

    A metadata record is type, version and data; a coordinator's key is type and data, its value
    version and data, with the numbers as strings; a control record is its data alone. The bytes
    that members of classic groups send are decoded too.
    """
    value = typed.value
    data = _data(value) if value is not None else None
    if typed.log == CONTROL:
        return None, data
    if typed.log in KEYLESS:
        assert value is not None, "records without keys have values"
        kind = record_type_name(type(value.message).__name__)
        return None, {"type": kind, "version": value.version, "data": data}
    key = typed.key
    assert key is not None, "a coordinator's records have keys"
    key_json = {"type": str(typed.id), "data": key.to_json(key.VALID_VERSIONS[0], style="java")}
    return key_json, None if value is None else {"version": str(value.version), "data": data}


def record_type_name(message: str) -> str:
    """Return the name of a record's type: REGISTER_BROKER_RECORD for RegisterBrokerRecord."""
    return _WORDS.sub("_", message).upper()


def _data(value: VersionedMessage) -> dict[str, Any]:
    data = value.message.to_json(value.version, style="java")
    if isinstance(value.message, GroupMetadataValue) and data["protocolType"] == "consumer":
        for member, obj in zip(value.message.members, data["members"], strict=True):
            obj["subscription"] = _blob(ConsumerProtocolSubscription, member.subscription)
            obj["assignment"] = _blob(ConsumerProtocolAssignment, member.assignment)
    return data


def _blob(message: type[Message], raw: bytes) -> object:
    """Return a client's bytes as JSON, or as base64 if they are not such a message."""
    try:
        decoded, version = decode_prefixed(message, raw)
    except KraftwireError:
        return base64.b64encode(raw).decode()
    return decoded.to_json(version, style="java")


def _id(message: Message) -> int:
    assert message.API_KEY is not None, "records have ids"
    return message.API_KEY
