"""Reads the two sides and formats the output, for `specs diff` and `evolve`.

Results go to standard output, as text on a terminal and as JSON Lines elsewhere unless `-o` says
otherwise. The names of the sides and the summary go to standard error.
"""

from __future__ import annotations

import re

import click

from kraftwire_generator.comparison.sides import ComparedSide, common_part, read_side
from kraftwire_generator.console import CouldNotDoIt, on_terminal
from kraftwire_generator.importer.sources import SourceError
from kraftwire_generator.printing import printable

_MARKUP = re.compile(r"[\\`*\[\]<>|&#!~]")

output_option = click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json", "markdown"]),
    help="Output format; default: text on a terminal, otherwise JSON Lines.",
)


def output_form(chosen: str | None) -> str:
    """Return the chosen output format, or the default for standard output."""
    return chosen or ("text" if on_terminal() else "json")


def read_sides(old: str, new: str) -> tuple[ComparedSide, ComparedSide, list[str]]:
    """Return the comparable parts of both sides, and the modules left out."""
    try:
        return common_part(read_side(old), read_side(new))
    except SourceError as error:  # without the line number that other findings have
        raise CouldNotDoIt(str(error)) from None


def left_out_notes(modules: list[str]) -> list[str]:
    """Return the note about modules that only one side has, if any."""
    listed = ", ".join(modules)
    return [f"not compared, since only one side has them: {listed}"] if modules else []


def side_text(side: ComparedSide) -> str:
    """Return a side's name with its title."""
    return f"{side.name} ({side.title})" if side.title else side.name


def markdown_title(old: ComparedSide, new: ComparedSide) -> str:
    """Return the heading of a document that compares two sides."""
    return f"# {escaped(side_text(old))} -> {escaped(side_text(new))}"


def escaped(text: str) -> str:
    """Escape a string for Markdown, on one line."""
    return _MARKUP.sub(lambda match: f"\\{match[0]}", printable(text))
