"""Converts messages to and from JSON objects in the form of Kafka's own converters.

Rules for writing:
- a message has a JSON form in a version if and only if it has an encoding: `to_json` encodes the
  message first, and then writes what the bytes decode to. So it raises the same errors as
  `encode`, and the JSON matches the bytes (a lone surrogate is `?`, a subclass of int is an int),
  even if values lie about themselves or change meanwhile;
- keys are the spec's names with a lowercase first letter, in the order of the spec; tagged
  fields are left out at their default;
- uuids are base64url without padding, bytes base64, NaN and the infinities strings;
- `java` writes what Kafka prints: records as `""`, and no unknown tagged fields;
  `lossless` has the records, and a struct's unknown tagged fields under an additional key.

Rules for reading, which is stricter than in Kafka:
- any object becomes a message that can be encoded in that version, or raises a `DecodeError`
  with a path in JSON keys;
- every untagged field of the version must be present; unknown keys and fields of other versions
  are errors;
- a value must have the exact type: true is not a number, 5.0 and "5" are not integers;
- the size of records, which Kafka's request log prints instead of the records, is accepted. It
  becomes empty records, as does `""`.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import struct
from collections.abc import Callable
from typing import Any, Literal, ParamSpec, TypeVar
from uuid import UUID

from kraftwire_wire.defaults import differs
from kraftwire_wire.engine import codec_for
from kraftwire_wire.errors import DecodeError, format_versions
from kraftwire_wire.forms import FIXED_FORMATS, MAX_LENGTH, MAX_STRING_LENGTH
from kraftwire_wire.layout import Array, Layout, StructType, Type, VersionField
from kraftwire_wire.structs import S, Struct
from kraftwire_wire.text import encode_text
from kraftwire_wire.uuids import format_uuid, parse_uuid

P = ParamSpec("P")
T = TypeVar("T")

JsonStyle = Literal["lossless", "java"]

UNKNOWN_TAGS = "_unknownTaggedFields"

_SIZE_SUFFIX = "SizeInBytes"
_SPECIAL_FLOATS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def to_json(message: Struct, version: int, style: JsonStyle) -> dict[str, Any]:
    """Return the message as a JSON object; raises as `Message.encode` does."""
    if style not in ("lossless", "java"):
        raise ValueError(f"unknown JSON style {style!r}: pass lossless or java")
    cls = type(message)
    codec = codec_for(cls, version)
    written = codec.decode(codec.encode(message))
    return _JsonWriter(cls, codec.version, lossless=style == "lossless").struct(written)


def from_json(cls: type[S], obj: object, version: int) -> S:
    """Return the message that a JSON object describes, or raise `DecodeError`."""
    return _JsonReader(cls, codec_for(cls, version).version).struct(cls, obj)


class _JsonWriter:
    """Writes one decoded message, whose values all have their exact types."""

    def __init__(self, message: type[Struct], version: int, *, lossless: bool) -> None:
        self._message = message
        self._version = version
        self._lossless = lossless

    def struct(self, value: Struct) -> dict[str, Any]:
        result = {
            field.spec.json_name: self._field(field, getattr(value, field.name))
            for field in value.LAYOUT.at(self._version).present
            if is_written(self._message, field, value)
        }
        if value.unknown_tagged_fields and self._lossless:
            result[UNKNOWN_TAGS] = [
                {"tag": tag, "data": _base64(raw)} for tag, raw in value.unknown_tagged_fields
            ]
        return result

    def _field(self, field: VersionField, value: Any) -> Any:
        if value is not None:
            return self._value(field.type, value)
        if not field.spec.is_optional_struct:
            return None
        # Versions without tags write a struct that was not sent as a struct of defaults.
        return self.struct(field.spec.struct_class(self._message)())

    def _value(self, kind: Type, value: Any) -> Any:
        match kind:
            case Array(element):
                return [self._value(element, item) for item in value]
            case StructType():
                return self.struct(value)
            case "uuid":
                return format_uuid(value)
            case "bytes":
                return _base64(value)
            case "records":
                return _base64(value) if self._lossless else ""
            case "float64":
                return _float(value)
        return value


def is_written(message: type[Struct], field: VersionField, struct: Struct) -> bool:
    """Whether a version writes a field: always, or if tagged only unless it is at its default."""
    return field.tag is None or differs(message, field.spec, getattr(struct, field.name))


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _float(value: float) -> float | str:
    if math.isnan(value):
        return "NaN"
    return value if math.isfinite(value) else f"{'-' if value < 0 else ''}Infinity"


class _JsonReader:
    """Reads one message."""

    def __init__(self, message: type[Struct], version: int) -> None:
        self._message = message
        self._version = version

    def struct(self, struct_type: type[S], obj: object) -> S:
        if not isinstance(obj, dict):
            raise _wrong("an object", obj)
        result = struct_type()
        self._check_keys(struct_type.LAYOUT, obj)
        for field in struct_type.LAYOUT.at(self._version).present:
            key = self._key_of(field, obj)
            if key is not None:
                setattr(result, field.name, _at(key, self._field, field, key, obj[key]))
        if UNKNOWN_TAGS in obj:
            tags = _at(UNKNOWN_TAGS, self._unknown_tags, result, obj[UNKNOWN_TAGS])
            result.unknown_tagged_fields = tags
        return result

    def _check_keys(self, layout: Layout, obj: dict[Any, Any]) -> None:
        """Raise for the first key that is not a field of this version."""
        fields = {field.json_name: field for field in layout.fields}
        for field in layout.fields:
            if field.type == "records":
                fields.setdefault(field.json_name + _SIZE_SUFFIX, field)
        absent = {field.name for field in layout.at(self._version).absent}
        for key in obj:
            if key == UNKNOWN_TAGS:
                continue
            if not isinstance(key, str):
                raise DecodeError(f"a key that is {_describe(key)}; keys are strings")
            if key not in fields:
                raise DecodeError(f"{layout.name} has no field of this name", key)
            if fields[key].name in absent:
                versions = format_versions(fields[key].versions)
                reason = f"not a field of version {self._version}; its versions are {versions}"
                raise DecodeError(reason, key)

    def _key_of(self, field: VersionField, obj: dict[str, Any]) -> str | None:
        """Return the key of a field in the object, or None if a tagged field is missing."""
        key = field.spec.json_name
        size_key = key + _SIZE_SUFFIX
        size_given = field.type == "records" and size_key in obj
        if key in obj:
            if size_given:
                raise DecodeError(f"given together with {key}; leave one of them out", size_key)
            return key
        if size_given:
            return size_key
        if field.tag is None:
            raise DecodeError(f"missing; it is mandatory in version {self._version}", key)
        return None

    def _field(self, field: VersionField, key: str, value: object) -> object:
        if key != field.spec.json_name:
            return _read_size(value)
        if value is not None:
            return self._value(field.type, value)
        if not field.nullable:
            raise DecodeError(f"null, but the field is not nullable in version {self._version}")
        return None

    def _value(self, kind: Type, value: object) -> object:
        match kind:
            case Array(element):
                if not isinstance(value, list):
                    raise _wrong("an array", value)
                return [_at(f"[{n}]", self._value, element, item) for n, item in enumerate(value)]
            case StructType():
                return self.struct(kind.class_in(self._message), value)
            case "string":
                return _read_string(value)
            case "uuid":
                return _read_uuid(value)
            case "bytes" | "records":
                return _read_bytes(value)
            case "bool":
                if isinstance(value, bool):
                    return value
                raise _wrong("true or false", value)
            case "float64":
                return _read_float(value)
        return _read_int(kind, value)

    def _unknown_tags(self, owner: Struct, value: object) -> list[tuple[int, bytes]]:
        layout = owner.LAYOUT.at(self._version)
        if not layout.flexible:
            raise DecodeError(f"version {self._version} has no tagged fields")
        if not isinstance(value, list):
            raise _wrong("an array", value)
        written = {field.tag for field in layout.tagged if is_written(self._message, field, owner)}
        tags: list[tuple[int, bytes]] = []
        for index, item in enumerate(value):
            previous = tags[-1][0] if tags else -1
            tags.append(_at(f"[{index}]", _read_unknown_tag, item, previous, written))
        return tags


def _at(step: str, read: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """Call `read`, prepending a step to the path of a `DecodeError` that it raises."""
    try:
        return read(*arguments, **named)
    except DecodeError as error:
        raise error.inside(step) from None


# -- values of primitive types -------------------------------------------------------------


def _read_int(type_name: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _wrong(type_name, value)
    try:
        struct.pack(f">{FIXED_FORMATS[type_name]}", value)
    except (struct.error, OverflowError):
        raise DecodeError(f"{_describe(value)} does not fit into {type_name}") from None
    return int(value)


def _read_float(value: object) -> float:
    if isinstance(value, str) and value in _SPECIAL_FLOATS:
        return _SPECIAL_FLOATS[value]
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise _wrong("a number, NaN, Infinity or -Infinity", value)
    try:
        return float(value)
    except OverflowError:
        raise DecodeError(f"{_describe(value)} does not fit into float64") from None


def _read_string(value: object) -> str:
    if not isinstance(value, str):
        raise _wrong("a string", value)
    size = len(encode_text(value))
    if size > MAX_STRING_LENGTH:
        raise DecodeError(f"string of {size} bytes, at most {MAX_STRING_LENGTH} can be written")
    return str(value)


def _read_uuid(value: object) -> UUID:
    try:
        return parse_uuid(value if isinstance(value, str) else "")
    except ValueError:
        raise _wrong("a uuid (22 characters of base64url)", value) from None


def _read_bytes(value: object) -> bytes:
    if not isinstance(value, str):
        raise _wrong("base64", value)
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise _wrong("base64", value) from None


def _read_size(value: object) -> bytes:
    """Return empty records for the size in bytes that Kafka's request log prints instead."""
    _read_int("uint32", value)
    return b""


