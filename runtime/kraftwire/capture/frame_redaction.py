"""Removes secrets from recorded frames.

`kraftwire.redaction` has the table of secret fields. This module also finds secrets within fields
of bytes: requests in Envelope requests, records of `__cluster_metadata` that followers fetch, and
SASL tokens without a header. Rules:

- A redacted frame still decodes, with the same header; only secrets are replaced.
- Unreadable bytes cannot be searched: embedded requests, batches and snapshots that cannot be
  decoded are replaced as a whole, and so is an unreadable frame that may hold a secret.
- An unreadable frame is kept if its API is known and has no secrets in any known version.
- An Envelope within an Envelope, which brokers refuse, is replaced as a whole, since the nesting
  could be as deep as the frame is long.
- Brokers quote bad values in error messages: a secret setting of the request is replaced in the
  response's error messages too.
- Some clients send bytes after a message, which brokers do not read (librdkafka does with
  AlterUserScramCredentials). If the message has secrets, those bytes are removed.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any, NamedTuple
from uuid import UUID

from kraftwire.capture.decoding.decoder import DecodedFrame
from kraftwire.capture.frame import Frame
from kraftwire.log.batches.batch import Batch, decode_batch
from kraftwire.log.batches.compression import DEFAULT_LIMIT, Compression
from kraftwire.log.batches.encoding import BatchSettings, encode_batch
from kraftwire.log.batches.large_records import RecordBudget
from kraftwire.log.directories.partition import METADATA_TOPIC
from kraftwire.log.queries.typed_records import log_of_topic
from kraftwire.redaction import REDACTED, REDACTED_BYTES, SECRETS, redact_fields, secret_texts
from kraftwire_wire.errors import DecodeError, KraftwireError
from kraftwire_wire.message import Message
from kraftwire_wire.records import decode_metadata_record, encode_metadata_record
from kraftwire_wire.registry import Registry

EVERYTHING = "*"
"""The path of all bytes of a frame."""

UNREAD = "(bytes of no field)"
"""The path of bytes after a message, whose meaning is unknown."""

_FETCH_RESPONSE = "FetchResponse"
_ENVELOPE = "EnvelopeRequest"
_ERROR_MESSAGE = "error_message"
_METADATA_TOPIC_ID = UUID(int=1)
_MAX_DECOMPRESSED = DEFAULT_LIMIT // 8
"""How many bytes a frame's batches may decompress to; Kafka does not compress metadata records."""
LEFT_OUT = " (left out: "
"""Separates the path of unreadable batches from the reason."""
_METADATA_LOG = log_of_topic(METADATA_TOPIC)


class RedactedFrame(NamedTuple):
    """A frame without its secrets, and their paths; the original frame if it had none."""

    frame: Frame
    paths: list[str]


def redact_frame(decoded: DecodedFrame, registry: Registry) -> RedactedFrame:
    """Return the frame without its secrets, marked as redacted; `decoded` does not change."""
    frame = decoded.frame
    if frame.data in (b"", REDACTED_BYTES):
        return RedactedFrame(frame, [])
    if decoded.is_token:
        return _with_data(frame, REDACTED_BYTES, [EVERYTHING])
    if _is_harmless(decoded) and not _has_echo(decoded):
        return RedactedFrame(frame, [])
    read = read_leniently(decoded, registry)
    if read.message is None:
        return _with_data(frame, b"", [EVERYTHING])
    request = _request_message(decoded)
    message = deepcopy(read.message)
    paths = redact_message(message, registry, request)
    if decoded.error is not None or decoded.note is not None:
        paths.append(UNREAD)
    if not paths:
        return RedactedFrame(frame, [])
    try:
        data = replace(read, message=message, error=None, trailing=b"").encode(registry)
        return _with_data(frame, data, paths)
    except KraftwireError:  # the replacement made a string too long for its field
        return _with_data(frame, b"", [EVERYTHING])


