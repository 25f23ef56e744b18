"""What the generator's commands share: exit codes, and where output goes.

Data goes to standard output and diagnostics to standard error. Exit codes: 0 done,
1 findings, 2 could not do it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from kraftwire_generator.errors import Finding, SpecError, TemplateError

EXIT_FINDINGS = 1
EXIT_FAILURE = 2


class CouldNotDoIt(click.ClickException):
    """A command that could not do what it was asked for, and why."""

    exit_code = EXIT_FAILURE


@contextmanager
def reporting_failures() -> Iterator[None]:
    """Turn the failures that a user can mend into a message and exit code 2."""
    try:
        yield
    except SpecError as error:
        count = len(error.findings)
        lines = [finding_text(finding) for finding in error.findings]
        summary = [f"{count} errors in the specs"] if count > 1 else []
        raise CouldNotDoIt("\n".join(lines + summary)) from None
    except TemplateError as error:
        raise CouldNotDoIt(printable(str(error))) from None
    except OSError as error:
        raise CouldNotDoIt(one_line(f"{error.filename or ''}: {error.strerror}")) from None


class PrintableGroup(click.Group):
    """A group whose usage errors are printable: click's quote arguments as they are."""

    def make_context(self, *args: Any, **settings: Any) -> click.Context:
        """Parse the arguments of this group; see `click.Command`."""
        with _printable_usage_errors():
            return super().make_context(*args, **settings)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, whose arguments are parsed here too."""
        with _printable_usage_errors():
            return super().invoke(ctx)


@contextmanager
def _printable_usage_errors() -> Iterator[None]:
    try:
        yield
    except (click.MissingParameter, click.exceptions.NoArgsIsHelpError):
        raise  # these quote nothing, and have several lines
    except click.UsageError as error:
        raise click.UsageError(one_line(error.format_message()), error.ctx) from None


def finding_text(finding: Finding) -> str:
    """A finding as a line, its file as a person in the current directory would write it."""
    return str(replace(finding, file=shown_path(Path(finding.file))))


def shown_path(path: Path) -> str:
    """A path as a person in the current directory would write it."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def printable(text: str) -> str:
    """The text without characters that a terminal would act on."""
    return "".join(
        char if char.isprintable() or char == "\n" else repr(char)[1:-1] for char in text
    )


def one_line(text: str) -> str:
    """The text on one line, without characters that a terminal would act on."""
    return printable(text).replace("\n", "\\n")


def on_terminal() -> bool:
    """True where standard output is a terminal; it is None where it was closed (`>&-`)."""
    return sys.stdout is not None and sys.stdout.isatty()


def count_text(number: int, noun: str) -> str:
    """A number with its noun, such as `1 message` or `2 messages`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _item(name: str | None) -> str:
    return name or ""


@contextmanager
def progress_bar(label: str, length: int) -> Iterator[Callable[[str], None]]:
    """A progress bar on a terminal; nothing where standard error is a file or a pipe."""
    if not sys.stderr.isatty() or length < 2:
        yield lambda name: None
        return
    bar = click.progressbar(length=length, label=label, file=sys.stderr, item_show_func=_item)
    with bar:
        yield lambda name: bar.update(1, name)
