"""Reads the comments at the top of a draft: which document the message comes from.

    // KIP-856, section Vote, Response; base 3.4
    // from base 3.4: every field; what is new
    // corrected: what the document has; what the spec has
    // shipped: VoteResponse; how Kafka's message differs

The first line names the document, its section, and the release that the draft builds on.
`from base` names what the document omits. There is one `corrected` per correction. `shipped` names
Kafka's message, or is `nothing`. A line that is indented further continues the line above. The
first line and `shipped` are required; no other comments may precede the first brace.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kraftwire_generator.errors import Finding

_SOURCE = re.compile(r"(?P<document>[^,;]+), section (?P<section>[^;]+); base (?P<base>[0-9.]+)")
_ENTRY = re.compile(r"(?P<kind>from base|corrected|shipped)(?: (?P<base>[0-9.]+))?: (?P<text>.+)")
_NOTHING = "nothing"
_FORMS = "the forms are: from base 3.4: ..., corrected: ..., shipped: ..."


@dataclass(frozen=True, slots=True)
class DraftOrigin:
    """The comments of a draft; `shipped_name` is None if Kafka shipped nothing."""

    document: str
    section: str
    base: str
    from_base: tuple[str, ...]
    corrected: tuple[str, ...]
    shipped_name: str | None
    shipped: str


def read_origin(file: Path) -> tuple[DraftOrigin | None, list[Finding]]:
    """Return the origin in the comments of a spec file, or the problems of the comments."""
    comments = list(_comments(file.read_text(encoding="utf-8")))
    source = _SOURCE.fullmatch(comments[0][1]) if comments else None
    if source is None:
        problem = "a draft starts with a line such as // KIP-856, section Vote; base 3.4"
        return None, [Finding(file.as_posix(), 1, "", problem)]
    findings: list[Finding] = []
    texts: dict[str, list[str]] = {"from base": [], "corrected": [], "shipped": []}
    for line, text in comments[1:]:
        entry = _ENTRY.fullmatch(text)
        expected = source["base"] if text.startswith("from base") else None
        if entry is None or entry["base"] != expected:
            problem = f"this comment has no known form; {_FORMS}"
            findings.append(Finding(file.as_posix(), line, "", problem))
        else:
            texts[entry["kind"]].append(entry["text"])
    if len(texts["shipped"]) != 1:
        problem = "a draft says once what Kafka shipped; write // shipped: Name; ..., or nothing"
        findings.append(Finding(file.as_posix(), 1, "", problem))
    if findings:
        return None, findings
    name, _, shipped = texts["shipped"][0].partition("; ")
    origin = DraftOrigin(
        document=source["document"],
        section=source["section"],
        base=source["base"],
        from_base=tuple(texts["from base"]),
        corrected=tuple(texts["corrected"]),
        shipped_name=None if name == _NOTHING else name,
        shipped=shipped,
    )
    return origin, []


def _comments(text: str) -> Iterator[tuple[int, str]]:
    """Yield the comments before the first brace with their line numbers, continuations joined."""
    whole, start = "", 0
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.startswith("//"):
            break
        if whole and line.startswith("//  "):
            whole += f" {line[2:].strip()}"
            continue
        if whole:
            yield start, whole
        whole, start = line[2:].strip(), number
    if whole:
        yield start, whole
