"""Builds the schemas of messages from `LAYOUT`."""

from __future__ import annotations

from typing import Any

import construct as c  # type: ignore[import-untyped]

from kraftwire.construct_schema.lengths import (
    Announcement,
    bytes_with_length,
    length_form,
    nullable_value,
    text,
    with_length,
)
from kraftwire.construct_schema.parts import INDEX, Elements, Label, Part
from kraftwire.construct_schema.primitives import FIXED, TAGGED_MARKER, UVARINT
from kraftwire.construct_schema.tags import (
    TAG_SECTION,
    TAG_SIZE,
    UNKNOWN_TAG,
    RefusedTag,
    TagNumber,
    TagPayload,
    with_flat_tags,
    without_stream,
)
from kraftwire_wire.forms import FIXED_SIZES
from kraftwire_wire.layout import Array, StructType, VersionField, VersionLayout
from kraftwire_wire.message import Message, Struct

_MARKER = ("int8", c.Int8sb, -1)
_TAGGED_MARKER = ("unsigned varint", TAGGED_MARKER, 0)

_schemas: dict[tuple[type[Message], int], Any] = {}
_bodies: dict[tuple[type[Message], int], Any] = {}


def schema(message: type[Message], version: int) -> Any:
    """Return the construct that parses and builds a whole message in a version."""
    if (message, version) not in _schemas:
        body = body_schema(message, version)
        _schemas[message, version] = c.FocusedSeq("message", "message" / body, c.Terminated)
    return _schemas[message, version]


def body_schema(message: type[Message], version: int) -> Any:
    """Return the construct of a message that other bytes may follow."""
    if (message, version) not in _bodies:
        message.codec(version)  # raises UnsupportedVersion
        _bodies[message, version] = _SchemaBuilder(message, version).struct(message)
    return _bodies[message, version]


class _SchemaBuilder:
    """Builds the constructs of one message in one version."""

    def __init__(self, message: type[Message], version: int) -> None:
        self.message = message
        self.version = version

    def struct(self, struct_type: type[Struct]) -> Any:
        """Return the schema of a struct: its ordinary fields, and its tag section if it has one."""
        layout = struct_type.LAYOUT.at(self.version)
        members = [field.name / self.field(field, step=field.name) for field in layout.ordinary]
        if not layout.flexible:
            return c.ExprAdapter(c.Struct(*members), without_stream, lambda flat, _: flat)
        section = TAG_SECTION / self.tag_section(layout)
        names = {field.tag: field.name for field in layout.tagged}
        return with_flat_tags(c.Struct(*members, section), names)

    def tag_section(self, layout: VersionLayout) -> Any:
        """Return the schema of a tag section: a count, then each tag's number, size and payload."""
        payloads = {
            field.tag: self.tagged(field.name, self.field(field)) for field in layout.tagged
        }
        refused = RefusedTag(f"tag sent in version {self.version}, which does not have it")
        payloads |= {field.tag: self.tagged(field.name, refused) for field in layout.refused}
        number = Label(TagNumber(UVARINT), Part("tag", "unsigned varint", "tag"))
        entry = c.Struct(
            "start" / c.Tell,
            "tag" / number,
            "payload" / c.Switch(c.this.tag, payloads, default=UNKNOWN_TAG),
        )
        count = Announcement(UVARINT, "tag section", unit=2, noun="tag")
        return c.FocusedSeq(
            "items",
            "count"
            / Label(
                c.Rebuild(count, c.len_(c.this.items)),
                Part("count", "unsigned varint", "tags", "tags"),
            ),
            "items" / c.Array(c.this.count, Label(entry, Part("field", "tag", deeper=True))),
        )

    @staticmethod
    def tagged(name: str, value: Any) -> Any:
        return Label(TagPayload(TAG_SIZE, value), Part("field", "tagged field", name))

    def field(self, field: VersionField, step: str = "") -> Any:
        """Return the schema of a field's value; `step` is its step in the path."""
        kind = field.type
        if isinstance(kind, Array):
            return Label(self.array(field, kind.element), Part("field", str(kind), step))
        if not (isinstance(kind, StructType) and field.nullable):
            return self.value(field, kind, step, nullable=field.nullable)
        marker_type, marker, null = _MARKER if field.tag is None else _TAGGED_MARKER
        marker = Label(marker, Part("marker", marker_type, name=field.name))
        value = nullable_value(marker, null, self.value(field, kind))
        return Label(value, Part("field", str(kind), step))

    def array(self, field: VersionField, element: str | StructType) -> Any:
        what = f"compact array of {element}" if field.compact else f"array of {element}"
        form, form_name = length_form("array", compact=field.compact)
        count = Announcement(
            form,
            what,
            nullable=field.nullable,
            unit=FIXED_SIZES.get(str(element), 1),
            noun="element",
        )
        part = Part("count", form_name, name=field.name)
        return with_length(count, Elements(c.this.length, self.value(field, element, INDEX)), part)

    def value(
        self, field: VersionField, kind: str | StructType, step: str = "", *, nullable: bool = False
    ) -> Any:
        """Return the schema of a field's value, or of an element of its array."""
        deeper = step == INDEX
        if isinstance(kind, StructType):
            struct = self.struct(kind.class_in(self.message))
            return Label(struct, Part("struct", kind.name, step, field.name, deeper))
        if kind in FIXED:
            return Label(FIXED[kind], Part("value", kind, step, field.name, deeper))
        raw = bytes_with_length(field.name, kind, compact=field.compact, nullable=nullable)
        labelled = Label(raw, Part("field", kind, step, field.name, deeper))
        return text(labelled) if kind == "string" else labelled
