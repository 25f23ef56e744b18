"""The command `evolve`: checks whether a change of specs breaks the wire format.

Exit codes: 0 it does not break (there may be warnings), 1 it breaks, 2 failure.
"""

from __future__ import annotations

from collections.abc import Iterable

import click

from kraftwire_generator.commands.comparison_output import (
    output_form,
    output_option,
    read_sides,
)
from kraftwire_generator.commands.evolution_text import (
    json_row,
    markdown_lines,
    summary_lines,
    text_lines,
)
from kraftwire_generator.comparison.evolution import evolve_sides
from kraftwire_generator.console import (
    EXIT_FINDINGS,
    json_line,
    print_lines,
    reporting_failures,
)


@click.command()
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@output_option
@click.option(
    "--errors-only", is_flag=True, help="Leave out warnings; the summary still counts them."
)
def evolve(old: str, new: str, output: str | None, errors_only: bool) -> None:
    """Check whether the change from OLD to NEW breaks the wire format; exit 1 if it does.

    OLD and NEW are spec sets, single spec files, Kafka's jars or source trees, or
    PATH@REVISION: any of these except jars in a git revision.

    An error means that one side reads bytes of a version that both sides have differently, or
    not at all. A warning means that code or JSON that uses the message is affected: a renamed
    field, a changed default, an old version that is no longer served.

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