def _with_data(frame: Frame, data: bytes, paths: list[str]) -> RedactedFrame:
    recorded = replace(frame, data=data, redacted=(*frame.redacted, *paths))
    return RedactedFrame(recorded, paths)


def redact_message(
    message: Message, registry: Registry, request: Message | None = None
) -> list[str]:
    """Replace the secrets of a message in place, also those within its bytes; return their paths.

    `request` is the one that a response answers; reading an EnvelopeResponse requires it.
    """
    inner = _REDACT_WITHIN.get(type(message).__name__)
    if inner is not None:
        return inner(message, registry, request)
    echoes = [] if request is None else _redact_echoes(message, secret_texts(request))
    return redact_fields(message) + echoes


def read_leniently(decoded: DecodedFrame, registry: Registry) -> DecodedFrame:
    """Decode a response leniently, as Kafka's own classes do, if strict decoding failed.

    Return `decoded` itself if that is not needed or fails. Requests are always decoded so.
    """
    request = decoded.request
    if decoded.error is None or request is None:
        return decoded
    try:
        data = decoded.frame.data
        header, message = registry.decode_response(data, request.header, lenient=True)
    except KraftwireError:
        return decoded
    return replace(decoded, header=header, message=message, error=None)


def _is_harmless(decoded: DecodedFrame) -> bool:
    """Whether a frame, read or not, belongs to an API without secrets."""
    if decoded.api is None or decoded.request_header is None:
        return False
    kind = "Request" if decoded.frame.direction == "request" else "Response"
    name = decoded.api + kind
    if name == _FETCH_RESPONSE and decoded.error is None:
        return not _metadata_topics(decoded.message)
    return name not in SECRETS and name not in _REDACT_WITHIN


# -- error messages ------------------------------------------------------------------------


def _request_message(decoded: DecodedFrame) -> Message | None:
    return None if decoded.request is None else decoded.request.message


def _has_echo(decoded: DecodedFrame) -> bool:
    """Whether the bytes of a response repeat a secret of the request."""
    request = _request_message(decoded)
    texts = () if request is None else secret_texts(request)
    return any(text.encode() in decoded.frame.data for text in texts)


def _redact_echoes(struct: Any, texts: list[str], path: str = "") -> list[str]:
    paths: list[str] = []
    for field in struct.LAYOUT.fields if texts else ():
        value: Any = getattr(struct, field.name)
        step = path + field.name
        if field.name == _ERROR_MESSAGE and any(text in (value or "") for text in texts):
            for text in texts:
                value = value.replace(text, REDACTED)
            setattr(struct, field.name, value)
            paths.append(step)
        elif field.is_struct and isinstance(value, list):
            for at, item in enumerate(value):
                paths += _redact_echoes(item, texts, f"{step}[{at}].")
    return paths


# -- embedded requests (KIP-590) -----------------------------------------------------------


def _redact_envelope(message: Any, registry: Registry, _: Message | None) -> list[str]:
    def read(data: bytes) -> tuple[list[str], bytes]:
        header, request = _read_embedded(data, registry)
        paths = redact_message(request, registry)
        return paths, registry.encode_request(header, request) if paths else data

    return _redact_embedded(message, "request_data", read)


def _redact_envelope_response(message: Any, registry: Registry, envelope: Any) -> list[str]:
    def read(data: bytes) -> tuple[list[str], bytes]:
        request_data = getattr(envelope, "request_data", b"")
        request_header, request = _read_embedded(request_data, registry)
        header, response = registry.decode_response(data, request_header)
        paths = redact_message(response, registry, request)
        if paths:
            data = registry.encode_response(request_header, response, header)
        return paths, data

    return _redact_embedded(message, "response_data", read)


def _read_embedded(data: bytes, registry: Registry) -> tuple[Any, Message]:
    header, request = registry.decode_request(data)
    if type(request).__name__ == _ENVELOPE:
        raise DecodeError("an Envelope within an Envelope", "request_api_key", 0)
    return header, request


