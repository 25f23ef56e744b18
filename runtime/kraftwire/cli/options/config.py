"""What commands share that read a node's `server.properties`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from kraftwire.console.failures import CouldNotDoIt
from kraftwire.node.settings.property_reader import InvalidProperties
from kraftwire.node.storage.directories import UnusableDirectories
from kraftwire.printing import printable

F = TypeVar("F", bound=Callable[..., Any])


def config_option(command: F) -> F:
    """The option `-c`; the parameter is called `config`."""
    return click.option(
        "-c",
        "--config",
        required=True,
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="The node's server.properties.",
    )(command)


@contextmanager
def telling_all() -> Iterator[None]:
    """Print a line for each of several things that are wrong."""
    try:
        yield
    except InvalidProperties as error:
        *others, last = error.findings
    except UnusableDirectories as error:
        *others, last = map(str, error.problems)
    else:
        return
    for line in others:
        click.echo(f"Error: {printable(line)}", err=True)
    raise CouldNotDoIt(last)
