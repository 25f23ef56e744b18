"""Arguments and options that the scripts' command lines share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from pyspark_kraftwire.options import FILE_SYSTEM

F = TypeVar("F", bound=Callable[..., Any])


def parse_named_values(
    context: click.Context, parameter: click.Parameter, given: Sequence[str]
) -> dict[str, str]:
    """Return `name=value` arguments by their names."""
    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise click.BadParameter(f"{text!r} is not like name=value")
        found[name] = value
    return found


paths_argument = click.argument("paths", nargs=-1, required=True, metavar="PATH...")
"""PATH...: what `load` accepts."""

source_option = click.option(
    "--option",
    "options",
    multiple=True,
    callback=parse_named_values,
    metavar="NAME=VALUE",
    help=f"An option of the source: topics=tea, mode=FAILFAST, {FILE_SYSTEM}region=eu-west-1.",
)
"""The option `--option`; the parameter is called `options`."""


def table_arguments(out_help: str) -> Callable[[F], F]:
    """Add PATH... and the options of a script that writes tables: --out, --format, --overwrite."""

    def add_to(command: F) -> F:
        for parameter in (
            click.option("--overwrite", is_flag=True, help="Replace existing tables in DIR."),
            click.option(
                "--format",
                "format_",
                default="parquet",
                show_default=True,
                help="Any file format of Spark.",
            ),
            click.option("--out", metavar="DIR", help=out_help),
            paths_argument,
        ):
            command = parameter(command)
        return command

    return add_to
