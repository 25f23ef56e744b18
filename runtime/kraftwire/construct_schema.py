"""Messages as `construct` schemas, built from `LAYOUT`: one message in one version.

A second reading and writing of the wire format that shares nothing with the emitted code
and its reader and writer but the table. It is strict: nulls out of place, lengths and
counts beyond the input, tags out of order, payloads longer than their value and trailing
bytes are errors of `construct`.

A parsed struct is a container with what its bytes hold, and nothing else: fields that the
version lacks and tagged fields that were not sent are left out; unknown tagged fields are
pairs under `unknown_tagged_fields`, a key that every struct of a flexible version has.
Building writes what the container holds, so that `build(parse(data))` gives the bytes
back even where a tagged field was sent with its default. `as_container` makes the
container of a message, which leaves such fields out.

The schemas are ordinary trees of `construct`: lengths, counts and tag sections are members
of their own, so that a walk over a schema can say what each byte is.
"""

from __future__ import annotations

import uuid
from itertools import pairwise
from typing import Any

import construct as c  # type: ignore[import-untyped]

from kraftwire_wire.errors import UnsupportedVersion
from kraftwire_wire.layout import Field, Layout
from kraftwire_wire.message import Message, Struct

UNKNOWN_TAGS = "unknown_tagged_fields"
TAG_SECTION = "tag_section"

_MAX_STRING = 0x7FFF
_MAX_TAG = 0x7FFFFFFE


_schemas: dict[tuple[type[Message], int], Any] = {}


def schema(message: type[Message], version: int) -> Any:
    """The construct that parses and builds all bytes of a message in a version."""
    if (message, version) not in _schemas:
        _check_version(message, version)
        body = MessageSchema(message, version).struct(message)
        _schemas[message, version] = c.FocusedSeq("message", "message" / body, c.Terminated)
    return _schemas[message, version]


def as_container(message: Message, version: int) -> Any:
    """What parsing the message's encoding in a version gives."""
    _check_version(type(message), version)
    return _container(message, type(message), version)


def _check_version(message: type[Message], version: int) -> None:
    if version not in message.VALID_VERSIONS:
        raise UnsupportedVersion(message.__name__, version, message.VALID_VERSIONS)


# -- primitives ------------------------------------------------------------------------------


def _join_varint(octets: list[int], _context: Any) -> int:
    if octets[-1] > 0x7F:
        raise c.ValidationError("varint is longer than 5 bytes")
    return sum((octet & 0x7F) << 7 * index for index, octet in enumerate(octets)) & 0xFFFFFFFF


def _split_varint(value: int, _context: Any) -> list[int]:
    octets = []
    while value > 0x7F:
        octets.append(value & 0x7F | 0x80)
        value >>= 7
    return [*octets, value]


UVARINT = c.ExprAdapter(
    c.RepeatUntil(lambda octet, octets, _: octet < 0x80 or len(octets) == 5, c.Byte),
    _join_varint,
    _split_varint,
)
"""LEB128 of 32 bits."""

TAGGED_MARKER = c.ExprValidator(UVARINT, lambda marker, _: marker <= 0x7FFFFFFF)
"""What precedes a nullable struct in a tag's payload; Kafka takes larger ones for null."""

COMPACT_LENGTH = c.ExprAdapter(UVARINT, lambda raw, _: raw - 1, lambda length, _: length + 1)
"""A length in flexible versions: one more than it is, zero for null."""

UUID = c.ExprAdapter(
    c.Bytes(16), lambda raw, _: uuid.UUID(bytes=bytes(raw)), lambda value, _: value.bytes
)

_FIXED = {
    "bool": c.Flag,
    "int8": c.Int8sb,
    "int16": c.Int16sb,
    "uint16": c.Int16ub,
    "int32": c.Int32sb,
    "uint32": c.Int32ub,
    "int64": c.Int64sb,
    "float64": c.Float64b,
    "uuid": UUID,
}


