"""The command `lint`: finds mistakes in drafted specs, in files and on pages.

Findings go to standard output: grouped by file on a terminal, one per line elsewhere, or as JSON
Lines. Notes about a page go to standard error; in JSON they are objects of kind "note".
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

import click

from kraftwire_generator.console import (
    EXIT_FINDINGS,
    CouldNotDoIt,
    count_text,
    finding_text,
    on_terminal,
    print_lines,
    reporting_failures,
    shown_path,
)
from kraftwire_generator.errors import errors_of
from kraftwire_generator.lint.set_lint import lint_together
from kraftwire_generator.lint.spec_lint import ComparedNote, LintReport
from kraftwire_generator.lint.spec_lint import lint as lint_data

_STDIN = Path("-")
_LONGEST_FILE = 50_000_000


@click.command()
@click.argument(
    "files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option(
    "-o",
    "--output",
    type=click.Choice(["json", "table", "text"]),
    help="Output format; default: table on a terminal, otherwise one finding per line.",
)
def lint(files: tuple[Path, ...], output: str | None) -> None:
    """Look for mistakes in message specs, before anything is generated.

    A FILE is a JSON spec, or a page (a KIP as text or HTML) that contains specs; - is standard
    input.

    An error is something that the generator refuses. A warning is something that it accepts but
    that is probably a mistake. JSON specs in one folder are also checked together, for shared
    apiKeys and requests without a response. On a wiki's "Versions Compared" page, old and new
    words that run together are read as the newer ones.

    \b
    Examples:
      kraftwire lint my_specs/*.json
      kraftwire lint kip.html -o json
    """
    with reporting_failures():
        reports = {file: lint_data(_content(file), _name(file)) for file in files}
        _add_findings_between(reports)
    output = output or ("table" if on_terminal() else "text")
    for file, report in reports.items():
        if output == "json":
            rows = (json.dumps(row, separators=(",", ":")) for row in _json_rows(report))
            print_lines(row.replace("\x7f", "\\u007f") for row in rows)
            continue
        if report.note is not None:
            print_lines([str(report.note)], err=True)
        is_table = output == "table"
        print_lines(_table_lines(file, report) if is_table else map(finding_text, report.findings))
    if any(errors_of(report.findings) for report in reports.values()):
        raise SystemExit(EXIT_FINDINGS)


def _add_findings_between(reports: Mapping[Path, LintReport]) -> None:
    specs = [report.spec for report in reports.values() if report.spec is not None]
    by_name = {_name(file): report.findings for file, report in reports.items()}
    for finding in lint_together(specs):
        by_name[finding.file].append(finding)
        by_name[finding.file].sort(key=lambda finding: finding.line)


def _name(file: Path) -> str:
    return "<stdin>" if file == _STDIN else file.as_posix()


def _content(file: Path) -> bytes:
    if file == _STDIN:
        if sys.stdin is None:
            raise CouldNotDoIt("standard input is closed; name a file")
        return _limited(sys.stdin.buffer, file)
    if file.is_dir():
        raise CouldNotDoIt(f"{shown_path(file)}: is a directory; name the files in it")
    with file.open("rb") as stream:
        return _limited(stream, file)


def _limited(stream: BinaryIO, file: Path) -> bytes:
    data = stream.read(_LONGEST_FILE + 1)
    if len(data) > _LONGEST_FILE:
        limit = f"is longer than {_LONGEST_FILE // 10**6} MB; name a spec or a page"
        raise CouldNotDoIt(f"{shown_path(Path(_name(file)))}: {limit}")
    return data


def _json_rows(report: LintReport) -> Iterator[dict[str, object]]:
    if report.note is not None:
        yield _note_row(report.note)
    for finding in report.findings:
        yield {
            "kind": "finding",
            "file": finding.file,
            "line": finding.line,
            "severity": finding.severity,
            "path": finding.path,
            "text": finding.message,
        }


def _note_row(note: ComparedNote) -> dict[str, object]:
    words = [
        {"line": word.line, "word": word.word, "read_as": word.read_as} for word in note.merged
    ]
    mixed = [{"line": line, "message": name} for line, name in note.mixed]
    text = str(note).removeprefix(f"{note.file}: ")
    return {"kind": "note", "file": note.file, "text": text, "merged": words, "mixed": mixed}


def _table_lines(file: Path, report: LintReport) -> Iterator[str]:
    errors = len(errors_of(report.findings))
    counts = (
        f"{count_text(errors, 'error')}, {count_text(len(report.findings) - errors, 'warning')}"
    )
    yield f"{shown_path(Path(_name(file)))}: {counts}"
    width = max((len(str(finding.line)) for finding in report.findings), default=0)
    for finding in report.findings:
        where = f"{finding.path}: " if finding.path else ""
        text = f"{where}{finding.message}".replace("\n", " ")
        yield f"  {finding.line:>{width}}  {finding.severity:<7}  {text}"
