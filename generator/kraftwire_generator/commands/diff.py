"""The command `specs diff`: what changed between two spec sets or releases.

Exit codes are those of diff: 0 equal, 1 different, 2 failure.
"""

from __future__ import annotations

from collections.abc import Iterable

import click

from kraftwire_generator.commands.comparison_output import (
    left_out_notes,
    output_form,
    output_option,
    read_sides,
    side_text,
)
from kraftwire_generator.commands.diff_text import (
    json_rows,
    markdown_lines,
    summary,
    text_lines,
)
from kraftwire_generator.comparison.spec_diff import diff_sides
from kraftwire_generator.console import (
    EXIT_FINDINGS,
    json_line,
    print_lines,
    reporting_failures,
)


@click.command("diff")
@click.argument("old", metavar="A")
@click.argument("new", metavar="B")
@output_option
def diff_command(old: str, new: str, output: str | None) -> None:
    """Show what changed from A to B: messages, versions, fields, tags, defaults, error codes.

    A and B are spec sets, single spec files, Kafka's source trees or jars (one, or a directory
    of one release's jars), or PATH@REVISION: any of these except jars in a git revision. Use
    PATH@REVISION:BELOW for a path that only the revision has. Modules that a jar does not contain
    are not compared. Exits with 0 if A and B are equal, with 1 if they differ.

    \b
    Examples:
      kraftwire specs diff message_specs/kafka@v1 message_specs/kafka
      kraftwire specs diff kafka-clients-4.3.1.jar kafka-clients-4.4.0.jar
      kraftwire specs diff ~/src/kafka@3.9.1 jars-4.4.0 -o markdown > CHANGES.md
    """
    with reporting_failures():
        before, after, left_out = read_sides(old, new)
        changes = diff_sides(before, after)
    lines: Iterable[str]
    match output_form(output):
        case "json":
            lines = map(json_line, json_rows(changes))
        case "markdown":
            lines = markdown_lines(before, after, changes)
        case _:
            lines = text_lines(changes)
    print_lines(lines)
    notes = [f"{side_text(before)} -> {side_text(after)}: {summary(changes)}"]
    print_lines([*notes, *left_out_notes(left_out)], err=True)
    if changes:
        raise SystemExit(EXIT_FINDINGS)
