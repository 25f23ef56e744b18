"""What `specs diff` and `evolve` share: how two sides are read, and how results are printed.

Data goes to standard output: text on a terminal and JSON Lines elsewhere, unless told
otherwise. What was compared, and the summary, go to standard error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

import click

from kraftwire_generator.comparison.sides import Side, common_part, read_side
from kraftwire_generator.console import CouldNotDoIt, on_terminal
from kraftwire_generator.importer.sources import SourceError
from kraftwire_generator.printing import printable

_MARKUP = re.compile(r"[\\`*\[\]<>|&#!~]")

output_option = click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json", "markdown"]),
    help="How to print; text on a terminal and JSON Lines elsewhere unless given.",
)


def output_form(chosen: str | None) -> str:
    """The form to print in: the chosen one, or what standard output is good for."""
    return chosen or ("text" if on_terminal() else "json")


def read_sides(old: str, new: str) -> tuple[Side, Side, list[str]]:
    """Both sides as far as they can be compared, and the modules left out."""
    try:
        return common_part(read_side(old), read_side(new))
    except SourceError as error:  # a source has no lines to point at
        raise CouldNotDoIt(str(error)) from None


def print_lines(lines: Iterable[str], *, err: bool = False) -> None:
    """Print line by line, without characters that a terminal would act on."""
    for line in lines:
        click.echo(printable(line), err=err)


def json_line(row: Mapping[str, object]) -> str:
    """An object as a line of printable ASCII."""
    return json.dumps(row).replace("\x7f", "\\u007f")


def left_out_text(modules: Iterable[str]) -> str:
    """What to say of the modules that only one side has."""
    return f"not compared, since only one side has them: {', '.join(modules)}"


def side_text(side: Side) -> str:
    """A side as a person would call it."""
    return f"{side.name} ({side.title})" if side.title else side.name


def markdown_title(old: Side, new: Side) -> str:
    """The heading of a document that compares two sides."""
    return f"# {escaped(side_text(old))} -> {escaped(side_text(new))}"


def escaped(text: str) -> str:
    """The text as Markdown that shows it as it is, on one line."""
    return _MARKUP.sub(lambda match: f"\\{match[0]}", printable(text))
