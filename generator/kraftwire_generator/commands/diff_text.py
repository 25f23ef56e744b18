"""Formats the differences of two sides as lines of text, JSON or Markdown.

Names and defaults come from untrusted files. This module escapes them for Markdown; the command
escapes control characters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from kraftwire_generator.commands.comparison_output import escaped, markdown_title
from kraftwire_generator.comparison.sides import ComparedSide
from kraftwire_generator.comparison.spec_diff import SpecDifference
from kraftwire_generator.console import count_text
from kraftwire_generator.printing import printable

_ERROR_CODES = "error codes"

DifferenceRow = tuple[str, str, str]


def json_rows(changes: Sequence[SpecDifference]) -> Iterator[dict[str, object]]:
    """Yield an object per difference, without the keys that have no value."""
    for change in changes:
        row = {
            "change": change.kind,
            "module": change.module,
            "message": change.message,
            "path": change.path,
            "fact": change.fact,
            "old": change.old,
            "new": change.new,
        }
        yield {key: value for key, value in row.items() if value not in (None, "")}


def text_lines(changes: Sequence[SpecDifference]) -> Iterator[str]:
    """Yield added and removed messages, then the others, with their differences in columns."""
    whole = [change for change in changes if change.fact == "message"]
    yield from _columns([(item.kind, _title(item), _detail(item)) for item in whole], "")
    for title, rows in _groups(changes):
        yield title
        yield from _columns(rows, "  ")


def markdown_lines(
    old: ComparedSide, new: ComparedSide, changes: Sequence[SpecDifference]
) -> Iterator[str]:
    """Yield the lines of a document: the two sides, counts, and a table per message."""
    yield markdown_title(old, new)
    yield ""
    yield f"{summary(changes)}."
    whole = [change for change in changes if change.fact == "message"]
    rows: list[DifferenceRow] = [(item.kind, _title(item), _detail(item)) for item in whole]
    groups: list[tuple[str, list[DifferenceRow]]] = [("Messages", rows), *_groups(changes)]
    for title, group in groups:
        if group:
            yield from ("", f"## {escaped(title)}", "")
            yield from ("| change | what | detail |", "|---|---|---|")
        for row in group:
            yield f"| {' | '.join(map(escaped, row))} |"


def summary(changes: Sequence[SpecDifference]) -> str:
    """Return the number of differences in words."""
    whole = Counter(item.kind for item in changes if item.fact == "message")
    codes = Counter(item.kind for item in changes if item.fact == "error code")
    inside = {item.message for item in changes if item.message and item.fact != "message"}
    messages = {"added": whole["added"], "removed": whole["removed"], "changed": len(inside)}
    parts = [
        f"{count_text(number, noun)} {kind}"
        for noun, counts in (("message", messages), ("error code", codes))
        for kind, number in counts.items()
        if number
    ]
    return ", ".join(parts) or "no difference"


def _groups(changes: Sequence[SpecDifference]) -> Iterator[tuple[str, list[DifferenceRow]]]:
    """Yield the differences within each message, and those of the error codes."""
    inside = [change for change in changes if change.fact != "message"]
    for title, group in groupby(inside, _title):
        rows = [(item.kind, item.path or "(message)", _detail(item)) for item in group]
        yield title, [
            (kind, path, "; ".join(detail for _, _, detail in row))
            for (kind, path), row in groupby(rows, lambda row: row[:2])
        ]


def _title(change: SpecDifference) -> str:
    if not change.message:
        return _ERROR_CODES
    return f"{change.module}/{change.message}" if change.module else change.message


def _detail(change: SpecDifference) -> str:
    old, new = change.old, change.new
    match change.kind:
        case "added":
            return _value(new)
        case "removed":
            return _value(old)
        case "renamed":
            return f"{_value(old)} -> {_value(new)}"
        case "moved":
            return "to another position"
        case "changed":
            return f"{change.fact} {_value(old)} -> {_value(new)}"


def _value(value: object) -> str:
    """Return the value of a key, or all keys of a message or field, in readable form."""
    if value is None:
        return "(none)"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        type_first = sorted(value.items(), key=lambda item: item[0] != "type")
        return ", ".join(_fact(key, entry) for key, entry in type_first)
    return str(value) if value != "" else '""'


def _fact(key: str, value: object) -> str:
    if key == "type":
        return str(value)
    return key if value is True else f"{key} {_value(value)}"


def _columns(rows: Sequence[DifferenceRow], indent: str) -> Iterator[str]:
    if not rows:
        return
    cells = [tuple(map(printable, row)) for row in rows]
    kinds, whats = (max(len(row[place]) for row in cells) for place in (0, 1))
    for kind, what, detail in cells:
        yield f"{indent}{kind:<{kinds}}  {what:<{whats}}  {detail}".rstrip()
    yield ""
