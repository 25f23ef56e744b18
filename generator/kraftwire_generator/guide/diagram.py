"""Turns a form into a wire diagram: nested boxes, as a flat list of marks for a template.

The list is flat because specs may be nested more deeply than templates can recurse.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from kraftwire_generator.guide.pages import PagePart
from kraftwire_generator.guide.wire_forms import WireField, WireForm, WireStruct

DiagramMarkKind = Literal[
    "field", "struct", "struct end", "boxes", "boxes end", "no bytes", "no tags", "tags",
    "tags end", "tag", "tag end",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class DiagramMark:
    """A box, or the start or end of a box that contains others; a box shows `field`."""

    kind: DiagramMarkKind
    field: WireField | None = None


@dataclass(frozen=True, slots=True)
class FrameBox:
    """Something before a message on the wire: a field of the frame, or a whole header."""

    name: str
    size: str
    bytes_fixed: int = 0
    body: WireStruct | None = None


def diagram(body: WireStruct) -> Iterator[DiagramMark]:
    """Yield the marks of a struct and of all fields in it, at any depth."""
    waiting: list[DiagramMark | WireField | WireStruct] = [body]
    while waiting:
        match waiting.pop():
            case DiagramMark() as mark:
                yield mark
            case WireField(body=None) as field:
                yield DiagramMark("field", field)
            case WireField(body=WireStruct() as inner) as field:
                yield DiagramMark("struct", field)
                waiting += [DiagramMark("struct end"), inner]
            case WireStruct() as struct:
                yield DiagramMark("boxes")
                waiting += [DiagramMark("boxes end"), *reversed(_inside(struct))]


def _inside(struct: WireStruct) -> list[DiagramMark | WireField | WireStruct]:
    if not struct.has_tag_section:
        return [*struct.fields] if struct.fields else [DiagramMark("no bytes")]
    if not struct.tagged:
        return [*struct.fields, DiagramMark("no tags")]
    tagged = [
        item
        for field in struct.tagged
        for item in (DiagramMark("tag", field), field, DiagramMark("tag end"))
    ]
    return [*struct.fields, DiagramMark("tags"), *tagged, DiagramMark("tags end")]


def frame_boxes(part: PagePart, form: WireForm) -> list[FrameBox]:
    """Return the bytes before a message, on the wire or in a stored record, as boxes."""
    match part.spec.type:
        case "request" | "response":
            name = f"{part.spec.type.capitalize()} header {form.header_version}"
            body = part.headers.get(form.header_version or 0)
            return [FrameBox("Size", "int32, 4 bytes", 4), FrameBox(name, "", body=body)]
        case "metadata":
            names = ("Frame version, 1", f"Record id, {part.spec.api_key}", "Version")
            return [FrameBox(name, "uvarint") for name in names]
        case "coordinator-key":
            return [FrameBox(f"Record id, {part.spec.api_key}", "int16, 2 bytes", 2)]
        case "coordinator-value":
            return [FrameBox("Version", "int16, 2 bytes", 2)]
        case "header" | "data":
            return []
