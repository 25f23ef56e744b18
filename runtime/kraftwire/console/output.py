"""Prints the output of commands: tables for people, JSON Lines for programs.

Rules for every command:

- data goes to standard output, everything else to standard error;
- a terminal gets a table and anything else JSON Lines, unless `-o json|table` is given;
- untrusted text reaches a terminal only through `printable`, which `print_table` applies to every
  cell and `print_note` to its line; `print_json` writes only ASCII.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kraftwire.printing import camel_case, printable

if TYPE_CHECKING:
    from rich.console import Console

F = TypeVar("F", bound=Callable[..., Any])

_encode = json.JSONEncoder(separators=(",", ":")).encode

_MAX_FOLDED_ROWS = 2_000
"""Folding costs half a millisecond a row; nobody reads longer tables on a screen."""

_ROWS_AT_ONCE = 1000
_GAP = 2
"""Spaces between columns."""
_LEAST_FOLDED = 10
"""A folded column narrower than this is harder to read than lines."""

_MAX_PADDED_WIDTH = 60
"""The widest padding: one cell of 30,000 characters must not make all other rows as long."""


def output_choice(*choices: str) -> Callable[[F], F]:
    """Make the option `-o` with these choices; the parameter is called `output`."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice(choices),
        help="How to print; the default is a table on a terminal, JSON Lines elsewhere.",
    )


output_option = output_choice("json", "table")


def wants_json(option: str | None) -> bool:
    """Whether to print JSON Lines; `option` is the value of `-o`."""
    if option is not None:
        return option == "json"
    return not on_terminal()


def on_terminal() -> bool:
    """Whether standard output is a terminal; it is None if it was closed (`>&-`)."""
    return sys.stdout is not None and sys.stdout.isatty()


def flush_output() -> None:
    """Flush standard output, for a program that reads it from a pipe."""
    if sys.stdout is not None:
        sys.stdout.flush()


def print_note(text: str) -> None:
    """Print a line on standard error."""
    click.echo(printable(text), err=True)


def print_json(obj: object) -> None:
    """Print a line of JSON, without flushing it."""
    # json leaves DEL, the one ASCII control character above space, as it is.
    line = _encode(obj).replace("\x7f", "\\u007f")
    if sys.stdout is not None:
        sys.stdout.write(line + "\n")


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    title: str | None = None,
    *,
    folded: Collection[str] | None = None,
) -> None:
    """Print a table; None is an empty cell.

    If a terminal is too narrow, the cells of the columns in `folded` (default: all) are folded.
    Elsewhere every row is one line.
    """
    cells = [["" if cell is None else printable(str(cell)) for cell in row] for row in rows]
    if on_terminal() and len(cells) <= _MAX_FOLDED_ROWS:
        _print_folded(columns, cells, title, columns if folded is None else folded)
        return
    if title:
        click.echo(printable(title))
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    for line in (columns, *cells):
        padded = (
            cell.ljust(min(width, _MAX_PADDED_WIDTH))
            for cell, width in zip(line, widths, strict=True)
        )
        click.echo("  ".join(padded).rstrip())


def print_rows(
    output: str | None,
    columns: Sequence[str],
    rows: Iterable[tuple[Mapping[str, object], Sequence[object]]],
    *,
    folded: Collection[str] | None = None,
) -> None:
    """Print rows as JSON Lines or as a table; each row is a pair of an object and cells.

    `output` is the value of `-o`.
    """
    if wants_json(output):
        for obj, _ in rows:
            print_json(obj)
    else:
        print_table(columns, [cells for _, cells in rows], folded=folded)


def pick_fields(obj: object, names: str) -> dict[str, Any]:
    """Return attributes as a JSON object with their names in camel case.

    `names` is a string with spaces between the names.
    """
    return {key: getattr(obj, name) for key, name in _keys_of(names)}


@cache
def _keys_of(names: str) -> tuple[tuple[str, str], ...]:
    return tuple((camel_case(name), name) for name in names.split())


def without_empty(
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    optional: Collection[str] | None = None,
) -> tuple[list[str], list[list[object]]]:
    """Return columns and rows without the empty columns, if in `optional` (default: all)."""
    kept = [
        at
        for at, column in enumerate(columns)
        if (optional is not None and column not in optional)
        or any(row[at] not in (None, "") for row in rows)
    ]
    return [columns[at] for at in kept], [[row[at] for at in kept] for row in rows]


class PiecewiseTable:
    """A table of any length, printed 1000 rows at a time: widths depend on the rows."""

    def __init__(self, columns: Sequence[str], folded: Collection[str] | None = None) -> None:
        self._columns = columns
        self._folded = folded
        self._rows: list[Sequence[object]] = []

    def add(self, row: Sequence[object]) -> None:
        """Add a row, and print the table so far if it has 1000."""
        self._rows.append(row)
        if len(self._rows) >= _ROWS_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Print the rows that are not printed yet."""
        if self._rows:
            print_table(self._columns, self._rows, folded=self._folded)
        self._rows = []


def _print_folded(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    title: str | None,
    folded: Collection[str],
) -> None:
    """Print a table on a terminal; if it does not fit, print each row as lines."""
    from rich.console import Console
    from rich.text import Text

    console = Console()
    if title:
        console.print(Text(printable(title), style="bold"))
    widths = {
        column: max(map(len, cells)) for column, *cells in zip(columns, columns, *rows, strict=True)
    }
    fitting = _folded_to_fit(widths, set(folded), console.width)
    if fitting is None:
        _print_lines(console, columns, rows)
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(Text(column), overflow="fold", no_wrap=column not in fitting)
    for row in rows:
        table.add_row(*map(Text, row))  # not as str, which rich would read as markup
    console.print(table)


def _folded_to_fit(widths: dict[str, int], folded: set[str], room: int) -> set[str] | None:
    """Return the columns to fold so that no cell is cut off; None if no table fits."""
    for candidate in (folded, set(widths)):
        least = sum(
            min(width, _LEAST_FOLDED) if column in candidate else width
            for column, width in widths.items()
        )
        if least + _GAP * len(widths) <= room:
            return candidate
    return None


def _print_lines(console: Console, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print every row as lines of `column  cell`, with an empty line between rows."""
    from rich.text import Text

    name_width = max(map(len, columns))
    for number, row in enumerate(rows):
        if number:
            console.print()
        for column, cell in zip(columns, row, strict=True):
            if cell:
                line = Text(column.ljust(name_width + _GAP), style="bold")
                console.print(line.append(Text(cell, style="not bold")), soft_wrap=True)