def _text_from(raw: bytes, _context: Any) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise c.StringError(str(error)) from None


def _text_to(value: str, _context: Any) -> bytes:
    """UTF-8; a surrogate pair is one character, a lone surrogate a question mark."""
    paired = value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return paired.encode(errors="replace")


# -- what may be null, and what has a length ---------------------------------------------------

_NULL = c.Computed(None)


def _nullable(marker: Any, present: int, null: int, value: Any) -> Any:
    """A marker, and a value behind it unless the marker says null."""
    is_null = (lambda this: this.marker < 0) if null < 0 else (lambda this: this.marker == 0)
    return c.FocusedSeq(
        "value",
        "marker" / c.Rebuild(marker, lambda this: null if this.value is None else present),
        "value" / c.IfThenElse(is_null, _NULL, value),
    )


def _with_length(length: Any, value: Any, *, nullable: bool, longest: int | None = None) -> Any:
    """A length, and as much of a value; `value` finds it in its context as `length`."""

    def fits(number: int, this: Any) -> bool:
        if number < 0:
            return nullable
        if longest is not None and number > longest:
            return False
        return bool(this._building or number <= _bytes_left(this._io))

    return c.FocusedSeq(
        "value",
        "length"
        / c.Rebuild(
            c.ExprValidator(length, fits),
            lambda this: -1 if this.value is None else len(this.value),
        ),
        "value" / c.IfThenElse(lambda this: this.length < 0, _NULL, value),
    )


def _bytes_left(stream: Any) -> int:
    here = stream.tell()
    end = stream.seek(0, 2)
    stream.seek(here)
    return int(end - here)


def _length_form(type_name: str, *, compact: bool) -> Any:
    if compact:
        return COMPACT_LENGTH
    return c.Int16sb if type_name == "string" else c.Int32sb


def _bytes(type_name: str, *, compact: bool, nullable: bool) -> Any:
    """A string, bytes or records, as bytes."""
    longest = _MAX_STRING if type_name == "string" else None
    length = _length_form(type_name, compact=compact)
    return _with_length(length, c.Bytes(c.this.length), nullable=nullable, longest=longest)


def _text(raw: Any) -> Any:
    """A string over its bytes."""
    return c.ExprAdapter(
        raw,
        lambda value, this: None if value is None else _text_from(value, this),
        lambda value, this: None if value is None else _text_to(value, this),
    )


# -- messages ----------------------------------------------------------------------------------


class MessageSchema:
    """Builds the constructs of one message in one version."""

    def __init__(self, message: type[Message], version: int) -> None:
        self.message = message
        self.version = version

    def struct(self, struct_type: type[Struct]) -> Any:
        """A struct: its untagged fields, and in flexible versions its tag section."""
        layout = struct_type.LAYOUT
        members = [
            field.name / self.field(field, layout)
            for field in layout.fields
            if self.version in field.versions and self.version not in field.tagged
        ]
        if self.version not in layout.flexible:
            return c.ExprAdapter(c.Struct(*members), _without_stream, lambda flat, _: flat)
        section = TAG_SECTION / self.tag_section(layout)
        names = {field.tag: field.name for field in layout.fields if self.version in field.tagged}
        return _with_flat_tags(c.Struct(*members, section), names)

    def tag_section(self, layout: Layout) -> Any:
        """The count, and for each tag its number, its size and its payload."""
        known = {field.tag: field for field in layout.fields if field.tag is not None}
        # A known tag in a version that does not have it is an error.
        payloads = {
            tag: self.field(field, layout) if self.version in field.tagged else c.Error
            for tag, field in known.items()
        }
        payload = c.Switch(c.this._.tag, payloads, default=c.GreedyBytes)
        tag = c.Struct(
            "tag" / c.ExprValidator(UVARINT, lambda tag, _: tag <= _MAX_TAG),
            "payload" / c.Prefixed(UVARINT, c.FocusedSeq("value", "value" / payload, c.Terminated)),
        )
        return c.PrefixedArray(UVARINT, tag)

    def field(self, field: Field, layout: Layout) -> Any:
        """A field's value in this version, tagged or not."""
        compact = self.version in layout.flexible
        nullable = self.version in field.nullable
        if field.is_array:
            length = _length_form("array", compact=compact)
            items = c.Array(c.this.length, self.element(field, compact=compact))
            return _with_length(length, items, nullable=nullable)
        if field.is_struct and nullable:
            marker, null = (TAGGED_MARKER, 0) if self.version in field.tagged else (c.Int8sb, -1)
            return _nullable(marker, 1, null, self.element(field, compact=compact))
        if field.flexible is not None:
            compact = compact and self.version in field.flexible
        return self.element(field, compact=compact, nullable=nullable)

    def element(self, field: Field, *, compact: bool, nullable: bool = False) -> Any:
        """A value of the field's type without `[]`."""
        name = field.element_type
        if field.is_struct:
            return self.struct(getattr(self.message, name))
        if name in _FIXED:
            return _FIXED[name]
        raw = _bytes(name, compact=compact, nullable=nullable)
        return _text(raw) if name == "string" else raw


