"""A message with all that is needed to give its bytes back: what `decode` prints.

Its JSON form is an object with `name`, `version` and `message`; a request or response
that came with its header has `header`, and what was stored in a log has `record`, with the
log, the record's id there, and `part`, which is `key` or `value`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from kraftwire_wire.canonical import Deviation, frame_deviations
from kraftwire_wire.errors import DecodeError, KraftwireError, UnsupportedVersion
from kraftwire_wire.message import JsonStyle, Message
from kraftwire_wire.records import (
    decode_coordinator_key,
    decode_coordinator_value,
    decode_metadata_record,
    encode_coordinator_key,
    encode_metadata_record,
    encode_prefixed,
)
from kraftwire_wire.registry import Registry, answered_version

T = TypeVar("T")

HEADERS = {"request": "RequestHeader", "response": "ResponseHeader"}
"""Which message goes before which kind of message."""

_KEYS = frozenset({"name", "version", "header", "record", "message", "notCanonical"})


@dataclass(frozen=True, slots=True)
class Place:
    """Where a stored message stands: the log, the record's id, and `key` or `value`."""

    log: str
    id: int
    part: str

    def to_json(self) -> dict[str, Any]:
        """The object under `record`."""
        return {"log": self.log, "id": self.id, "part": self.part}


@dataclass(frozen=True, slots=True)
class Envelope:
    """A message in a version, behind a header, in a record, or alone."""

    message: Message
    version: int
    header: Message | None = None
    record: Place | None = None
    deviations: tuple[Deviation, ...] = ()
    """Where the bytes were not canonical; see `with_deviations`."""

    @property
    def name(self) -> str:
        """The message's name."""
        return type(self.message).__name__

    @property
    def header_version(self) -> int:
        """The version of the header that goes before this message."""
        return self.message.header_version(self.version)

    def to_json(self, style: JsonStyle) -> dict[str, Any]:
        """The object that `decode` prints."""
        obj: dict[str, Any] = {"name": self.name, "version": self.version}
        if self.record:
            obj["record"] = self.record.to_json()
        if self.header:
            obj["header"] = self.header.to_json(self.header_version, style=style)
        if self.deviations:
            obj["notCanonical"] = deviations_json(self.deviations)
        obj["message"] = self.message.to_json(self.version, style=style)
        return obj


def deviations_json(deviations: Iterable[Deviation]) -> list[dict[str, Any]]:
    """Return the list under `notCanonical`, which is for the reader: `encode` ignores it."""
    return [
        {"path": one.path, "offset": one.offset, "bytes": one.size, "reason": one.reason}
        for one in deviations
    ]


# -- from bytes ----------------------------------------------------------------------------


def decode_request(registry: Registry, frame: bytes, lenient: bool) -> Envelope:
    """A request behind its header."""
    try:
        header, message = registry.decode_request(frame, lenient=lenient)
    except UnsupportedVersion as error:
        raise DecodeError(str(error), "request_api_version", 2) from None
    return Envelope(message, header.request_api_version, header)


def decode_response(
    registry: Registry, response: type[Message], version: int, frame: bytes, lenient: bool
) -> Envelope:
    """A response behind its header; what request it answers is not known."""
    correlation_id = int.from_bytes(frame[:4], signed=True)
    request = registry.request_header(response(), version, correlation_id=correlation_id)
    header, message = registry.decode_response(frame, request, lenient=lenient)
    return Envelope(message, answered_version(message, version), header)


def with_deviations(
    registry: Registry, envelope: Envelope, frame: bytes, lenient: bool
) -> Envelope:
    """Add where a request, response or message is not canonical; `frame` is what it came from."""
    try:
        if encode(registry, envelope) == frame:
            return envelope
    except KraftwireError:
        pass  # read leniently, it may have no encoding
    header = None
    if envelope.header is not None:
        header = type(envelope.header), envelope.header_version
    body = type(envelope.message), envelope.version
    return replace(
        envelope, deviations=tuple(frame_deviations(header, body, frame, lenient=lenient))
    )


