"""Formats batches and records as the JSON objects that `log dump` prints.

Bytes are base64, hex or text; in text, bytes that are not UTF-8 are kept as the lone surrogates of
Python's surrogateescape. Headers are a list of pairs, since their order matters and keys may
repeat.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any, NamedTuple

from kraftwire.cli.messages.decoded_message import DecodedMessage, RecordPart
from kraftwire.console.output import pick_fields
from kraftwire.log.batches.batch import Batch
from kraftwire.log.batches.header import BatchHeader
from kraftwire.log.batches.record import Record
from kraftwire.log.directories.file_names import FileKind
from kraftwire.log.directories.partition import LogFile
from kraftwire.log.queries.typed_records import CONTROL, TypedRecord, kafka_json
from kraftwire.redaction import REDACTED, redact
from kraftwire_wire.errors import count_of
from kraftwire_wire.records import ControlType

BYTES_FORMS = ("base64", "hex", "utf8")


class RecordContent(NamedTuple):
    """A record's message, if it could be decoded, and whether records of its log are messages."""

    typed: TypedRecord | None = None
    has_schema: bool = False


@dataclass(frozen=True, slots=True)
class RecordFormat:
    """How to print records: the form of bytes, the style of messages, what to leave out."""

    bytes_form: str = "base64"
    kafka_style: bool = False
    redact: bool = False
    redact_payloads: bool = False

    def text(self, value: bytes | None) -> str | None:
        """Return bytes as text."""
        if value is None:
            return None
        if self.redact_payloads:
            return _redacted(value)
        match self.bytes_form:
            case "hex":
                return value.hex()
            case "utf8":
                return value.decode(errors="surrogateescape")
        return base64.b64encode(value).decode()

    def record_json(
        self, file: LogFile, batch: Batch, record: Record, content: RecordContent
    ) -> dict[str, Any]:
        """Return a record as JSON, with the producer and the epochs of its batch."""
        header, typed = batch.header, content.typed
        text = _redacted if self.hides_bytes(content) else self.text
        key: Any
        value: Any
        if typed is None:
            key, value = text(record.key), text(record.value)
        elif self.kafka_style:
            key, value = self._kafka_json(typed)
        else:
            key, value = self._message(typed, "key"), self._message(typed, "value")
        return {
            **_place(file),
            "offset": record.offset,
            "timestamp": record.timestamp,
            "timestampType": timestamp_type(header),
            "key": key,
            "value": value,
            "headers": [[name, text(header_value)] for name, header_value in record.headers],
            "leaderEpoch": header.partition_leader_epoch,
            "producerId": header.producer_id,
            "producerEpoch": header.producer_epoch,
            "sequence": header.sequence_at(record.offset - header.base_offset),
            "transactional": header.is_transactional,
            "control": _control_name(typed) if header.is_control else None,
        }

    def hides_bytes(self, content: RecordContent) -> bool:
        """Whether to leave out the raw bytes of a record, which may hold secrets."""
        return self.redact_payloads or (self.redact and content.has_schema)

    def _kafka_json(self, typed: TypedRecord) -> tuple[Any, Any]:
        key, value = kafka_json(typed)
        if value is not None and typed.value is not None and self.redact:
            data = value.get("data", value)
            hidden = redact(typed.name, data)
            value = hidden if data is value else value | {"data": hidden}
        return key, value

    def _message(self, typed: TypedRecord, part: str) -> dict[str, Any] | None:
        """Return what `kraftwire decode` prints for a key or a value, and `encode` reads."""
        if part == "key" and typed.key is not None:
            message, version = typed.key, typed.key.VALID_VERSIONS[0]
        elif part == "value" and typed.value is not None:
            message, version = typed.value
        else:
            return None
        stored = RecordPart(typed.log, typed.id, part) if typed.log != CONTROL else None
        obj = DecodedMessage(message, version, record=stored).to_json("lossless")
        if self.redact:
            obj["message"] = redact(obj["name"], obj["message"])
        return obj


def timestamp_type(header: BatchHeader) -> str:
    """Return the type of a batch's timestamps by Kafka's name."""
    if header.magic == 0:
        return "NoTimestampType"
    return "LogAppendTime" if header.has_log_append_time else "CreateTime"


def batch_json(file: LogFile, header: BatchHeader, crc_valid: bool | None) -> dict[str, Any]:
    """Return a batch as JSON; `crc_valid` is None if the CRC was not checked."""
    return {
        **_place(file),
        "file": file.path.name if file.partition else str(file.path),
        **pick_fields(header, "position size base_offset last_offset"),
        "count": header.record_count if header.record_count >= 0 else None,
        "leaderEpoch": header.partition_leader_epoch,
        "magic": header.magic,
        "codec": header.codec_label,
        "crc": header.crc,
        "crcValid": crc_valid,
        "timestampType": timestamp_type(header),
        **pick_fields(header, "base_timestamp max_timestamp producer_id producer_epoch"),
        **pick_fields(header, "base_sequence last_sequence"),
        "transactional": header.is_transactional,
        "control": header.is_control,
        "deleteHorizon": header.delete_horizon,
    }


def _redacted(value: bytes | None) -> str | None:
    return None if value is None else f"{REDACTED} {count_of(len(value), 'byte')}"


def _place(file: LogFile) -> dict[str, Any]:
    """Return topic and partition, and the file unless they identify it (not for snapshots)."""
    place: dict[str, Any] = {}
    if file.partition is not None:
        place = {"topic": file.partition.topic, "partition": file.partition.partition}
    if file.kind is not FileKind.SEGMENT or not file.in_use or not place:
        place["file"] = str(file.path)
    return place


def _control_name(typed: TypedRecord | None) -> str | None:
    if typed is None:
        return None
    try:
        return ControlType(typed.id).name
    except ValueError:
        return str(typed.id)
