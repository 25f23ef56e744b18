"""The command `explain`: prints bytes as an annotated hex view, row by row.

Every byte is in a row with its field, type and value. An error has its own row after everything
that could be read, and the exit code is 1.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, TextIO

import click

from kraftwire.cli.explain.input import WAYS, ExplainOptions, find_explain
from kraftwire.cli.explain.page import HtmlView
from kraftwire.cli.explain.text import JsonView, TextView, View
from kraftwire.cli.messages.bytes_options import bytes_options, choose_way
from kraftwire.cli.messages.message_lookup import load_registry
from kraftwire.cli.options.stored import limit_option, log_option, refuse_input_as_output
from kraftwire.console.failures import CouldNotDoIt, exit_with_findings
from kraftwire.console.output import on_terminal, output_choice, print_note
from kraftwire.explain.rows import ByteRow, RowReport, Scope
from kraftwire_wire.errors import count_of

_MOST_ON_TERMINAL = 1_000
_MOST_IN_PAGE = 20_000
_MAX_BATCH_BYTES = 16 << 20
"""The default, which is low: a row takes many times the memory of its bytes."""
_ERRORS_SHOWN = 5


@click.command(context_settings={"default_map": {"limit": _MAX_BATCH_BYTES}})
@click.argument("path", required=False, metavar="[FILE]")
@bytes_options
@click.option("--batch", type=click.File("rb"), metavar="FILE", help="Record batches.")
@click.option(
    "--position", type=int, metavar="N", help="Explain what is at this byte of a stored FILE."
)
@click.option(
    "--offset", type=int, metavar="N", help="Explain the batch of a stored FILE with this offset."
)
@log_option
@limit_option
@click.option(
    "--most",
    type=click.IntRange(min=0),
    metavar="N",
    help="Print at most N rows; 0 for all. Errors are always printed.",
)
@click.option("--full", is_flag=True, help="Print all bytes of long values.")
@output_choice("json", "table", "text", "html")
@click.option("--out", type=click.Path(path_type=Path), help="The file for -o html.")
def explain(
    output: str | None, out: Path | None, most: int | None, full: bool, **given: Any
) -> None:
    """Show what each byte is: ranges, fields, types and values.

    FILE is a stored file: a segment, a metadata snapshot, an index, a producer snapshot. With
    --message and --record it has their bytes instead, as for `kraftwire decode`: hex, base64
    or binary, - for standard input.

    Lengths, counts and tags have rows of their own. A wrong byte ends the view with what was
    expected there, and the exit code is 1. A wrong CRC is marked, and the view goes on.

    -o text is the table without colours; -o html is one page without other files.

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
    options = ExplainOptions(**given)
    make_rows = find_explain(options, load_registry(messages))
    form = output or ("table" if on_terminal() else "json")
    pages: list[TextIO] = []
    rows = _Limited(_view(form, out, options, pages, full=full), _most(most, form))
    report = RowReport(rows.row)
    try:
        make_rows(Scope(report))
        rows.view.finish()
    finally:
        for page in pages:
            page.close()
    _report(report, rows.left_out)


def _view(
    form: str, out: Path | None, options: ExplainOptions, pages: list[TextIO], *, full: bool
) -> View:
    """Return the view for a form; append a file that it opens to `pages`, to be closed."""
    if form == "json":
        return JsonView()
    if form != "html":
        return TextView(full=full, coloured=form == "table" and on_terminal())

    def open_page() -> TextIO:
        if out is None:
            if sys.stdout is None:
                raise CouldNotDoIt("standard output is closed")
            return sys.stdout
        if out.exists():
            refuse_input_as_output(out, map(Path, options.files))
        pages.append(out.open("w", encoding="utf-8"))
        return pages[0]

    return HtmlView(open_page, f"{_title(options)}, explained", full=full)


def _title(options: ExplainOptions) -> str:
    way = choose_way(options, WAYS)
    names = {"message": options.message, "response": options.name, "path": options.path}
    name = names.get(way) or way
    return name if options.version is None else f"{name} version {options.version}"


def _most(most: int | None, form: str) -> int:
    if most is not None:
        return most
    if form == "html":
        return _MOST_IN_PAGE
    return _MOST_ON_TERMINAL if form == "table" and on_terminal() else 0


class _Limited:
    """Passes the first `most` rows on, and all rows with problems."""

    def __init__(self, view: View, most: int) -> None:
        self.view = view
        self.left_out = 0
        self._most = most
        self._count = 0

    def row(self, row: ByteRow) -> None:
        self._count += 1
        if self._most and self._count > self._most and not row.problem:
            self.left_out += 1
            return
        self.view.row(row)


def _report(report: RowReport, left_out: int) -> None:
    """Print how many rows were left out, and the errors; set the exit code if there are any."""
    if left_out:
        print_note(f"{count_of(left_out, 'row')} left out; --most 0 shows all")
    findings = report.findings
    for error in findings[:_ERRORS_SHOWN]:
        print_note(f"Error: {error}")
    if len(findings) > _ERRORS_SHOWN:
        print_note(f"and {count_of(len(findings) - _ERRORS_SHOWN, 'more error')}")
    exit_with_findings(findings)
