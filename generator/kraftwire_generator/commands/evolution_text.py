"""Formats the findings of `evolve` as lines of text, JSON or Markdown.

Messages whose wire format breaks come first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from kraftwire_generator.commands.comparison_output import escaped, left_out_notes, markdown_title
from kraftwire_generator.comparison.evolution_report import EvolutionFinding
from kraftwire_generator.comparison.sides import ComparedSide
from kraftwire_generator.console import count_text, shown_path

Findings = Sequence[EvolutionFinding]


def json_row(finding: EvolutionFinding) -> dict[str, object]:
    """Return a finding as the object of a JSON line."""
    return {
        "message": finding.message,
        "path": finding.path,
        "rule": finding.rule,
        "severity": finding.severity,
        "first_version": finding.first_version,
        "versions": finding.versions_text,
        "file": finding.file,
        "line": finding.line,
        "text": finding.text,
    }


def text_lines(findings: Findings) -> Iterator[str]:
    """Yield the verdict and the findings of every message."""
    for verdict, group in _messages(findings):
        yield verdict
        for item in group:
            noun = "version" if item.versions_text.isdigit() else "versions"
            yield f"  {item.severity}: {f'{item.path}: ' if item.path else ''}{item.text}"
            yield f"    {noun} {item.versions_text}; {_place(item)}"
        yield ""


def markdown_lines(
    old: ComparedSide, new: ComparedSide, findings: Findings, shown: Findings
) -> Iterator[str]:
    """Yield the lines of a document: the two sides, the verdict, and a table per message."""
    yield from (markdown_title(old, new), "", f"{verdict_text(findings)}.")
    for verdict, group in _messages(shown):
        yield from ("", f"## {escaped(verdict)}", "")
        yield from ("| severity | where | versions | what | place |", "|---|---|---|---|---|")
        for item in group:
            what = item.path or "(message)"
            cells = (item.severity, what, item.versions_text, item.text, _place(item))
            yield f"| {' | '.join(map(escaped, cells))} |"


def summary_lines(
    old: ComparedSide, new: ComparedSide, findings: Findings, left_out: list[str]
) -> Iterator[str]:
    """Yield the two sides, the modules left out, and the verdict."""
    for side, word in ((old, "old"), (new, "new")):
        title = f"{side.title}, " if side.title else ""
        yield f"{word}: {side.name} ({title}{count_text(len(side.messages), 'message')})"
    yield from left_out_notes(left_out)
    yield verdict_text(findings)


def verdict_text(findings: Findings) -> str:
    """Return whether the wire format breaks, and the counts."""
    errors = [item for item in findings if item.severity == "error"]
    warnings = count_text(len(findings) - len(errors), "warning")
    if not errors:
        return f"the wire holds: {warnings}"
    broken = count_text(len({item.message for item in errors}), "message")
    return f"the wire breaks in {broken}: {count_text(len(errors), 'error')}, {warnings}"


def _messages(findings: Findings) -> Iterator[tuple[str, Findings]]:
    """Yield the verdict and the findings of each message, broken messages first."""
    by_message = [list(group) for _, group in groupby(findings, lambda item: item.message)]
    for group in sorted(by_message, key=lambda group: _first_break(group) is None):
        first = _first_break(group)
        verdict = "the wire holds" if first is None else f"breaks from version {first}"
        yield f"{group[0].message}: {verdict}", group


def _first_break(findings: Findings) -> int | None:
    return min((item.first_version for item in findings if item.severity == "error"), default=None)


def _place(finding: EvolutionFinding) -> str:
    return f"{shown_path(Path(finding.file))}:{finding.line}"
