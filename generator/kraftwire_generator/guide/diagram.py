"""The wire diagram of a form: boxes within boxes, as a flat list of marks that a template prints.

Flat, since specs may nest deeper than templates can call themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from kraftwire_generator.guide.pages import Part
from kraftwire_generator.guide.wire_forms import Form, WireField, WireStruct

MarkKind = Literal[
    "field", "struct", "struct end", "boxes", "boxes end", "no bytes", "no tags", "tags",
    "tags end", "tag", "tag end",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mark:
    """A box, or where one with others in it begins or ends; `field` is what a box shows."""

    kind: MarkKind
    field: WireField | None = None


@dataclass(frozen=True, slots=True)
class FrameBox:
    """What stands before a message on the wire: a field of the frame, or a whole header."""

    name: str
    size: str
    bytes_fixed: int = 0
    body: WireStruct | None = None


def diagram(body: WireStruct) -> Iterator[Mark]:
    """The marks of a struct and of all within it."""
    waiting: list[Mark | WireField | WireStruct] = [body]
    while waiting:
        match waiting.pop():
            case Mark() as mark:
                yield mark
            case WireField(body=None) as field:
                yield Mark("field", field)
            case WireField(body=WireStruct() as inner) as field:
                yield Mark("struct", field)
                waiting += [Mark("struct end"), inner]
            case WireStruct() as struct:
                yield Mark("boxes")
                waiting += [Mark("boxes end"), *reversed(_inside(struct))]


def _inside(struct: WireStruct) -> list[Mark | WireField | WireStruct]:
    if not struct.has_tag_section:
        return [*struct.fields] if struct.fields else [Mark("no bytes")]
    if not struct.tagged:
        return [*struct.fields, Mark("no tags")]
    tagged = [
        item for field in struct.tagged for item in (Mark("tag", field), field, Mark("tag end"))
    ]
    return [*struct.fields, Mark("tags"), *tagged, Mark("tags end")]


def frame_boxes(part: Part, form: Form) -> list[FrameBox]:
    """What comes before a message on the wire, or in the key or value of a stored record."""
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
