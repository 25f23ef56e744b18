"""The command `explain`: bytes as an annotated hex view, row by row.

Every byte is in a row with its field, type and value. What is wrong with the bytes has a row
of its own behind all that could be read, and the exit code is 1.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, TextIO

import click

from kraftwire.cli.explain.input import Asked, find_explain
from kraftwire.cli.explain.page import HtmlView
from kraftwire.cli.explain.text import JsonView, TextView, View
from kraftwire.cli.messages.decode import decode
from kraftwire.cli.messages.spec_sets import load_registry
from kraftwire.cli.options.stored import limit_option
from kraftwire.console.failures import EXIT_FINDINGS, CouldNotDoIt
from kraftwire.console.output import on_terminal
from kraftwire.explain.rows import Report, Row, Scope
from kraftwire.log.typed import LOGS
from kraftwire.printing import printable
from kraftwire_wire.errors import count_of

_MOST_ON_TERMINAL = 1_000
_MOST_IN_PAGE = 20_000
_MAX_BATCH_BYTES = 16 << 20
"""Unless said: a row, with its bytes as text, takes many times as much as what it explains."""
_ERRORS_SHOWN = 5
_SHARED = {"request", "response", "name", "message", "version", "record", "key", "value"}
_SHARED |= {"id", "input", "prefix", "messages"}
"""The options of `decode` that name bytes; they mean the same here."""


@click.command(context_settings={"default_map": {"limit": _MAX_BATCH_BYTES}})
@click.argument("path", required=False, metavar="[FILE]")
@click.option("--batch", type=click.File("rb"), metavar="FILE", help="Record batches.")
@click.option("--position", type=int, metavar="N", help="Of a stored FILE, what is at a byte.")
@click.option("--offset", type=int, metavar="N", help="Of a stored FILE, the batch with it.")
@click.option(
    "--as", "log", type=click.Choice(LOGS), help="What the records are, whatever the path."
)
@limit_option
@click.option(
    "--most",
    type=click.IntRange(min=0),
    metavar="N",
    help="How many rows at most; 0 for all. Errors always show.",
)
@click.option("--full", is_flag=True, help="All bytes of long values.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["json", "table", "text", "html"]),
    help="How to print; table on a terminal, else JSON Lines.",
)
@click.option("--out", type=click.Path(path_type=Path), help="The file for -o html.")
def explain(
    output: str | None, out: Path | None, most: int | None, full: bool, **given: Any
) -> None:
    """Show what each byte is: ranges, fields, types and values.

    FILE is a stored file: a segment, a metadata snapshot, an index, a producer snapshot. With
    --message and --record it holds their bytes instead, as in `kraftwire decode`: hex, base64
    or binary, - for standard input.

    Lengths, counts and tags have rows of their own. A wrong byte ends the view, with what was
    expected there, and the exit code is 1. A wrong CRC is marked and read on.

    -o text is the table without colours; -o html is one page that needs nothing else.

    \b
    Examples:
      kraftwire explain --request vote.bin
      kraftwire explain --response answer.hex --name Vote --version 2
      kraftwire explain --message MetadataRequest --version 12 -
      kraftwire explain orders-0/00000000000000000000.log --offset 17
      kraftwire explain --batch batch.bin -o html --out batch.html
    """
    if out is not None and output != "html":
        raise click.UsageError("--out FILE goes with -o html")
    messages = given.pop("messages")
    asked = Asked(**given, file=None, lenient=False)
    make_rows = find_explain(asked, load_registry(messages))
    form = output or ("table" if on_terminal() else "json")
    pages: list[TextIO] = []
    rows = _Limited(_view(form, out, asked, pages, full=full), _most(most, form))
    report = Report(rows.row)
    try:
        make_rows(Scope(report))
        rows.view.finish()
    finally:
        for page in pages:
            page.close()
    _say(report, rows.left_out)


explain.params[1:1] = [option for option in decode.params if option.name in _SHARED]


def _view(form: str, out: Path | None, asked: Asked, pages: list[TextIO], *, full: bool) -> View:
    """The form in which rows are printed; `pages` gets the file that is to be closed."""
    if form == "json":
        return JsonView()
    if form != "html":
        return TextView(full=full, coloured=False if form == "text" else None)

    def open_page() -> TextIO:
        if out is None:
            if sys.stdout is None:
                raise CouldNotDoIt("standard output is closed")
            return sys.stdout
        if out.exists() and any(out.samefile(name) for name in asked.files):
            raise CouldNotDoIt(f"{out} is what is to be read")
        pages.append(out.open("w", encoding="utf-8"))
        return pages[0]

    return HtmlView(open_page, f"{_title(asked)}, explained", full=full)


def _title(asked: Asked) -> str:
    way = asked.mode
    names = {"message": asked.message, "response": asked.name, "path": asked.path}
    name = names.get(way) or way
    return name if asked.version is None else f"{name} version {asked.version}"


def _most(most: int | None, form: str) -> int:
    if most is not None:
        return most
    if form == "html":
        return _MOST_IN_PAGE
    return _MOST_ON_TERMINAL if form == "table" and on_terminal() else 0


class _Limited:
    """Passes on so many rows, and all with problems."""

    def __init__(self, view: View, most: int) -> None:
        self.view = view
        self.left_out = 0
        self._most = most
        self._count = 0

    def row(self, row: Row) -> None:
        self._count += 1
        if self._most and self._count > self._most and not row.problem:
            self.left_out += 1
            return
        self.view.row(row)


def _say(report: Report, left_out: int) -> None:
    """What was left out, and what is wrong; the exit code where anything is."""
    if left_out:
        click.echo(f"{count_of(left_out, 'row')} left out; --most 0 shows all", err=True)
    findings = report.findings
    for error in findings[:_ERRORS_SHOWN]:
        click.echo(f"Error: {printable(str(error))}", err=True)
    if len(findings) > _ERRORS_SHOWN:
        click.echo(f"and {count_of(len(findings) - _ERRORS_SHOWN, 'more error')}", err=True)
    if findings:
        raise click.exceptions.Exit(EXIT_FINDINGS)
