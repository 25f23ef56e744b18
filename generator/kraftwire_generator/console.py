"""Prints output and reports failures for the generator's commands, without the rest of kraftwire.

The rules are those of `kraftwire.console`; codec_tests/cli/test_console.py tests both.
Data goes to standard output, everything else to standard error. Exit codes: 0 done, 1 findings,
2 failed, 130 interrupted, 141 the reader of standard output closed it.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import click

from kraftwire_generator.errors import Finding, SpecError, TemplateError
from kraftwire_generator.printing import printable

EXIT_FINDINGS = 1
EXIT_FAILURE = 2
EXIT_INTERRUPTED = 130
EXIT_PIPE_CLOSED = 141


class CouldNotDoIt(click.ClickException):
    """A command failed; each line of the message is made printable."""

    exit_code = EXIT_FAILURE

    def __init__(self, *lines: str) -> None:
        super().__init__("\n".join(map(printable, lines)))


class PrintableGroup(click.Group):
    """A command group that reports the failures of its commands in printable text."""

    def make_context(self, *args: Any, **settings: Any) -> click.Context:
        with _printable_usage_errors():
            return super().make_context(*args, **settings)

    def invoke(self, ctx: click.Context) -> Any:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")  # for characters the encoding lacks
        with reporting_failures():
            return super().invoke(ctx)


@contextmanager
def reporting_failures() -> Iterator[None]:
    """Turn every exception that is not a bug into a message and an exit code."""
    try:
        with _printable_usage_errors():
            yield
        if sys.stdout is not None:
            sys.stdout.flush()  # a flush at exit would print a traceback if the reader is gone
    except SpecError as error:
        count = len(error.findings)
        summary = [f"{count} errors in the specs"] if count > 1 else []
        raise CouldNotDoIt(*map(finding_text, error.findings), *summary) from None
    except TemplateError as error:
        raise CouldNotDoIt(*str(error).split("\n")) from None
    except KeyboardInterrupt:
        raise click.exceptions.Exit(EXIT_INTERRUPTED) from None
    except BrokenPipeError:
        _discard_output()
        raise click.exceptions.Exit(EXIT_PIPE_CLOSED) from None
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise CouldNotDoIt(f"{where}{error.strerror or error}") from None


@contextmanager
def _printable_usage_errors() -> Iterator[None]:
    """Make click's own messages printable: they quote arguments, such as file names."""
    try:
        yield
    except (click.MissingParameter, click.exceptions.NoArgsIsHelpError):
        raise  # these quote nothing, and have several lines
    except click.UsageError as error:
        raise click.UsageError(printable(error.format_message()), error.ctx) from None
    except click.FileError as error:
        raise CouldNotDoIt(error.format_message()) from None


def _discard_output() -> None:
    """Redirect standard output, so that Python's flush at exit succeeds without a reader."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, sys.stdout.fileno())
    os.close(devnull)


def finding_text(finding: Finding) -> str:
    """Return a finding as a line, with its file relative to the current directory if possible."""
    return str(replace(finding, file=shown_path(Path(finding.file))))


def shown_path(path: Path) -> str:
    """Return a path relative to the current directory if it is below it."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def print_lines(lines: Iterable[str], *, err: bool = False) -> None:
    """Print each string as one line, with control characters escaped."""
    for line in lines:
        click.echo(printable(line), err=err)


def json_line(row: Mapping[str, object]) -> str:
    """Return an object as a line of printable ASCII."""
    return json.dumps(row).replace("\x7f", "\\u007f")


def on_terminal() -> bool:
    """Whether standard output is a terminal; it is None if it was closed (`>&-`)."""
    return sys.stdout is not None and sys.stdout.isatty()


def count_text(number: int, noun: str) -> str:
    """Return a number with its noun, such as `1 message` or `2 messages`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


@contextmanager
def progress_bar(label: str, length: int) -> Iterator[Callable[[str], None]]:
    """Show a progress bar if standard error is a terminal; yield a function that advances it."""
    if sys.stderr is None or not sys.stderr.isatty() or length < 2:
        yield lambda name: None
        return
    with click.progressbar(
        length=length, label=label, file=sys.stderr, item_show_func=lambda name: name or ""
    ) as bar:
        yield lambda name: bar.update(1, name)
