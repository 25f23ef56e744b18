"""How commands end when something is in the way: one line on standard error, an exit code.

Exit codes: 0 done; 1 findings, which is what is wrong with the data; 2 could not do it,
which is what is wrong with the command, its files or the installation; 130 interrupted;
141 the reader of standard output went away. A command raises what it has met, and
`reporting_failures`, around every command, turns it into these.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from kraftwire.console.output import printable
from kraftwire_wire.errors import FieldError, KraftwireError

EXIT_FINDINGS = 1
EXIT_FAILURE = 2
EXIT_INTERRUPTED = 130
EXIT_PIPE_CLOSED = 141

EXTRAS = {
    "black": "generator",
    "jinja2": "generator",
    "pcapy": "capture",
    "prometheus_client": "prometheus",
    "pyarrow": "parquet",
}
"""Which extra of the distribution brings a package that is not always installed."""


class Failure(click.ClickException):
    """The base of both: its message is made printable, so that it can quote anything."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


class Finding(Failure):
    """Something wrong with the data that a command was given."""

    exit_code = EXIT_FINDINGS


class CouldNotDoIt(Failure):
    """A command that could not do what it was asked for, and why."""

    exit_code = EXIT_FAILURE


@contextmanager
def printable_usage_errors() -> Iterator[None]:
    """Make click's own messages printable: they quote arguments, such as the name of a file.

    A missing parameter stays as it is: its message quotes nothing, and lists choices by line.
    """
    try:
        yield
    except (click.MissingParameter, click.exceptions.NoArgsIsHelpError):
        raise
    except click.UsageError as error:
        raise click.UsageError(printable(error.format_message()), error.ctx) from None
    except click.FileError as error:
        raise CouldNotDoIt(error.format_message()) from None


@contextmanager
def reporting_failures() -> Iterator[None]:
    """Turn everything that is not a bug into a message and an exit code."""
    try:
        with printable_usage_errors():
            yield
        if sys.stdout is not None:
            sys.stdout.flush()  # here, where a reader that went away is no traceback
    except FieldError as error:
        raise Finding(str(error)) from None
    except KraftwireError as error:
        raise CouldNotDoIt(str(error)) from None
    except KeyboardInterrupt:
        raise click.exceptions.Exit(EXIT_INTERRUPTED) from None
    except BrokenPipeError:
        _discard_output()
        raise click.exceptions.Exit(EXIT_PIPE_CLOSED) from None
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise CouldNotDoIt(f"{where}{error.strerror or error}") from None
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in EXTRAS:
            raise
        mend = f"pip install 'kraftwire[{EXTRAS[package]}]'"
        raise CouldNotDoIt(f"this needs {package}, which is not installed: {mend}") from None


def _discard_output() -> None:
    """Let Python's own flush at exit succeed although nobody reads any more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
