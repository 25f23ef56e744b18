"""Options of the commands that read stored logs: paths, offsets, times, the batch limit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click

from kraftwire.console.failures import CouldNotDoIt
from kraftwire.console.times import parse_time
from kraftwire.log.batches.compression import DEFAULT_LIMIT
from kraftwire.log.queries.typed_records import LOGS

F = TypeVar("F", bound=Callable[..., Any])

paths_argument = click.argument(
    "paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path)
)

limit_option = click.option(
    "--max-batch-bytes",
    "limit",
    type=click.IntRange(min=1),
    default=DEFAULT_LIMIT,
    show_default=True,
    metavar="BYTES",
    help="How large one batch may become when decompressed.",
)


log_option = click.option(
    "--as", "log", type=click.Choice(LOGS), help="What the records are, regardless of the path."
)


def refuse_input_as_output(out: Path, inputs: Iterable[Path]) -> None:
    """Raise `CouldNotDoIt` if the file to write is one of the files to read."""
    if out.exists() and any(map(out.samefile, inputs)):
        raise CouldNotDoIt(f"{out} is an input; name another file with --out")


def time_option(name: str, text: str) -> Callable[[F], F]:
    """Make an option that takes a time; its parameter is in ms."""

    def parse(context: click.Context, option: click.Parameter, value: str | None) -> int | None:
        try:
            return None if value is None else parse_time(value)
        except ValueError as error:
            raise click.BadParameter(str(error), context, option) from None

    return click.option(name, callback=parse, metavar="TIME", help=text)


def check_range(from_offset: int | None, to_offset: int | None) -> None:
    """Raise `CouldNotDoIt` if a range of offsets is empty."""
    if from_offset is not None and to_offset is not None and to_offset <= from_offset:
        raise CouldNotDoIt(f"--from-offset {from_offset} is not below --to-offset {to_offset}")
