"""Renders the README of a directory of spec sets: a table of every drafted message.

All of it comes from the sets: names and versions from the specs, origins and corrections from the
comments of the drafts (`draft_origin`), key and versions of Kafka's message from the released set
beside the draft.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from kraftwire_generator.checks.spec_set import SpecSet, load_set
from kraftwire_generator.errors import Finding, SpecError, raise_errors
from kraftwire_generator.language.spec import MessageSpec
from kraftwire_generator.output.environment import TEMPLATES, template_environment
from kraftwire_generator.parser.draft_origin import DraftOrigin, read_origin

README = "README.md"
MARKER = "<!-- Written by `kraftwire specs table`; do not edit it, run that again. -->"

_TEMPLATE = "specs_readme.md.jinja"


@dataclass(frozen=True, slots=True)
class DraftMessage:
    """One drafted message: a row of the table."""

    name: str
    file: str
    versions: str
    section: str
    remarks: tuple[str, ...]
    shipped: str


@dataclass(frozen=True, slots=True)
class DraftSet:
    """One draft set: its messages by the document that defines them."""

    name: str
    title: str
    base: str
    count: int
    documents: Mapping[str, tuple[DraftMessage, ...]]


def specs_table(directory: Path) -> str:
    """Return the text of the directory's README; raise `SpecError` with all problems."""
    sets = _load_sets(directory)
    released = [item for item in sets if not item.settings.draft]
    shipped = {message.spec.name: message.spec for item in released for _, message in item.messages}
    findings: list[Finding] = []
    drafts = [_draft(item, shipped, findings) for item in sets if item.settings.draft]
    raise_errors(findings)
    # The output is Markdown, not HTML; `_cell` escapes its strings.
    environment = template_environment(TEMPLATES, autoescape=False)
    return environment.get_template(_TEMPLATE).render(
        marker=MARKER,
        released=[(_name(item), item.settings.title, _count(item)) for item in released],
        shipped_title=released[0].settings.title if released else "Kafka",
        drafts=drafts,
    )


def _load_sets(directory: Path) -> list[SpecSet]:
    loaded = [load_set(child) for child in sorted(directory.glob("*")) if child.is_dir()]
    raise_errors(finding for _, findings in loaded for finding in findings)
    if not loaded:
        problem = "has no spec sets; name a directory with directories of specs in it"
        raise SpecError([Finding(directory.as_posix(), 1, "", problem)])
    return [spec_set for spec_set, _ in loaded if spec_set is not None]


def _name(spec_set: SpecSet) -> str:
    return spec_set.directory.resolve().name


def _count(spec_set: SpecSet) -> int:
    """Return the number of messages that become classes; messages without versions do not."""
    return sum(1 for _, message in spec_set.messages if message.spec.valid_versions)


def _draft(
    spec_set: SpecSet, shipped: Mapping[str, MessageSpec], findings: list[Finding]
) -> DraftSet:
    documents: dict[str, list[DraftMessage]] = {}
    for _, message in spec_set.messages:
        origin, problems = read_origin(Path(message.spec.file))
        findings += problems
        if origin is not None:
            findings += _contradictions(message.spec, origin, spec_set, shipped)
            rows = documents.setdefault(origin.document, [])
            rows.append(_row(message.spec, origin, spec_set.directory.parent, shipped))
    return DraftSet(
        name=_name(spec_set),
        title=spec_set.settings.title,
        base=spec_set.settings.base_release or "",
        count=_count(spec_set),
        documents={name: tuple(documents[name]) for name in sorted(documents)},
    )


def _contradictions(
    spec: MessageSpec, origin: DraftOrigin, spec_set: SpecSet, shipped: Mapping[str, MessageSpec]
) -> Iterable[Finding]:
    base = spec_set.settings.base_release
    if origin.base != base:
        problem = f"base {origin.base} is not the set's base_release, {base}"
        yield Finding(spec.file, 1, "", problem)
    if origin.shipped_name is not None and origin.shipped_name not in shipped:
        problem = f"no released set here has {origin.shipped_name}; write what Kafka shipped"
        yield Finding(spec.file, 1, "", problem)


def _row(
    spec: MessageSpec, origin: DraftOrigin, root: Path, shipped: Mapping[str, MessageSpec]
) -> DraftMessage:
    remarks = [f"from {origin.base}: {text}" for text in origin.from_base]
    return DraftMessage(
        name=spec.name,
        file=Path(spec.file).relative_to(root).as_posix(),
        versions=str(spec.valid_versions),
        section=_cell(origin.section),
        remarks=tuple(_cell(text) for text in (*remarks, *origin.corrected)),
        shipped=_cell(_shipped(origin, shipped)),
    )


def _shipped(origin: DraftOrigin, shipped: Mapping[str, MessageSpec]) -> str:
    """Return what Kafka shipped, with key and versions from the released set."""
    spec = shipped.get(origin.shipped_name or "")
    if spec is None:
        return f"nothing: {origin.shipped}"
    key = "" if spec.api_key is None else f" ({spec.api_key})"
    return f"{spec.name}{key} {spec.valid_versions}: {origin.shipped}"


def _cell(text: str) -> str:
    return "".join(f"\\{char}" if char in "\\|[]<>*_`" else char for char in text)
