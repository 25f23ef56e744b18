"""The command `lint`: what is wrong with drafted specs, in files and on pages.

Findings go to standard output: grouped by file on a terminal, a line each elsewhere, or as
JSON Lines. Notes about a page go to standard error; in JSON they are objects of kind
"note". Exit codes: 0 no errors, 1 errors, 2 a file cannot be read.
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
    reporting_failures,
    shown_path,
)
from kraftwire_generator.errors import Finding
from kraftwire_generator.lint.set_lint import lint_together
from kraftwire_generator.lint.spec_lint import ComparedNote, Report
from kraftwire_generator.lint.spec_lint import lint as lint_data
from kraftwire_generator.printing import printable

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
    help="How to print; a table on a terminal and a line a finding elsewhere unless given.",
)
def lint(files: tuple[Path, ...], output: str | None) -> None:
    """Look for slips in message specs, before anything is generated.

    A FILE is a JSON spec, or a page (a KIP as text or HTML) whose specs are found in it;
    - is standard input.
    An error is what the generator refuses, a warning what it accepts but nobody is likely
    to mean. JSON specs of one folder are also held against each other: two with one apiKey,
    a request without its response. On a wiki's "Versions Compared" page, old and new words
    that run together are read as the newer ones.

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
        _PRINTERS[output](file, report)
    findings = [finding for report in reports.values() for finding in report.findings]
    if any(finding.severity == "error" for finding in findings):
        raise SystemExit(EXIT_FINDINGS)


def _add_findings_between(reports: Mapping[Path, Report]) -> None:
    """What is wrong between specs of one folder goes to the reports of its files."""
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
        shown = printable(shown_path(file))
        raise CouldNotDoIt(f"{shown}: is a directory; name the files in it")
    with file.open("rb") as stream:
        return _limited(stream, file)


def _limited(stream: BinaryIO, file: Path) -> bytes:
    data = stream.read(_LONGEST_FILE + 1)
    if len(data) > _LONGEST_FILE:
        shown = printable(shown_path(Path(_name(file))))
        raise CouldNotDoIt(
            f"{shown}: is longer than {_LONGEST_FILE // 10**6} MB; name a spec or a page"
        )
    return data


def _print_json(file: Path, report: Report) -> None:
    for row in _json_rows(report):
        click.echo(json.dumps(row, separators=(",", ":")).replace("\x7f", "\\u007f"))


def _json_rows(report: Report) -> Iterator[dict[str, object]]:
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


def _print_text(file: Path, report: Report) -> None:
    _print_note(report)
    for finding in report.findings:
        click.echo(finding_text(finding))


def _print_table(file: Path, report: Report) -> None:
    _print_note(report)
    errors = sum(finding.severity == "error" for finding in report.findings)
    warnings = len(report.findings) - errors
    counts = f"{count_text(errors, 'error')}, {count_text(warnings, 'warning')}"
    click.echo(printable(f"{shown_path(Path(_name(file)))}: {counts}"))
    width = max((len(str(finding.line)) for finding in report.findings), default=0)
    for finding in report.findings:
        click.echo(f"  {finding.line:>{width}}  {finding.severity:<7}  {_where_and_what(finding)}")


def _where_and_what(finding: Finding) -> str:
    where = f"{finding.path}: " if finding.path else ""
    return printable((where + finding.message).replace("\n", " "))


def _print_note(report: Report) -> None:
    if report.note is not None:
        click.echo(printable(str(report.note)), err=True)


_PRINTERS = {"json": _print_json, "text": _print_text, "table": _print_table}
