"""Sorts the messages of spec sets into pages, and the pages into groups.

A page shows a request with its response, the key of a stored record with its value, or a single
message. Requests and responses are paired by name, keys and values by record id within their
module. A message with no partner, or several, gets its own page. Error
codes, if the set has them, get a page too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from kraftwire_generator.checks.spec_set import SpecSet
from kraftwire_generator.checks.structs import ResolvedMessage
from kraftwire_generator.guide.history import HistoryEntry, history
from kraftwire_generator.guide.wire_forms import WireForm, WireStruct, wire_forms, wire_struct
from kraftwire_generator.language.names import capitalize_first
from kraftwire_generator.language.spec import MessageSpec
from kraftwire_generator.language.versions import VersionRange
from kraftwire_generator.parser.draft_origin import DraftOrigin, read_origin
from kraftwire_generator.parser.error_codes import read_error_codes
from kraftwire_generator.parser.set_settings import ERROR_CODES_FILE

ERROR_CODES_PAGE = "error-codes.html"  # message names have no dash

_NOT_IN_FILES = re.compile(r"[^A-Za-z0-9_-]+")
_HEADER_NAMES = {"request": "RequestHeader", "response": "ResponseHeader"}
_ROLES = {"coordinator-key": "key", "coordinator-value": "value"}


@dataclass(frozen=True, slots=True)
class PagePart:
    """One message of a page; every id in its part starts with `anchor`.

    `headers` has the fields of the header versions that its forms use, by number, if the set has
    a message for the header. `origin` is None unless the message is a draft.
    """

    anchor: str
    spec: MessageSpec
    forms: tuple[WireForm, ...]
    history: tuple[HistoryEntry, ...]
    headers: dict[int, WireStruct]
    origin: DraftOrigin | None

    @property
    def flexible(self) -> VersionRange:
        """The valid versions that are flexible."""
        return self.spec.valid_versions.intersect(self.spec.flexible_versions)


@dataclass(frozen=True, slots=True)
class GuidePage:
    """One file of the guide; `number` is the API key or the record id.

    The parts of an API share one choice of the version.
    """

    name: str
    file: str
    kind: str
    number: int | None
    module: str
    parts: tuple[PagePart, ...]

    @property
    def is_api(self) -> bool:
        return self.kind == "API"

    @property
    def is_removed(self) -> bool:
        """Whether no version is valid any more."""
        return not any(part.forms for part in self.parts)

    def part(self, message_type: str) -> PagePart | None:
        return next((part for part in self.parts if part.spec.type == message_type), None)


@dataclass(frozen=True, slots=True)
class PageGroup:
    """Pages under one heading of the overview."""

    title: str
    anchor: str
    pages: tuple[GuidePage, ...]


@dataclass(frozen=True, slots=True)
class GuideSet:
    """One spec set: its folder in the guide, and its pages in groups.

    `error_codes` has number and name of each error code; it is empty if the set has none.
    """

    folder: str
    spec_set: SpecSet
    groups: tuple[PageGroup, ...]
    message_count: int
    error_codes: tuple[tuple[int, str], ...]

    @property
    def pages(self) -> Iterator[GuidePage]:
        for group in self.groups:
            yield from group.pages


def guide_set(spec_set: SpecSet, folder: str) -> GuideSet:
    """Return the pages of a set; raise `SpecError` if its error codes are bad."""
    has_codes = (spec_set.directory / ERROR_CODES_FILE).exists()
    taken: set[str] = set()
    headers = {
        message.spec.name: message
        for _, message in spec_set.messages
        if message.spec.type == "header"
    }
    groups: dict[str, list[GuidePage]] = {}
    for group, name, messages in _sorted(spec_set):
        is_draft = spec_set.settings.draft
        page = _page(name, messages, unique_name(name, taken), is_draft, headers)
        groups.setdefault(group, []).append(page)
    anchors: set[str] = set()
    return GuideSet(
        folder,
        spec_set,
        tuple(
            PageGroup(title, f"{folder}-{unique_name(title, anchors)}", tuple(pages))
            for title, pages in groups.items()
        ),
        len(spec_set.messages),
        tuple(read_error_codes(spec_set.directory)) if has_codes else (),
    )


def unique_name(text: str, taken: set[str]) -> str:
    """Return the text as a file name or anchor that is not in `taken`, and add it there.

    Names that differ only in case are the same file on some systems.
    """
    base = _NOT_IN_FILES.sub("-", text).strip("-")[:100] or "unnamed"
    name, number = base, 1
    while name.lower() in taken:
        number += 1
        name = f"{base}-{number}"
    taken.add(name.lower())
    return name


_Messages = tuple[tuple[str, ResolvedMessage], ...]


def _sorted(spec_set: SpecSet) -> list[tuple[str, str, _Messages]]:
    """Return group, name and messages of every page, in the order of the overview."""
    logs = {module: log for log, module in spec_set.settings.records.items()}
    found: list[tuple[tuple[int, str, int, str], str, str, _Messages]] = []
    for messages in _shared_pages(spec_set.messages):
        module, first = messages[0][0], messages[0][1].spec
        name = _page_name([message.spec for _, message in messages])
        place, group = _group(first, logs.get(module, module or spec_set.settings.title), module)
        key = 0 if first.api_key is None else first.api_key
        found.append(((place, group, key, name), group, name, messages))
    return [item[1:] for item in sorted(found, key=lambda item: item[0])]


def _group(spec: MessageSpec, log: str, module: str) -> tuple[int, str]:
    """Return the rank and the heading of the group that a message belongs to."""
    match spec.type:
        case "request" | "response":
            return (0, "APIs") if spec.valid_versions else (5, "Removed APIs")
        case "metadata" | "coordinator-key" | "coordinator-value":
            return 1, f"Records of the log {log}"
        case "header":
            return 2, "Headers"
        case "data":
            return 3, f"Other messages of {module}" if module else "Other messages"


def _shared_pages(messages: _Messages) -> Iterator[_Messages]:
    pages: dict[tuple[str, ...], list[tuple[str, ResolvedMessage]]] = {}
    for module, message in messages:
        pages.setdefault(_partners(module, message.spec), []).append((module, message))
    for shared in pages.values():
        types = [message.spec.type for _, message in shared]
        if len(set(types)) < len(types):  # only a draft has two messages of one kind
            yield from ((item,) for item in shared)
        else:
            order = ("request", "response", "coordinator-key", "coordinator-value")
            shared.sort(key=lambda item: order.index(item[1].spec.type) if len(shared) > 1 else 0)
            yield tuple(shared)


def _partners(module: str, spec: MessageSpec) -> tuple[str, ...]:
    match spec.type:
        case "request" | "response":
            return "API", module, _stem(spec), str(spec.api_key)
        case "coordinator-key" | "coordinator-value":
            return "record", module, str(spec.api_key)
        case _:
            return spec.type, module, spec.name


def _stem(spec: MessageSpec) -> str:
    """Return the name that the request and response of an API share."""
    name = capitalize_first(spec.name)
    return name.removesuffix(capitalize_first(spec.type)) or name


def _page_name(specs: list[MessageSpec]) -> str:
    first = specs[0]
    if first.type in ("request", "response"):
        return _stem(first)
    if len(specs) == 2 and first.name.removesuffix("Key") == specs[1].name.removesuffix("Value"):
        return f"{first.name.removesuffix('Key')} record"
    return first.name


def _page(
    name: str,
    messages: _Messages,
    file: str,
    is_draft: bool,
    headers: dict[str, ResolvedMessage],
) -> GuidePage:
    module, first = messages[0]
    kinds = {"request": "API", "response": "API", "header": "header", "data": "message"}
    return GuidePage(
        name=name,
        file=f"{file}.html",
        kind=kinds.get(first.spec.type, "record"),
        number=first.spec.api_key,
        module=module,
        parts=tuple(_part(message, is_draft, headers) for _, message in messages),
    )


def _part(
    message: ResolvedMessage, is_draft: bool, headers: dict[str, ResolvedMessage]
) -> PagePart:
    spec = message.spec
    forms = wire_forms(message)
    header = headers.get(_HEADER_NAMES.get(spec.type, ""))
    numbers = {form.header_version for form in forms if form.header_version is not None}
    return PagePart(
        anchor=_ROLES.get(spec.type, spec.type),
        spec=spec,
        forms=forms,
        history=history(spec, forms),
        headers={
            number: wire_struct(header, number)
            for number in sorted(numbers)
            if header is not None and number in header.spec.valid_versions
        },
        origin=read_origin(Path(spec.file))[0] if is_draft else None,
    )


def shared_versions(parts: Sequence[PagePart]) -> list[VersionRange]:
    """Return the versions of the parts, newest first, as spans in which no part changes."""
    forms = [form.versions for part in parts for form in part.forms]
    edges = sorted({edge for form in forms for edge in (form.lowest, form.highest + 1)})
    spans = [
        VersionRange(start, following - 1)
        for start, following in pairwise(edges)
        if any(start in part.spec.valid_versions for part in parts)
    ]
    return spans[::-1]
