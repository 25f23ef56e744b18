"""The command `evolve`: does a change of specs break the wire?

Exit codes: 0 the wire holds (perhaps with warnings), 1 it breaks, 2 could not do it.
"""

from __future__ import annotations

from collections.abc import Iterable

import click

from kraftwire_generator.commands.comparison_output import (
    json_line,
    output_form,
    output_option,
    print_lines,
    read_sides,
)
from kraftwire_generator.commands.evolution_text import (
    json_row,
    markdown_lines,
    summary_lines,
    text_lines,
)
from kraftwire_generator.comparison.evolution import evolve_sides
from kraftwire_generator.console import EXIT_FINDINGS, reporting_failures


@click.command()
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@output_option
@click.option(
    "--errors-only", is_flag=True, help="Leave the warnings out; the summary counts them."
)
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
      kraftwire evolve kafka@v1 kafka --errors-only -o markdown > BREAKS.md
    """
    with reporting_failures():
        before, after, left_out = read_sides(old, new)
        findings = evolve_sides(before, after)
    errors = [finding for finding in findings if finding.severity == "error"]
    shown = errors if errors_only else findings
    lines: Iterable[str]
    match output_form(output):
        case "json":
            lines = (json_line(json_row(finding)) for finding in shown)
        case "markdown":
            lines = markdown_lines(before, after, findings, shown)
        case _:
            lines = text_lines(shown)
    print_lines(lines)
    print_lines(summary_lines(before, after, findings, left_out), err=True)
    if errors:
        raise SystemExit(EXIT_FINDINGS)
