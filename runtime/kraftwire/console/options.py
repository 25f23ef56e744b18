"""What the commands of `log` share: paths, times, the report of findings, progress."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import click

from kraftwire.console.failures import EXIT_FINDINGS, CouldNotDoIt
from kraftwire.console.output import on_terminal, printable
from kraftwire.log.compression import DEFAULT_LIMIT

F = TypeVar("F", bound=Callable[..., Any])

_LONG_WORK = 64 << 20

_MAX_MILLISECONDS = 253_402_300_799_999
"""The last one of the year 9999, the last that can be written as a date."""


def parse_time(text: str) -> int:
    """Milliseconds since 1970, out of a number or a date with a time; without a zone it is UTC."""
    if text.removeprefix("-").isdecimal() and len(text) < 20:
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        reason = f"{text!r} is neither milliseconds nor like 2026-11-21T10:00:00Z"
        raise click.BadParameter(reason) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return int(moment.timestamp() * 1000)


def time_option(name: str, text: str) -> Callable[[F], F]:
    """An option that takes a time; the parameter is in ms."""
    return click.option(name, type=parse_time, metavar="TIME", help=text)


def check_range(from_offset: int | None, to_offset: int | None) -> None:
    """Refuse offsets that hold nothing between them."""
    if from_offset is not None and to_offset is not None and to_offset <= from_offset:
        raise CouldNotDoIt(f"--from-offset {from_offset} is not below --to-offset {to_offset}")


def paths_argument(command: F) -> F:
    """PATH...: data directories, partition directories, files."""
    return click.argument(
        "paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path)
    )(command)


def limit_option(command: F) -> F:
    """The option `--max-batch-bytes`; the parameter is called `limit`."""
    return click.option(
        "--max-batch-bytes",
        "limit",
        type=click.IntRange(min=1),
        default=DEFAULT_LIMIT,
        show_default=True,
        metavar="BYTES",
        help="How large one batch may become when decompressed.",
    )(command)


def format_time(milliseconds: int) -> str:
    """A timestamp for people: UTC, to the millisecond; numbers that are no date stay numbers."""
    if not 0 <= milliseconds <= _MAX_MILLISECONDS:
        return str(milliseconds)
    moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return moment.strftime("%Y-%m-%d %H:%M:%S.") + f"{milliseconds % 1000:03}"


class Findings:
    """What is wrong with the data: a line each on standard error, and the exit code."""

    def __init__(self) -> None:
        """None yet."""
        self.count = 0

    def add(self, text: str) -> None:
        """Report one."""
        self.count += 1
        click.echo(printable(text), err=True)

    def add_error(self, error: object) -> None:
        """Report what could not be read or applied."""
        self.add(str(error))

    def exit(self) -> None:
        """End the command with 1 where there were any."""
        if self.count:
            raise click.exceptions.Exit(EXIT_FINDINGS)


@contextmanager
def progress(total: int, label: str, *, prints: bool = False) -> Iterator[Callable[[int], None]]:
    """A bar on standard error while it is a terminal; yields what counts bytes done.

    `total` is in bytes; there is no bar for what is done in a moment. Commands that print as
    they go say `prints`: there is no bar then where the data goes to a terminal too, whose
    lines it would tear.
    """
    hidden = total < _LONG_WORK or (prints and on_terminal())
    if hidden or sys.stderr is None or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield lambda done: bar.advance(task, done)
