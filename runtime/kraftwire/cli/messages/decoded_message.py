"""A message with everything needed to encode it back: what `decode` prints and `encode` reads.

Its JSON form is an object with `name`, `version` and `message`. A request or response has its
`header` too, and a key or value from a log has `record`, with the log, the record's id there,
and `part`, which is `key` or `value`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

from kraftwire_wire.canonical import Deviation, frame_deviations
from kraftwire_wire.errors import DecodeError, KraftwireError, UnsupportedVersion
from kraftwire_wire.json_form import JsonStyle
from kraftwire_wire.message import Message
from kraftwire_wire.records import (
    decode_coordinator_key,
    decode_coordinator_value,
    decode_metadata_record,
    encode_coordinator_key,
    encode_metadata_record,
    encode_prefixed,
)
from kraftwire_wire.registry import Registry, response_version

T = TypeVar("T")

HEADERS = {"request": "RequestHeader", "response": "ResponseHeader"}
"""The header that each kind of message has."""

_KEYS = frozenset({"name", "version", "header", "record", "message", "notCanonical"})


@dataclass(frozen=True, slots=True)
class RecordPart:
    """Where a stored message comes from: the log, the record's id, and `key` or `value`."""

    log: str
    id: int
    part: str


@dataclass(frozen=True, slots=True)
class DecodedMessage:
    """A message in a version, after a header, in a record, or alone."""

    message: Message
    version: int
    header: Message | None = None
    record: RecordPart | None = None
    deviations: tuple[Deviation, ...] = ()
    """Where the bytes were not canonical; `with_deviations` fills it."""

    @property
    def name(self) -> str:
        return type(self.message).__name__

    @property
    def header_version(self) -> int:
        return self.message.header_version(self.version)

    def to_json(self, style: JsonStyle) -> dict[str, Any]:
        """Return the object that `decode` prints."""
        obj: dict[str, Any] = {"name": self.name, "version": self.version}
        if self.record:
            obj["record"] = asdict(self.record)
        if self.header:
            obj["header"] = self.header.to_json(self.header_version, style=style)
        if self.deviations:
            obj["notCanonical"] = deviations_json(self.deviations)
        obj["message"] = self.message.to_json(self.version, style=style)
        return obj


def deviations_json(deviations: Iterable[Deviation]) -> list[dict[str, Any]]:
    """Return the list for `notCanonical`, which informs users: `encode` ignores it."""
    return [
        {"path": one.path, "offset": one.offset, "bytes": one.size, "reason": one.reason}
        for one in deviations
    ]


# -- from bytes ----------------------------------------------------------------------------


def decode_request(registry: Registry, frame: bytes, lenient: bool) -> DecodedMessage:
    """Decode a request and its header."""
    try:
        header, message = registry.decode_request(frame, lenient=lenient)
    except UnsupportedVersion as error:
        raise DecodeError(str(error), "request_api_version", 2) from None
    return DecodedMessage(message, header.request_api_version, header)


def decode_response(
    registry: Registry, response: type[Message], version: int, frame: bytes, lenient: bool
) -> DecodedMessage:
    """Decode a response and its header, without its request."""
    correlation_id = int.from_bytes(frame[:4], signed=True)
    request = registry.request_header(response(), version, correlation_id=correlation_id)
    header, message = registry.decode_response(frame, request, lenient=lenient)
    return DecodedMessage(message, response_version(message, version), header)


def with_deviations(
    registry: Registry, decoded: DecodedMessage, frame: bytes, lenient: bool
) -> DecodedMessage:
    """Return a message with the places where its frame is not canonical."""
    try:
        if encode(registry, decoded) == frame:
            return decoded
    except KraftwireError:
        pass  # a message that was decoded leniently may have no encoding
    header = None
    if decoded.header is not None:
        header = type(decoded.header), decoded.header_version
    body = type(decoded.message), decoded.version
    return replace(
        decoded, deviations=tuple(frame_deviations(header, body, frame, lenient=lenient))
    )


def decode_metadata(registry: Registry, log: str, value: bytes) -> DecodedMessage:
    """Decode the value of a record of a metadata log."""
    try:
        message, version = decode_metadata_record(registry, log, value)
    except UnsupportedVersion as error:
        raise DecodeError(str(error), "record version") from None
    return DecodedMessage(message, version, record=RecordPart(log, _id(message), "value"))


def decode_key(registry: Registry, log: str, key: bytes) -> DecodedMessage:
    """Decode the key of a record of a coordinator's log."""
    message = decode_coordinator_key(registry, log, key)
    version = message.VALID_VERSIONS[0]
    return DecodedMessage(message, version, record=RecordPart(log, _id(message), "key"))