def decode_metadata(registry: Registry, log: str, value: bytes) -> Envelope:
    """The value of a record of a metadata log."""
    try:
        message, version = decode_metadata_record(registry, log, value)
    except UnsupportedVersion as error:
        raise DecodeError(str(error), "record version") from None
    return Envelope(message, version, record=Place(log, _id(message), "value"))


def decode_key(registry: Registry, log: str, key: bytes) -> Envelope:
    """The key of a record of a coordinator's log."""
    message = decode_coordinator_key(registry, log, key)
    version = message.VALID_VERSIONS[0]
    return Envelope(message, version, record=Place(log, _id(message), "key"))


def decode_value(registry: Registry, log: str, record_id: int, value: bytes) -> Envelope:
    """The value of a record of a coordinator's log, whose key has the id."""
    try:
        stored = decode_coordinator_value(registry, log, record_id, value)
    except UnsupportedVersion as error:
        raise DecodeError(str(error), "version", 0) from None
    assert stored is not None, "bytes are no tombstone"
    return Envelope(stored.message, stored.version, record=Place(log, record_id, "value"))


# -- from JSON, and to bytes ---------------------------------------------------------------


def from_json(registry: Registry, obj: object) -> Envelope:
    """The envelope of an object that `decode` printed."""
    if not isinstance(obj, dict):
        raise DecodeError("an object with name, version and message must be here")
    for key in obj:
        if key not in _KEYS:
            raise DecodeError("no key of what decode prints", str(key))
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
        record = _at("record", lambda: _place(registry, name, obj["record"]))
    return Envelope(message, version, header, record)


def encode(registry: Registry, envelope: Envelope) -> bytes:
    """The bytes that the envelope was decoded from."""
    message, version = envelope.message, envelope.version
    if envelope.record is not None:
        if envelope.record.part == "key":
            return encode_coordinator_key(message)
        if registry.record(envelope.record.log, envelope.record.id).key is None:
            return encode_metadata_record(message, version)
        return encode_prefixed(message, version)
    header: Any = envelope.header
    if header is None:
        return message.encode(version)
    if message.LAYOUT.type == "request":
        return registry.encode_request(header, message)
    request = registry.request_header(message, version, correlation_id=header.correlation_id)
    return registry.encode_response(request, message, header)


def _header(registry: Registry, message: Message, version: int, obj: object) -> Message:
    name = HEADERS.get(message.LAYOUT.type)
    if name is None:
        raise DecodeError(f"{type(message).__name__} goes without one")
    header: Any = registry.message(name).from_json(obj, message.header_version(version))
    if name == "RequestHeader" and header.request_api_version != version:
        reason = f"{header.request_api_version}, but the message has version {version}"
        raise DecodeError(reason, "requestApiVersion")
    loaded: Message = header
    return loaded


def _place(registry: Registry, name: str, obj: object) -> Place:
    if not isinstance(obj, dict) or set(obj) != {"log", "id", "part"}:
        raise DecodeError("an object with log, id and part must be here")
    log, record_id = _member(obj, "log", str), _member(obj, "id", int)
    part = _member(obj, "part", str)
    if part not in ("key", "value"):
        raise DecodeError(f"{part!r} where key or value must be", "part")
    if record_id not in registry.record_ids.get(log, ()):
        raise DecodeError(f"{registry.package} has no {log} record with id {record_id}")
    stored = getattr(registry.record(log, record_id), part)
    if stored is None or stored.__name__ != name:
        raise DecodeError(f"{name} is not the {part} of {log} record {record_id}")
    return Place(log, record_id, part)


def _member(obj: dict[str, Any], key: str, wanted: type[T]) -> T:
    """The value under a key, which must have exactly this type."""
    if key not in obj:
        raise DecodeError("missing", key)
    value = obj[key]
    if type(value) is not wanted:
        kind = {str: "a string", int: "an integer", dict: "an object"}[wanted]
        raise DecodeError(f"{kind} must be here", key)
    return value


def _at(step: str, read: Callable[[], T]) -> T:
    """Call a reading function; a `DecodeError` out of it gets a step of its path."""
    try:
        return read()
    except DecodeError as error:
        raise error.inside(step) from None


def _id(message: Message) -> int:
    assert message.API_KEY is not None, "records have ids"
    return message.API_KEY
