"""From the pages of the guide to the texts of its files, by jinja2 templates that escape all.

Texts come from specs that nobody has looked at. They reach HTML escaped, without characters
that steer a terminal or turn the direction of the text, and never as part of an address:
those are made by `pages.unique_name`.
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
from kraftwire_generator.guide.pages import ERROR_CODES_PAGE, GuideSet, Page, Part, shared_versions
from kraftwire_generator.guide.search_index import search_index
from kraftwire_generator.guide.wire_forms import WireField
from kraftwire_generator.guide.wire_type import default_text
from kraftwire_generator.language.spec import FieldSpec
from kraftwire_generator.language.spec import MessageSpec
from kraftwire_generator.language.versions import VersionRange
from kraftwire_generator.printing import printable_lines

ASSETS = "assets"
MARKER = "Written by kraftwire docs; do not edit it, run that again."
_HERE = Path(__file__).parent
_UNITS = (("Ms", "milliseconds"), ("Nanos", "nanoseconds"), ("Bytes", "bytes"))
_WITH_UNITS = frozenset({"int16", "int32", "uint32", "int64"})

ENTITY_TYPES = {
    "brokerId": "the id of a broker or controller",
    "groupId": "the name of a group",
    "producerId": "the id of a producer",
    "topicName": "the name of a topic",
    "transactionalId": "the name that a producer gives its transactions",
}
"""What the values of fields with a known entity type are."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Parts of a page whose versions are chosen together.

    `targets` are the spans to choose from, newest first, each with the anchor to go to.
    `anchors` are those that have to be made: in which form (part, lowest version) which.
    """

    parts: tuple[Part, ...]
    targets: tuple[tuple[VersionRange, str], ...]
    anchors: Mapping[tuple[str, int], Sequence[str]]


def guide_files(sets: Sequence[GuideSet], title: str) -> Iterator[tuple[str, str]]:
    """Every file of the guide: its path below the directory, with slashes, and its text."""
    environment = _environment()
    environment.globals["guide_title"] = title
    environment.globals["marker"] = MARKER
    for name in ("guide.css", "guide.js"):
        text = (_HERE / "static" / name).read_text(encoding="utf-8")
        yield f"{ASSETS}/{name}", f"/* {MARKER} */\n{text}"
    yield f"{ASSETS}/search-index.js", f"/* {MARKER} */\n{search_index(sets)}"
    yield "index.html", _tidy(
        environment.get_template("index.html.jinja").render(root="", sets=sets)
    )
    yield "types.html", _tidy(
        environment.get_template("types.html.jinja").render(root="", entity_types=ENTITY_TYPES)
    )
    page_template = environment.get_template("page.html.jinja")
    codes_template = environment.get_template("error_codes.html.jinja")
    shipped = _shipped_pages(sets)
    for item in sets:
        if item.error_codes:
            yield f"{item.folder}/{ERROR_CODES_PAGE}", _tidy(
                codes_template.render(root="../", item=item)
            )
        for page in item.pages:
            text = page_template.render(
                root="../", item=item, page=page, choices=_choices(page), shipped=shipped
            )
            yield f"{item.folder}/{page.file}", _tidy(text)


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE / "templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=True,
        finalize=_visible,
    )
    environment.globals |= {
        "diagram": diagram,
        "frame_boxes": frame_boxes,
        "versions_text": versions_text,
        "notes": field_notes,
        "default_text": default_text,
        "field_versions": field_versions,
        "count_text": count_text,
        "holds_error_code": holds_error_code,
        "int16_hex": int16_hex,
        "ERROR_CODES_PAGE": ERROR_CODES_PAGE,
    }
    return environment


def _visible(value: object) -> object:
    """Texts without control characters; what a template has made is one already."""
    if not isinstance(value, str) or hasattr(value, "__html__") or value.isprintable():
        return value
    return printable_lines(value)


def _tidy(text: str) -> str:
    """Without the indentation and the empty lines of the templates."""
    return re.sub(r"\n\s*", "\n", text)


def versions_text(versions: VersionRange) -> str:
    """Versions with their noun."""
    if not versions:
        return "no version"
    return f"version{'s' if versions.lowest < versions.highest else ''} {versions}"


def field_versions(field: WireField, message: MessageSpec) -> str:
    """The versions that a field has of those of the message; empty where it has them all."""
    valid = message.valid_versions
    return "" if field.spec.versions.covers(valid) else str(field.spec.versions)


def field_notes(field: WireField, message: MessageSpec) -> list[str]:
    """What else there is to know of a field."""
    spec = field.spec
    notes: list[str] = []
    notes += _unit(spec)
    if spec.entity_type:
        meaning = ENTITY_TYPES.get(spec.entity_type)
        notes.append(f"{spec.entity_type}: {meaning}" if meaning else spec.entity_type)
    if spec.map_key:
        notes.append("part of the key: no two elements have the same")
    if spec.ignorable and not spec.versions.covers(message.valid_versions):
        notes.append("dropped where a version lacks it")
    return notes


def holds_error_code(spec: FieldSpec) -> bool:
    """Whether the name and the type of a field say that it holds an error code."""
    return spec.name.endswith("ErrorCode") and str(spec.type) == "int16"


def int16_hex(number: int) -> str:
    """The bytes of an int16."""
    return number.to_bytes(2, signed=True).hex(" ")


def _unit(spec: FieldSpec) -> list[str]:
    """The unit that the name says a number is in."""
    if str(spec.type) not in _WITH_UNITS:
        return []
    return [unit for suffix, unit in _UNITS if spec.name.endswith(suffix)]


def _choices(page: Page) -> list[Choice]:
    groups = [page.parts] if page.is_api else [(part,) for part in page.parts]
    return [_choice(parts) for parts in groups if any(part.forms for part in parts)]


def _choice(parts: tuple[Part, ...]) -> Choice:
    spans = shared_versions(parts)
    if len(parts) == 1:
        targets = tuple((span, f"{parts[0].anchor}-v{span.lowest}") for span in spans)
        return Choice(parts, targets, {})
    anchors: dict[tuple[str, int], list[str]] = {}
    for span in spans:
        part = next(part for part in parts if span.lowest in part.spec.valid_versions)
        place = bisect_right(part.forms, span.lowest, key=lambda form: form.versions.lowest) - 1
        form = part.anchor, part.forms[place].versions.lowest
        anchors.setdefault(form, []).append(f"v{span.lowest}")
    return Choice(parts, tuple((span, f"v{span.lowest}") for span in spans), anchors)


def _shipped_pages(sets: Sequence[GuideSet]) -> dict[str, str]:
    """The addresses of the messages of released sets, as seen from another page."""
    return {
        part.spec.name: f"../{item.folder}/{page.file}#{part.anchor}"
        for item in reversed(sets)
        if not item.spec_set.draft
        for page in item.pages
        for part in page.parts
    }
