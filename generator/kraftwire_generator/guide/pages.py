"""From spec sets to the pages of the guide: which messages share a page, and in which group.

A page holds a request with its response, or the key of a stored record with its value, or
one message. Requests and responses belong together by name, keys and values by record id
within their module; what has no partner, or more than one, has a page of its own. Error codes
have one of their own too, where the set names them.
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
from kraftwire_generator.guide.wire_forms import Form, WireStruct, wire_forms, wire_struct
from kraftwire_generator.language.names import capitalize_first
from kraftwire_generator.language.spec import MessageSpec
from kraftwire_generator.language.versions import VersionRange
from kraftwire_generator.parser.draft_origin import Origin, read_origin
from kraftwire_generator.parser.error_codes import read_error_codes
from kraftwire_generator.parser.set_settings import ERROR_CODES_FILE

ERROR_CODES_PAGE = "error-codes.html"
"""No message is called that: their names are letters and digits."""

_NOT_IN_FILES = re.compile(r"[^A-Za-z0-9_-]+")
_HEADER_NAMES = {"request": "RequestHeader", "response": "ResponseHeader"}
_ROLES = {"coordinator-key": "key", "coordinator-value": "value"}


@dataclass(frozen=True, slots=True)
class Part:
    """One message of a page; `anchor` starts the ids of everything that belongs to it.

    `headers` are the fields of the header versions that its forms have, by number, as far as
    the set has a message for them. `origin` is where a draft comes from.
    """

    anchor: str
    spec: MessageSpec
    forms: tuple[Form, ...]
    history: tuple[HistoryEntry, ...]
    headers: dict[int, WireStruct]
    origin: Origin | None

    @property
    def flexible(self) -> VersionRange:
        """The valid versions that are flexible."""
        return self.spec.valid_versions.intersect(self.spec.flexible_versions)


@dataclass(frozen=True, slots=True)
class Page:
    """One file of the guide; `number` is the API key or the record id.

    The parts of an API have their versions in common, so that one choice shows both.
    """

    name: str
    file: str
    kind: str
    number: int | None
    module: str
    parts: tuple[Part, ...]

    @property
    def is_api(self) -> bool:
        """True for requests and responses."""
        return self.kind == "API"

    @property
    def is_removed(self) -> bool:
        """True where no version is left."""
        return not any(part.forms for part in self.parts)

    def part(self, message_type: str) -> Part | None:
        """The part with a message of that type."""
        return next((part for part in self.parts if part.spec.type == message_type), None)


@dataclass(frozen=True, slots=True)
class Group:
    """Pages under one heading of the overview."""

    title: str
    anchor: str
    pages: tuple[Page, ...]


@dataclass(frozen=True, slots=True)
class GuideSet:
    """One spec set: the name of its folder, what `set.toml` says, and its pages in groups.

    `error_codes` are number and name, and empty where the set has no list of them.
    """

    folder: str
    spec_set: SpecSet
    groups: tuple[Group, ...]
    message_count: int
    error_codes: tuple[tuple[int, str], ...]

    @property
    def pages(self) -> Iterator[Page]:
        """Every page."""
        for group in self.groups:
            yield from group.pages


def guide_set(spec_set: SpecSet, folder: str) -> GuideSet:
    """The pages of a set; `SpecError` tells what is wrong with its error codes."""
    has_codes = (spec_set.directory / ERROR_CODES_FILE).exists()
    taken: set[str] = set()
    headers = {
        message.spec.name: message
        for _, message in spec_set.messages
        if message.spec.type == "header"
    }
    groups: dict[str, list[Page]] = {}
    for group, name, messages in _sorted(spec_set):
        page = _page(name, messages, unique_name(name, taken), spec_set.draft, headers)
        groups.setdefault(group, []).append(page)
    anchors: set[str] = set()
    return GuideSet(
        folder,
        spec_set,
        tuple(
            Group(title, f"{folder}-{unique_name(title, anchors)}", tuple(pages))
            for title, pages in groups.items()
        ),
        len(spec_set.messages),
        tuple(read_error_codes(spec_set.directory)) if has_codes else (),
    )


def unique_name(text: str, taken: set[str]) -> str:
    """The text as the name of a file or an anchor, unlike those in `taken`, which it joins.

    Names that differ in case alone are the same file on some systems.
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
    """Group, name and messages of every page, in the order of the overview."""
    logs = {module: log for log, module in spec_set.records.items()}
    found: list[tuple[tuple[int, str, int, str], str, str, _Messages]] = []
    for messages in _shared_pages(spec_set.messages):
        module, first = messages[0][0], messages[0][1].spec
        name = _page_name([message.spec for _, message in messages])
        place, group = _group(first, logs.get(module, module or spec_set.title), module)
        key = 0 if first.api_key is None else first.api_key
        found.append(((place, group, key, name), group, name, messages))
    return [item[1:] for item in sorted(found, key=lambda item: item[0])]


def _group(spec: MessageSpec, log: str, module: str) -> tuple[int, str]:
    """The heading that a message stands under, and the place of that heading."""
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
    """The messages page by page."""
    pages: dict[tuple[str, ...], list[tuple[str, ResolvedMessage]]] = {}
    for module, message in messages:
        pages.setdefault(_partners(module, message.spec), []).append((module, message))
    for shared in pages.values():
        types = [message.spec.type for _, message in shared]
        if len(set(types)) < len(types):  # only a draft says one thing twice
            yield from ((item,) for item in shared)
        else:
            order = ("request", "response", "coordinator-key", "coordinator-value")
            shared.sort(key=lambda item: order.index(item[1].spec.type) if len(shared) > 1 else 0)
            yield tuple(shared)


def _partners(module: str, spec: MessageSpec) -> tuple[str, ...]:
    """What the messages of one page have in common."""
    match spec.type:
        case "request" | "response":
            return "API", module, _stem(spec), str(spec.api_key)
        case "coordinator-key" | "coordinator-value":
            return "record", module, str(spec.api_key)
        case _:
            return spec.type, module, spec.name


def _stem(spec: MessageSpec) -> str:
    """The name of an API, of which requests and responses are named."""
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
) -> Page:
    module, first = messages[0]
    kinds = {"request": "API", "response": "API", "header": "header", "data": "message"}
    return Page(
        name=name,
        file=f"{file}.html",
        kind=kinds.get(first.spec.type, "record"),
        number=first.spec.api_key,
        module=module,
        parts=tuple(_part(message, is_draft, headers) for _, message in messages),
    )


def _part(message: ResolvedMessage, is_draft: bool, headers: dict[str, ResolvedMessage]) -> Part:
    spec = message.spec
    forms = wire_forms(message)
    header = headers.get(_HEADER_NAMES.get(spec.type, ""))
    numbers = {form.header_version for form in forms if form.header_version is not None}
    return Part(
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


def shared_versions(parts: Sequence[Part]) -> list[VersionRange]:
    """The versions of some parts, newest first, in spans in which none of them changes."""
    forms = [form.versions for part in parts for form in part.forms]
    edges = sorted({edge for form in forms for edge in (form.lowest, form.highest + 1)})
    spans = [
        VersionRange(start, following - 1)
        for start, following in pairwise(edges)
        if any(start in part.spec.valid_versions for part in parts)
    ]
    return spans[::-1]
