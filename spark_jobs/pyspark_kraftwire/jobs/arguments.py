"""What the scripts' command lines share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from pyspark_kraftwire.options import FILE_SYSTEM

F = TypeVar("F", bound=Callable[..., Any])


def named_values(
    context: click.Context, parameter: click.Parameter, given: Sequence[str]
) -> dict[str, str]:
    """`name=value` arguments by their names."""
    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise click.BadParameter(f"{text!r} is not like name=value")
        found[name] = value
    return found


def paths_argument(command: F) -> F:
    """PATH...: what `load` takes."""
    return click.argument("paths", nargs=-1, required=True, metavar="PATH...")(command)


def source_option(command: F) -> F:
    """The option `--option`; the parameter is called `options`."""
    return click.option(
        "--option",
        "options",
        multiple=True,
        callback=named_values,
        metavar="NAME=VALUE",
        help=f"An option of the source: topics=tea, mode=FAILFAST, {FILE_SYSTEM}region=eu-west-1.",
    )(command)


def format_option(command: F) -> F:
    """The option `--format`; the parameter is called `format_`."""
    return click.option(
        "--format",
        "format_",
        default="parquet",
        show_default=True,
        help="Of the files, any of Spark's.",
    )(command)


def overwrite_option(command: F) -> F:
    """The option `--overwrite`."""
    text = "Replace what is at DIR; else that is an error."
    return click.option("--overwrite", is_flag=True, help=text)(command)
