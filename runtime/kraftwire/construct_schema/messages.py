"""The schemas of messages, put together out of `LAYOUT`."""

from __future__ import annotations

from typing import Any

import construct as c  # type: ignore[import-untyped]

from kraftwire.construct_schema.containers import check_version
from kraftwire.construct_schema.lengths import (
    Announced,
    bytes_with_length,
    length_form,
    length_type,
    nullable_value,
    text,
    with_length,
)
from kraftwire.construct_schema.parts import INDEX, Elements, Labelled, Part
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
from kraftwire_wire.layout import Field, Layout
from kraftwire_wire.message import Message, Struct

_MARKER = ("int8", c.Int8sb, -1)
_TAGGED_MARKER = ("unsigned varint", TAGGED_MARKER, 0)

_schemas: dict[tuple[type[Message], int], Any] = {}
_bodies: dict[tuple[type[Message], int], Any] = {}


def schema(message: type[Message], version: int) -> Any:
    """The construct that parses and builds all bytes of a message in a version."""
    if (message, version) not in _schemas:
        body = body_schema(message, version)
        _schemas[message, version] = c.FocusedSeq("message", "message" / body, c.Terminated)
    return _schemas[message, version]


def body_schema(message: type[Message], version: int) -> Any:
    """The same, without a look at what follows the message."""
    if (message, version) not in _bodies:
        check_version(message, version)
        _bodies[message, version] = MessageSchema(message, version).struct(message)
    return _bodies[message, version]


class MessageSchema:
    """Builds the constructs of one message in one version."""

    def __init__(self, message: type[Message], version: int) -> None:
        self.message = message
        self.version = version

    def struct(self, struct_type: type[Struct]) -> Any:
        """A struct: its untagged fields, and in flexible versions its tag section."""
        layout = struct_type.LAYOUT
        members = [
            field.name / self.field(field, layout, step=field.name)
            for field in layout.fields
            if self.version in field.versions and self.version not in field.tagged
        ]
        if self.version not in layout.flexible:
            return c.ExprAdapter(c.Struct(*members), without_stream, lambda flat, _: flat)
        section = TAG_SECTION / self.tag_section(layout)
        names = {field.tag: field.name for field in layout.fields if self.version in field.tagged}
        return with_flat_tags(c.Struct(*members, section), names)

    def tag_section(self, layout: Layout) -> Any:
        """The count, and for each tag its number, its size and its payload."""
        known = {field.tag: field for field in layout.fields if field.tag is not None}
        payloads = {tag: self.known_tag(field, layout) for tag, field in known.items()}
        number = Labelled(TagNumber(UVARINT), Part("tag", "unsigned varint", "tag"))
        entry = c.Struct(
            "start" / c.Tell,
            "tag" / number,
            "payload" / c.Switch(c.this.tag, payloads, default=UNKNOWN_TAG),
        )
        count = Announced(UVARINT, "tag section", unit=2, noun="tag")
        return c.FocusedSeq(
            "items",
            "count"
            / Labelled(
                c.Rebuild(count, c.len_(c.this.items)),
                Part("count", "unsigned varint", "tags", "tags"),
            ),
            "items" / c.Array(c.this.count, Labelled(entry, Part("field", "tag", deeper=True))),
        )

    def known_tag(self, field: Field, layout: Layout) -> Any:
        """The size and the value; a known tag in a version that lacks it is an error."""
        if self.version in field.tagged:
            value = self.field(field, layout, step="")
        else:
            value = RefusedTag(f"tag sent in version {self.version}, which does not have it")
        return Labelled(TagPayload(TAG_SIZE, value), Part("field", "tagged field", field.name))

    def field(self, field: Field, layout: Layout, step: str) -> Any:
        """A field's value in this version, tagged or not; `step` is its part of the path."""
        compact = self.version in layout.flexible
        nullable = self.version in field.nullable
        if field.is_array:
            return Labelled(self.array(field, compact=compact), Part("field", field.type, step))
        if field.is_struct and nullable:
            tagged = self.version in field.tagged
            kind, marker, null = _TAGGED_MARKER if tagged else _MARKER
            marker = Labelled(marker, Part("marker", kind, name=field.name))
            value = nullable_value(marker, 1, null, self.element(field, compact=compact))
            return Labelled(value, Part("field", field.type, step))
        if field.flexible is not None:
            compact = compact and self.version in field.flexible
        return self.element(field, compact=compact, nullable=nullable, step=step)

    def array(self, field: Field, *, compact: bool) -> Any:
        """The count and the elements."""
        name = field.element_type
        what = f"compact array of {name}" if compact else f"array of {name}"
        count = Announced(
            length_form("array", compact=compact),
            what,
            nullable=self.version in field.nullable,
            unit=FIXED_SIZES.get(name, 1),
            noun="element",
        )
        part = Part("count", length_type("array", compact=compact), name=field.name)
        element = self.element(field, compact=compact, step=INDEX)
        return with_length(count, Elements(c.this.length, element), part)

    def element(
        self, field: Field, *, compact: bool, nullable: bool = False, step: str = ""
    ) -> Any:
        """A value of the field's type without `[]`."""
        name = field.element_type
        deeper = step == INDEX
        if field.is_struct:
            struct = self.struct(getattr(self.message, name))
            return Labelled(struct, Part("struct", name, step, field.name, deeper))
        if name in FIXED:
            return Labelled(FIXED[name], Part("value", name, step, field.name, deeper))
        raw = bytes_with_length(field.name, name, compact=compact, nullable=nullable)
        labelled = Labelled(raw, Part("field", name, step, field.name, deeper))
        return text(labelled) if name == "string" else labelled
