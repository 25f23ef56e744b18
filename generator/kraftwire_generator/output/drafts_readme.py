"""The README of a directory of spec sets: a table of every drafted message.

Everything in it is read from the sets: names and versions from the specs, where a message
comes from and what was corrected from the comments of its file (see spec_origin), and the
key and the versions of what Kafka shipped from the released set beside it. So the file
cannot say anything that the specs do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import jinja2

from kraftwire_generator.checks.spec_set import SpecSet, load_set
from kraftwire_generator.errors import Finding, SpecError
from kraftwire_generator.language.spec import MessageSpec
from kraftwire_generator.parser.draft_origin import Origin, read_origin

README = "README.md"
MARKER = "<!-- Written by `kraftwire specs table`; do not edit it, run that again. -->"

_TEMPLATE = "specs_readme.md.jinja"


@dataclass(frozen=True, slots=True)
class Row:
    """One drafted message, as the table shows it."""

    name: str
    file: str
    versions: str
    section: str
    remarks: tuple[str, ...]
    shipped: str


@dataclass(frozen=True, slots=True)
class Draft:
    """One draft set: its rows under the documents that they come from."""

    name: str
    title: str
    base: str
    count: int
    documents: Mapping[str, tuple[Row, ...]]


@dataclass(frozen=True, slots=True)
class Released:
    """One released set, which the README only counts."""

    name: str
    title: str
    count: int


def is_table(text: str) -> bool:
    """True for a README that kraftwire has written, and may replace."""
    return text.startswith(MARKER)


def specs_table(directory: Path) -> str:
    """The text of the directory's README; `SpecError` carries all that is wrong."""
    sets = _load_sets(directory)
    released = [item for item in sets if not item.draft]
    shipped = {message.spec.name: message.spec for item in released for _, message in item.messages}
    findings: list[Finding] = []
    drafts = [_draft(item, shipped, findings) for item in sets if item.draft]
    if findings:
        raise SpecError(findings)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - the output is Markdown; `_cell` escapes what enters it
    )
    return environment.get_template(_TEMPLATE).render(
        marker=MARKER,
        released=[Released(_name(item), item.title, _count(item)) for item in released],
        shipped_title=released[0].title if released else "Kafka",
        drafts=drafts,
    )


def _load_sets(directory: Path) -> list[SpecSet]:
    """The sets in the sub-directories, in the order of their names."""
    sets: list[SpecSet] = []
    errors: list[Finding] = []
    for child in sorted(path for path in directory.glob("*") if path.is_dir()):
        spec_set, findings = load_set(child)
        errors += [finding for finding in findings if finding.severity == "error"]
        if spec_set is not None:
            sets.append(spec_set)
    if not sets and not errors:
        problem = "has no spec sets; name a directory with directories of specs in it"
        errors.append(Finding(directory.as_posix(), 1, "", problem))
    if errors:
        raise SpecError(errors)
    return sets


def _name(spec_set: SpecSet) -> str:
    return spec_set.directory.resolve().name


def _count(spec_set: SpecSet) -> int:
    """How many messages become classes; a message without versions does not."""
    return sum(1 for _, message in spec_set.messages if message.spec.valid_versions)


def _draft(spec_set: SpecSet, shipped: Mapping[str, MessageSpec], findings: list[Finding]) -> Draft:
    documents: dict[str, list[Row]] = {}
    for _, message in spec_set.messages:
        origin, problems = read_origin(Path(message.spec.file))
        findings += problems
        if origin is not None:
            findings += _contradictions(message.spec, origin, spec_set, shipped)
            rows = documents.setdefault(origin.document, [])
            rows.append(_row(message.spec, origin, spec_set.directory.parent, shipped))
    return Draft(
        name=_name(spec_set),
        title=spec_set.title,
        base=spec_set.base_release or "",
        count=_count(spec_set),
        documents={name: tuple(documents[name]) for name in sorted(documents)},
    )


def _contradictions(
    spec: MessageSpec, origin: Origin, spec_set: SpecSet, shipped: Mapping[str, MessageSpec]
) -> Iterable[Finding]:
    """Where the comments of a spec differ from its set, or from the released set."""
    if origin.base != spec_set.base_release:
        problem = f"base {origin.base} is not the set's base_release, {spec_set.base_release}"
        yield Finding(spec.file, 1, "", problem)
    if origin.shipped_name is not None and origin.shipped_name not in shipped:
        problem = f"no released set here has {origin.shipped_name}; write what Kafka shipped"
        yield Finding(spec.file, 1, "", problem)


def _row(spec: MessageSpec, origin: Origin, root: Path, shipped: Mapping[str, MessageSpec]) -> Row:
    remarks = [f"from {origin.base}: {text}" for text in origin.from_base]
    return Row(
        name=spec.name,
        file=Path(spec.file).relative_to(root).as_posix(),
        versions=str(spec.valid_versions),
        section=_cell(origin.section),
        remarks=tuple(_cell(text) for text in (*remarks, *origin.corrected)),
        shipped=_cell(_shipped(origin, shipped)),
    )


def _shipped(origin: Origin, shipped: Mapping[str, MessageSpec]) -> str:
    """What Kafka shipped, with the key and the versions that the released set says."""
    spec = shipped.get(origin.shipped_name or "")
    if spec is None:
        return f"nothing: {origin.shipped}"
    key = "" if spec.api_key is None else f" ({spec.api_key})"
    return f"{spec.name}{key} {spec.valid_versions}: {origin.shipped}"


def _cell(text: str) -> str:
    """Text as a cell of a Markdown table shows it."""
    return "".join(f"\\{char}" if char in "\\|[]<>*_`" else char for char in text)