def decode_value(registry: Registry, log: str, record_id: int, value: bytes) -> DecodedMessage:
    """Decode the value of a record of a coordinator's log; the id is that of its key."""
    try:
        stored = decode_coordinator_value(registry, log, record_id, value)
    except UnsupportedVersion as error:
        raise DecodeError(str(error), "version", 0) from None
    assert stored is not None, "bytes are not a tombstone"
    return DecodedMessage(
        stored.message, stored.version, record=RecordPart(log, record_id, "value")
    )


# -- from JSON, and to bytes ---------------------------------------------------------------


def from_json(registry: Registry, obj: object) -> DecodedMessage:
    """Read an object that `decode` printed; raise `DecodeError` if it is not one."""
    if not isinstance(obj, dict):
        raise DecodeError("expected an object with name, version and message")
    for key in obj:
        if key not in _KEYS:
            raise DecodeError("unknown key; decode does not print it", str(key))
    name = _member(obj, "name", str)
    version = _member(obj, "version", int)
    if name not in registry:
        raise DecodeError(f"{registry.package} has no message {name!r}", "name")
    cls = registry.message(name)
    if version not in cls.VALID_VERSIONS:
        raise DecodeError(str(UnsupportedVersion(name, version, cls.VALID_VERSIONS)), "version")
    body = _member(obj, "message", dict)
    message = _at("message", lambda: cls.from_json(body, version))
    header = record = None
    if "header" in obj:
        header = _at("header", lambda: _header(registry, message, version, obj["header"]))
    if "record" in obj:
        record = _at("record", lambda: _record_part(registry, name, obj["record"]))
    return DecodedMessage(message, version, header, record)


def encode(registry: Registry, decoded: DecodedMessage) -> bytes:
    """Return the bytes that a message was decoded from."""
    message, version = decoded.message, decoded.version
    if decoded.record is not None:
        if decoded.record.part == "key":
            return encode_coordinator_key(message)
        if registry.record(decoded.record.log, decoded.record.id).key is None:
            return encode_metadata_record(message, version)
        return encode_prefixed(message, version)
    header: Any = decoded.header
    if header is None:
        return message.encode(version)
    if message.LAYOUT.type == "request":
        return registry.encode_request(header, message)
    request = registry.request_header(message, version, correlation_id=header.correlation_id)
    return registry.encode_response(request, message, header)


def _header(registry: Registry, message: Message, version: int, obj: object) -> Message:
    name = HEADERS.get(message.LAYOUT.type)
    if name is None:
        raise DecodeError(f"{type(message).__name__} has no header")
    header = registry.message(name).from_json(obj, message.header_version(version))
    of_header = getattr(header, "request_api_version", version)
    if of_header != version:
        reason = f"{of_header}, but the version of the message is {version}"
        raise DecodeError(reason, "requestApiVersion")
    return header


def _record_part(registry: Registry, name: str, obj: object) -> RecordPart:
    if not isinstance(obj, dict) or set(obj) != {"log", "id", "part"}:
        raise DecodeError("expected an object with log, id and part")
    log, record_id = _member(obj, "log", str), _member(obj, "id", int)
    part = _member(obj, "part", str)
    if part not in ("key", "value"):
        raise DecodeError(f"expected key or value, got {part!r}", "part")
    if record_id not in registry.record_ids.get(log, ()):
        raise DecodeError(f"{registry.package} has no {log} record with id {record_id}")
    stored = getattr(registry.record(log, record_id), part)
    if stored is None or stored.__name__ != name:
        raise DecodeError(f"{name} is not the {part} of {log} record {record_id}")
    return RecordPart(log, record_id, part)


def _member(obj: dict[str, Any], key: str, kind: type[T]) -> T:
    """Return the value of a key; raise `DecodeError` if it has another type."""
    if key not in obj:
        raise DecodeError("missing", key)
    value = obj[key]
    if type(value) is not kind:
        expected = {str: "a string", int: "an integer", dict: "an object"}[kind]
        raise DecodeError(f"expected {expected}", key)
    return value


def _at(step: str, read: Callable[[], T]) -> T:
    """Call a reader, and add a step to the path of its `DecodeError`."""
    try:
        return read()
    except DecodeError as error:
        raise error.inside(step) from None


def _id(message: Message) -> int:
    assert message.API_KEY is not None, "records have ids"
    return message.API_KEY
