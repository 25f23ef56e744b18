"""Batches, records and damage as JSON objects, which `log dump` prints.

Bytes are base64, hex or text; text of bytes that are not UTF-8 keeps every byte, as the
single surrogates of Python's surrogateescape. Headers are a list of pairs, since their
order and repetition mean something.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any, NamedTuple

from kraftwire.cli.messages.envelope import Envelope, Place
from kraftwire.log.batch import Batch
from kraftwire.log.directory import LogFile
from kraftwire.log.file_names import FileKind
from kraftwire.log.header import BatchHeader
from kraftwire.log.record import Record
from kraftwire.log.typed import CONTROL, TypedRecord, kafka_json
from kraftwire.redaction import REDACTED, redact
from kraftwire_wire.errors import count_of
from kraftwire_wire.records import ControlType

BYTES_FORMS = ("base64", "hex", "utf8")
CREATE_TIME = "CreateTime"
LOG_APPEND_TIME = "LogAppendTime"
NO_TIMESTAMP_TYPE = "NoTimestampType"


class Found(NamedTuple):
    """What a record is: a message where it could be read; whether its log has messages at all."""

    typed: TypedRecord | None = None
    has_schema: bool = False


@dataclass(frozen=True, slots=True)
class Forms:
    """How to print: the form of bytes, the style of typed records, what to leave out."""

    bytes_form: str = "base64"
    kafka_style: bool = False
    redact: bool = False
    redact_payloads: bool = False

    def text(self, value: bytes | None) -> str | None:
        """Bytes as text."""
        if value is None:
            return None
        if self.redact_payloads:
            return redacted(value)
        match self.bytes_form:
            case "hex":
                return value.hex()
            case "utf8":
                return value.decode(errors="surrogateescape")
        return base64.b64encode(value).decode()

    def record(self, file: LogFile, batch: Batch, record: Record, found: Found) -> dict[str, Any]:
        """One record, with what its batch says of it."""
        header, typed = batch.header, found.typed
        key, value = self._content(record, found)
        text = redacted if self.hides_bytes(found) else self.text
        return {
            **place(file),
            "offset": record.offset,
            "timestamp": record.timestamp,
            "timestampType": timestamp_type(header),
            "key": key,
            "value": value,
            "headers": [[name, text(content)] for name, content in record.headers],
            "leaderEpoch": header.partition_leader_epoch,
            "producerId": header.producer_id,
            "producerEpoch": header.producer_epoch,
            "sequence": header.sequence_at(record.offset - header.base_offset),
            "transactional": header.is_transactional,
            "control": control_name(typed) if header.is_control else None,
        }

    def hides_bytes(self, found: Found) -> bool:
        """Whether the raw bytes of a record are left out: they may hold what is secret."""
        return self.redact_payloads or (self.redact and found.has_schema)

    def _content(self, record: Record, found: Found) -> tuple[Any, Any]:
        """Key and value: messages where they are known, text of bytes elsewhere."""
        typed = found.typed
        if typed is None:
            text = redacted if self.hides_bytes(found) else self.text
            return text(record.key), text(record.value)
        if self.kafka_style:
            key, value = kafka_json(typed)
            if value is not None and typed.value is not None and self.redact:
                data = value.get("data", value)
                hidden = redact(typed.name, data)
                value = hidden if data is value else value | {"data": hidden}
            return key, value
        return self._envelope(typed, "key"), self._envelope(typed, "value")

    def _envelope(self, typed: TypedRecord, part: str) -> dict[str, Any] | None:
        """What `kraftwire decode` prints for a key or a value, and `encode` reads."""
        if part == "key":
            if typed.key is None:
                return None
            message, version = typed.key, typed.key.VALID_VERSIONS[0]
        elif typed.value is None:
            return None
        else:
            message, version = typed.value
        stored = Place(typed.log, typed.id, part) if typed.log != CONTROL else None
        obj = Envelope(message, version, record=stored).to_json("lossless")
        if self.redact:
            obj["message"] = redact(obj["name"], obj["message"])
        return obj


def redacted(value: bytes | None) -> str | None:
    """What is printed in place of bytes."""
    return None if value is None else f"{REDACTED} {count_of(len(value), 'byte')}"


def place(file: LogFile) -> dict[str, Any]:
    """Topic and partition; the file where they do not tell it, as of snapshots of metadata."""
    where: dict[str, Any] = {}
    if file.partition is not None:
        where = {"topic": file.partition.topic, "partition": file.partition.partition}
    if file.kind is not FileKind.SEGMENT or not file.in_use or not where:
        where["file"] = str(file.path)
    return where


def control_name(typed: TypedRecord | None) -> str | None:
    """The type of a control record: COMMIT, LEADER_CHANGE, or its number."""
    if typed is None:
        return None
    try:
        return ControlType(typed.id).name
    except ValueError:
        return str(typed.id)


def timestamp_type(header: BatchHeader) -> str:
    """Whose clock a batch's timestamps are from, as Kafka calls it."""
    if header.magic == 0:
        return NO_TIMESTAMP_TYPE
    return LOG_APPEND_TIME if header.has_log_append_time else CREATE_TIME


def batch_json(file: LogFile, header: BatchHeader, valid: bool | None) -> dict[str, Any]:
    """One batch; `valid` says whether its CRC matches, None that it was not looked at."""
    return {
        **place(file),
        "file": file.path.name if file.partition else str(file.path),
        "position": header.position,
        "size": header.size,
        "baseOffset": header.base_offset,
        "lastOffset": header.last_offset,
        "count": header.record_count if header.record_count >= 0 else None,
        "leaderEpoch": header.partition_leader_epoch,
        "magic": header.magic,
        "codec": header.codec_label,
        "crc": header.crc,
        "crcValid": valid,
        "timestampType": timestamp_type(header),
        "baseTimestamp": header.base_timestamp,
        "maxTimestamp": header.max_timestamp,
        "producerId": header.producer_id,
        "producerEpoch": header.producer_epoch,
        "baseSequence": header.base_sequence,
        "lastSequence": header.last_sequence,
        "transactional": header.is_transactional,
        "control": header.is_control,
        "deleteHorizon": header.delete_horizon,
    }
