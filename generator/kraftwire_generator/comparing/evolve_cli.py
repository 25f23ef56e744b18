"""The command `evolve`: does a change of specs break the wire?

A table per message on a terminal and JSON Lines otherwise; the summary goes to standard
error. Exit codes: 0 the wire holds (perhaps with warnings), 1 it breaks, 2 could not do it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

import click

from kraftwire_generator.comparing.compare_sources import Side, common_part, read_side
from kraftwire_generator.comparing.evolution_report import EvolutionFinding
from kraftwire_generator.comparing.evolve import evolve_sides
from kraftwire_generator.console import (
    EXIT_FINDINGS,
    count_text,
    on_terminal,
    one_line,
    reporting_failures,
    shown_path,
)


@click.command()
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json"]),
    help="How to print; text on a terminal and JSON Lines elsewhere unless given.",
)
@click.option("--errors-only", is_flag=True, help="Leave the warnings out.")
def evolve(old: str, new: str, output: str | None, errors_only: bool) -> None:
    """Say whether specs that changed from OLD to NEW break the wire; exit 1 if they do.

    OLD and NEW are spec sets, single spec files, Kafka's jars or source trees, or
    PATH@REVISION: any of these, jars aside, in a git revision.

    An error says that bytes of a version which both sides have are read differently, or not
    at all. A warning says that code or JSON which uses the message notices: a renamed field,
    a changed default, an old version that is served no more.

    \b
    Examples:
      kraftwire evolve message_specs/kafka@HEAD message_specs/kafka
      kraftwire evolve kafka-clients-4.3.1.jar kafka-clients-4.4.0.jar
      kraftwire evolve VoteRequest.json@v1 VoteRequest.json -o json
    """
    with reporting_failures():
        before, after, left_out = common_part(read_side(old), read_side(new))
        findings = evolve_sides(before, after)
    errors = [finding for finding in findings if finding.severity == "error"]
    shown = errors if errors_only else findings
    if output == "json" or (output is None and not on_terminal()):
        lines: Iterable[str] = (json.dumps(_json(finding)) for finding in shown)
    else:
        lines = _text(shown)
    for line in lines:
        click.echo(one_line(line))
    for line in _summary(before, after, findings, left_out):
        click.echo(one_line(line), err=True)
    if errors:
        raise SystemExit(EXIT_FINDINGS)


def _json(finding: EvolutionFinding) -> dict[str, object]:
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


def _text(findings: Sequence[EvolutionFinding]) -> Iterator[str]:
    """Every message with what happened to it, broken ones first."""
    by_message = [list(group) for _, group in groupby(findings, lambda item: item.message)]
    for group in sorted(by_message, key=lambda group: _first_break(group) is None):
        first = _first_break(group)
        verdict = "the wire holds" if first is None else f"breaks from version {first}"
        yield f"{group[0].message}: {verdict}"
        for item in group:
            noun = "version" if item.versions_text.isdigit() else "versions"
            yield f"  {item.severity}: {f'{item.path}: ' if item.path else ''}{item.text}"
            yield f"    {noun} {item.versions_text}; {shown_path(Path(item.file))}:{item.line}"
        yield ""


def _first_break(findings: Sequence[EvolutionFinding]) -> int | None:
    return min((item.first_version for item in findings if item.severity == "error"), default=None)


def _summary(
    old: Side, new: Side, findings: Sequence[EvolutionFinding], left_out: Sequence[str]
) -> Iterator[str]:
    for side, word in ((old, "old"), (new, "new")):
        title = f"{side.title}, " if side.title else ""
        yield f"{word}: {side.name} ({title}{count_text(len(side.messages), 'message')})"
    if left_out:
        yield f"not compared, since only one side has them: {', '.join(left_out)}"
    errors = [item for item in findings if item.severity == "error"]
    warnings = count_text(len(findings) - len(errors), "warning")
    if errors:
        broken = count_text(len({item.message for item in errors}), "message")
        yield f"the wire breaks in {broken}: {count_text(len(errors), 'error')}, {warnings}"
    else:
        yield f"the wire holds: {warnings}"