def _read_unknown_tag(item: object, previous: int, written: set[int | None]) -> tuple[int, bytes]:
    if not isinstance(item, dict) or set(item) != {"tag", "data"}:
        raise _wrong('an object with the keys "tag" and "data"', item)
    tag = _at("tag", _read_tag_number, item["tag"], previous, written)
    return tag, _at("data", _read_bytes, item["data"])


def _read_tag_number(value: object, previous: int, written: set[int | None]) -> int:
    tag = _read_int("int32", value)
    if not 0 <= tag < MAX_LENGTH:
        raise DecodeError(f"tag {tag} is outside 0 to {MAX_LENGTH - 1}")
    if tag <= previous:
        raise DecodeError(f"tag {tag} after tag {previous}; tags must ascend")
    if tag in written:
        raise DecodeError(f"tag {tag} is a field of this struct and is set there")
    return tag


def _wrong(expected: str, value: object) -> DecodeError:
    return DecodeError(f"expected {expected}, got {_describe(value)}")


def _describe(value: object) -> str:
    """Describe a JSON value for an error: as JSON if it is short, otherwise by its type."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "an array"
    if isinstance(value, int) and value.bit_length() > 128:
        return "a very large number"
    if isinstance(value, str) and len(value) > 40:
        return f"a string of {len(value)} characters"
    if value is None or isinstance(value, int | float | str):
        return json.dumps(value)
    return f"a Python {type(value).__name__}"
