"""The command `specs diff`: what changed between two spec sets or releases.

A table per message on a terminal and JSON Lines otherwise; the summary goes to standard
error. Exit codes, as of diff: 0 equal, 1 different, 2 could not do it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

import click

from kraftwire_generator.comparing.compare_sources import common_part, read_side
from kraftwire_generator.comparing.diff_text import (
    json_rows,
    markdown_lines,
    side_text,
    summary,
    text_lines,
)
from kraftwire_generator.comparing.spec_diff import diff_sides
from kraftwire_generator.console import EXIT_FINDINGS, on_terminal, one_line, reporting_failures


@click.command("diff")
@click.argument("old", metavar="A")
@click.argument("new", metavar="B")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json", "markdown"]),
    help="How to print; text on a terminal and JSON Lines elsewhere unless given.",
)
def diff_command(old: str, new: str, output: str | None) -> None:
    """Show what changed from A to B: messages, versions, fields, tags, defaults, error codes.

    A and B are spec sets, single spec files, Kafka's source trees or jars (one, or a
    directory of one release's jars), or PATH@REVISION: any of these, jars aside, in a git
    revision; PATH@REVISION:BELOW for a path that only the revision has. Modules that a jar
    does not hold are not compared. Exit 0 when A and B are equal, 1 when they are not.

    \b
    Examples:
      kraftwire specs diff message_specs/kafka@v1 message_specs/kafka
      kraftwire specs diff kafka-clients-4.3.1.jar kafka-clients-4.4.0.jar
      kraftwire specs diff ~/src/kafka@3.9.1 jars-4.4.0 -o markdown > CHANGES.md
    """
    with reporting_failures():
        before, after, left_out = common_part(read_side(old), read_side(new))
        changes = diff_sides(before, after)
    if output is None:
        output = "text" if on_terminal() else "json"
    lines: Iterable[str]
    if output == "json":
        lines = (json.dumps(row) for row in json_rows(changes))
    elif output == "markdown":
        lines = markdown_lines(before, after, changes)
    else:
        lines = text_lines(changes)
    for line in lines:
        click.echo(one_line(line))
    notes = [f"{side_text(before)} -> {side_text(after)}: {summary(changes)}"]
    if left_out:
        notes.append(f"not compared, since only one side has them: {', '.join(left_out)}")
    for note in notes:
        click.echo(one_line(note), err=True)
    if changes:
        raise SystemExit(EXIT_FINDINGS)