def _without_stream(raw: Any, _context: Any) -> Any:
    """A parsed struct without the stream that construct leaves in it."""
    return c.Container({key: value for key, value in raw.items() if key != "_io"})


def _with_flat_tags(struct: Any, names: dict[int | None, str]) -> Any:
    """The struct with its tagged fields beside the others, instead of in a list of tags."""

    def flatten(raw: Any, context: Any) -> Any:
        section = raw.pop(TAG_SECTION)
        tags = [entry.tag for entry in section]
        if any(left >= right for left, right in pairwise(tags)):
            raise c.ValidationError(f"tags {tags} do not ascend")
        flat = _without_stream(raw, context)
        flat.update({names[entry.tag]: entry.payload for entry in section if entry.tag in names})
        flat[UNKNOWN_TAGS] = [
            (entry.tag, entry.payload) for entry in section if entry.tag not in names
        ]
        return flat

    def unflatten(flat: Any, _context: Any) -> Any:
        section = [
            {"tag": tag, "payload": flat[name]} for tag, name in names.items() if name in flat
        ]
        unknown = [{"tag": tag, "payload": payload} for tag, payload in flat[UNKNOWN_TAGS]]
        return {**flat, TAG_SECTION: sorted([*section, *unknown], key=lambda entry: entry["tag"])}

    return c.ExprAdapter(struct, flatten, unflatten)


# -- from messages to containers -----------------------------------------------------------------


def _container(value: Struct, message: type[Message], version: int) -> Any:
    result = c.Container()
    layout = value.LAYOUT
    # In the order of the bytes: tags come last, and ascend.
    tag_order = {field.name: field.tag or 0 for field in layout.fields if version in field.tagged}
    for field in sorted(layout.fields, key=lambda field: tag_order.get(field.name, -1)):
        item = getattr(value, field.name)
        if version in field.tagged:
            if not _differs_from_default(field, item, message):
                continue
        elif version not in field.versions:
            continue
        elif item is None and field.is_optional_struct:
            item = getattr(message, field.type)()
        result[field.name] = _plain(item, message, version)
    if version in layout.flexible:
        result[UNKNOWN_TAGS] = list(value.unknown_tagged_fields)
    return result


def _plain(item: Any, message: type[Message], version: int) -> Any:
    if isinstance(item, Struct):
        return _container(item, message, version)
    if isinstance(item, list):
        return c.ListContainer(_plain(element, message, version) for element in item)
    return item


def _differs_from_default(field: Field, item: object, message: type[Message]) -> bool:
    if field.is_array or not field.is_struct:
        default = [] if field.default == () else field.default
        return bool(item != default)
    if item is None:
        return field.default is not None
    return (field.default is None and bool(field.nullable)) or (
        item != getattr(message, field.type)()
    )
