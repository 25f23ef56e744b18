"""The option for a node's `server.properties`, and how commands print its errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from kraftwire.console.failures import CouldNotDoIt
from kraftwire.console.output import print_note
from kraftwire.node.settings.property_reader import InvalidProperties
from kraftwire.node.storage.directories import UnusableDirectories

config_option = click.option(
    "-c",
    "--config",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The node's server.properties.",
)


@contextmanager
def reporting_problems() -> Iterator[None]:
    """Print every problem of settings and directories on its own line."""
    try:
        yield
    except (InvalidProperties, UnusableDirectories) as error:
        *others, last = map(
            str, error.findings if isinstance(error, InvalidProperties) else error.problems
        )
        for line in others:
            print_note(f"Error: {line}")
        raise CouldNotDoIt(last) from None