def _redact_embedded(
    message: Any, name: str, read: Callable[[bytes], tuple[list[str], bytes]]
) -> list[str]:
    data: bytes | None = getattr(message, name)
    if not data or data == REDACTED_BYTES:
        return []
    try:
        paths, data = read(data)
    except KraftwireError:
        setattr(message, name, REDACTED_BYTES)
        return [name]
    setattr(message, name, data)
    return [f"{name}.{path}" for path in paths]


# -- metadata records ----------------------------------------------------------------------


def _redact_fetch(message: Any, registry: Registry, _: Message | None) -> list[str]:
    paths: list[str] = []
    for at, topic in _metadata_topics(message):
        for index, partition in enumerate(topic.partitions):
            if partition.records:
                path = f"responses[{at}].partitions[{index}].records"
                partition.records, found = _redact_batches(partition.records, registry)
                paths += [path + step for step in found]
    return paths


def _metadata_topics(message: Any) -> list[tuple[int, Any]]:
    """Return the topics of a FetchResponse that are the metadata log, with their indexes."""
    return [
        (at, topic)
        for at, topic in enumerate(message.responses)
        if topic.topic == METADATA_TOPIC or topic.topic_id == _METADATA_TOPIC_ID
    ]


def _redact_snapshot(message: Any, _: Registry, __: Message | None) -> list[str]:
    """Remove all bytes: part of a snapshot begins and ends within batches and cannot be read."""
    paths: list[str] = []
    for at, topic in enumerate(message.topics):
        for index, partition in enumerate(topic.partitions):
            if partition.unaligned_records:
                partition.unaligned_records = b""
                paths.append(f"topics[{at}].partitions[{index}].unaligned_records")
    return paths


def _redact_batches(data: bytes, registry: Registry) -> tuple[bytes, list[str]]:
    """Return batches with redacted values and a valid CRC, and the paths of the values.

    If one cannot be read, or they decompress to too many bytes, return no bytes and the reason.
    """
    out: list[bytes] = []
    paths: list[str] = []
    position, left = 0, _MAX_DECOMPRESSED
    try:
        while position < len(data):
            batch = decode_batch(data, position, limit=max(left, 1))
            position = batch.header.end
            if batch.header.codec and not batch.header.is_control:
                left -= batch.unpacked_size()
            redacted, found = _redact_batch(batch, registry)
            out.append(redacted)
            paths += found
    except KraftwireError as error:
        return b"", [f"{LEFT_OUT}{error})"]
    return b"".join(out) if paths else data, paths


def _redact_batch(batch: Batch, registry: Registry) -> tuple[bytes, list[str]]:
    if batch.header.is_control:
        return batch.data, []
    changed: dict[int, bytes] = {}
    paths: list[str] = []
    for place, record in enumerate(batch.records):
        assert _METADATA_LOG is not None
        message, version = decode_metadata_record(registry, _METADATA_LOG, record.value or b"")
        found = redact_fields(message)
        if found:
            changed[place] = encode_metadata_record(message, version)
            name = type(message).__name__
            paths += [f"[offset {record.offset}].{name}.{path}" for path in found]
    if not changed:
        return batch.data, []
    records = RecordBudget().hold(batch)
    for place, value in changed.items():
        records[place] = records[place]._replace(value=value)
    return encode_batch(records, _settings(batch)), paths


def _settings(batch: Batch) -> BatchSettings:
    header = batch.header
    return BatchSettings(
        codec=Compression(header.codec),
        partition_leader_epoch=header.partition_leader_epoch,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        is_transactional=header.is_transactional,
        log_append_time=header.max_timestamp if header.has_log_append_time else None,
        delete_horizon=header.delete_horizon,
    )


_REDACT_WITHIN: dict[str, Callable[[Any, Registry, Any], list[str]]] = {
    _ENVELOPE: _redact_envelope,
    "EnvelopeResponse": _redact_envelope_response,
    _FETCH_RESPONSE: _redact_fetch,
    "FetchSnapshotResponse": _redact_snapshot,
}
"""Messages that may have secrets within fields of bytes, and the functions that redact them."""
