"""Ends commands that fail with a line on standard error and an exit code.

Exit codes: 0 done; 1 findings: something is wrong with the data; 2 could not do it: something is
wrong with the command, its files or the installation; 130 interrupted; 141 the reader of standard
output has disconnected. Commands let exceptions pass; `reporting_failures`, around every command,
turns them into these.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from kraftwire.printing import printable
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
"""The extra of the distribution that installs an optional package."""


class Failure(click.ClickException):
    """The base class. Its message may quote anything: each line is made printable."""

    def __init__(self, *lines: str) -> None:
        super().__init__("\n".join(map(printable, lines)))


class Finding(Failure):
    """Something is wrong with the data that a command was given."""

    exit_code = EXIT_FINDINGS


class CouldNotDoIt(Failure):
    """A command could not do its work; the message has the reason."""

    exit_code = EXIT_FAILURE


def exit_with_findings(found: object) -> None:
    """End the command with exit code 1 if there were findings."""
    if found:
        raise click.exceptions.Exit(EXIT_FINDINGS)


@contextmanager
def printable_usage_errors() -> Iterator[None]:
    """Make click's own messages printable: they quote arguments, such as file names."""
    try:
        yield
    except (click.MissingParameter, click.exceptions.NoArgsIsHelpError):
        raise  # these quote nothing, and have several lines
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
            sys.stdout.flush()  # at exit, a closed pipe would cause a traceback
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
        install = f"pip install 'kraftwire[{EXTRAS[package]}]'"
        raise CouldNotDoIt(f"{_command_name()} needs {package}: {install}") from None


def _command_name() -> str:
    context = click.get_current_context(silent=True)
    if context is None:
        return "this command"
    return f"`{context.command_path} {context.invoked_subcommand or ''}".rstrip() + "`"


def _discard_output() -> None:
    """Redirect standard output, so that Python's flush at exit succeeds."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, sys.stdout.fileno())
    os.close(devnull)
