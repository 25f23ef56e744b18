"""Renders the pages of the guide with jinja2 templates that escape every string.

Strings come from untrusted specs. In HTML they are escaped, including control characters and those
that change the text direction. Addresses contain only names from `pages.unique_name`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2

from kraftwire_generator.console import count_text
from kraftwire_generator.guide.diagram import diagram, frame_boxes
from kraftwire_generator.guide.pages import (
    ERROR_CODES_PAGE,
    GuidePage,
    GuideSet,
    PagePart,
    shared_versions,
)
from kraftwire_generator.guide.search_index import search_index
from kraftwire_generator.guide.wire_forms import WireField
from kraftwire_generator.guide.wire_type import field_default
from kraftwire_generator.language.spec import FieldSpec, MessageSpec
from kraftwire_generator.language.versions import VersionRange
from kraftwire_generator.output.environment import template_environment
from kraftwire_generator.printing import printable_lines

ASSETS = "assets"
MARKER = "Written by kraftwire docs; do not edit it, run that again."
_HERE = Path(__file__).parent

# The meaning of the values of fields with a known entity type.
ENTITY_TYPES = {
    "brokerId": "the id of a broker or controller",
    "groupId": "the name of a group",
    "producerId": "the id of a producer",
    "topicName": "the name of a topic",
    "transactionalId": "the name that a producer gives its transactions",
}


@dataclass(frozen=True, slots=True)
class VersionChoice:
    """Parts of a page whose versions are chosen together.

    `targets` has the spans to choose from, newest first, each with its anchor. `anchors` has the
    additional anchors of each form, by the form's part and lowest version.
    """

    parts: tuple[PagePart, ...]
    targets: tuple[tuple[VersionRange, str], ...]
    anchors: Mapping[tuple[str, int], Sequence[str]]


def guide_files(sets: Sequence[GuideSet], title: str) -> Iterator[tuple[str, str]]:
    """Yield path (with slashes) and text of every file of the guide."""
    environment = _environment(title)

    def render(name: str, **values: object) -> str:
        text = environment.get_template(f"{name}.html.jinja").render(values)
        return re.sub(r"\n\s*", "\n", text)  # without indentation and empty lines

    for name in ("guide.css", "guide.js"):
        text = (_HERE / "static" / name).read_text(encoding="utf-8")
        yield f"{ASSETS}/{name}", f"/* {MARKER} */\n{text}"
    yield f"{ASSETS}/search-index.js", f"/* {MARKER} */\n{search_index(sets)}"
    yield "index.html", render("index", root="", sets=sets)
    yield "types.html", render("types", root="", entity_types=ENTITY_TYPES)
    shipped = _shipped_pages(sets)
    for item in sets:
        here = {"root": "../", "item": item}
        if item.error_codes:
            yield f"{item.folder}/{ERROR_CODES_PAGE}", render("error_codes", **here)
        for page in item.pages:
            text = render("page", **here, page=page, choices=_choices(page), shipped=shipped)
            yield f"{item.folder}/{page.file}", text


def _environment(title: str) -> jinja2.Environment:
    environment = template_environment(_HERE / "templates", autoescape=True, finalize=_visible)
    environment.globals |= {
        "guide_title": title,
        "marker": MARKER,
        "diagram": diagram,
        "frame_boxes": frame_boxes,
        "notes": field_notes,
        "default_text": field_default,
        "field_versions": field_versions,
        "count_text": count_text,
        "holds_error_code": holds_error_code,
        "int16_hex": int16_hex,
        "ERROR_CODES_PAGE": ERROR_CODES_PAGE,
    }
    return environment


def _visible(value: object) -> object:
    """Escape unprintable characters, except in the output of a template, which has none."""
    if not isinstance(value, str) or hasattr(value, "__html__") or value.isprintable():
        return value
    return printable_lines(value)


def field_versions(field: WireField, message: MessageSpec) -> str:
    """Return the versions of a field, or "" if they cover those of the message."""
    valid = message.valid_versions
    return "" if field.spec.versions.covers(valid) else str(field.spec.versions)


def field_notes(field: WireField, message: MessageSpec) -> list[str]:
    """Return notes about the values of a field."""
    spec = field.spec
    notes = [spec.unit] if spec.unit else []
    if spec.entity_type:
        meaning = ENTITY_TYPES.get(spec.entity_type)
        notes.append(f"{spec.entity_type}: {meaning}" if meaning else spec.entity_type)
    if spec.map_key:
        notes.append("part of the key, which is unique among the elements")
    if spec.ignorable and not spec.versions.covers(message.valid_versions):
        notes.append("dropped in versions that lack it")
    return notes


def holds_error_code(spec: FieldSpec) -> bool:
    """Whether a field holds an error code, by its name and type."""
    return spec.name.endswith("ErrorCode") and str(spec.type) == "int16"


def int16_hex(number: int) -> str:
    """Return the bytes of an int16 in hexadecimal."""
    return number.to_bytes(2, signed=True).hex(" ")


def _choices(page: GuidePage) -> list[VersionChoice]:
    groups = [page.parts] if page.is_api else [(part,) for part in page.parts]
    return [_choice(parts) for parts in groups if any(part.forms for part in parts)]


def _choice(parts: tuple[PagePart, ...]) -> VersionChoice:
    spans = shared_versions(parts)
    if len(parts) == 1:
        targets = tuple((span, f"{parts[0].anchor}-v{span.lowest}") for span in spans)
        return VersionChoice(parts, targets, {})
    anchors: dict[tuple[str, int], list[str]] = {}
    for span in spans:
        part = next(part for part in parts if span.lowest in part.spec.valid_versions)
        place = bisect_right(part.forms, span.lowest, key=lambda form: form.versions.lowest) - 1
        form = part.anchor, part.forms[place].versions.lowest
        anchors.setdefault(form, []).append(f"v{span.lowest}")
    return VersionChoice(parts, tuple((span, f"v{span.lowest}") for span in spans), anchors)


def _shipped_pages(sets: Sequence[GuideSet]) -> dict[str, str]:
    return {
        part.spec.name: f"../{item.folder}/{page.file}#{part.anchor}"
        for item in reversed(sets)
        if not item.spec_set.settings.draft
        for page in item.pages
        for part in page.parts
    }
