"""The group `kraftwire` and the rows that say where its commands are.

A command's module is imported when the command runs or is asked for its own help, so that
`kraftwire --help` needs none of them, and a command can need an extra that the others do
not. The generator's commands are mounted the same way; this is the only package that
knows the generator.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import Any, NamedTuple

import click
from click.shell_completion import CompletionItem

from kraftwire.cli.failures import reporting_failures


class Row(NamedTuple):
    """One command: its name, the module and the name there that hold it, and its help."""

    name: str
    module: str
    attribute: str
    help: str


ROWS = (
    Row(
        "generate",
        "kraftwire_generator.cli",
        "generate",
        "Write the Python codecs of message specs.",
    ),
    Row(
        "check",
        "kraftwire_generator.cli",
        "check",
        "Show where generated code differs from what the specs say.",
    ),
    Row(
        "lint",
        "kraftwire_generator.linting.lint_cli",
        "lint",
        "Look for slips in message specs, in files and on pages.",
    ),
    Row(
        "specs",
        "kraftwire_generator.specs_cli",
        "specs",
        "Import message specs, and show what changed between two sets.",
    ),
    Row(
        "evolve",
        "kraftwire_generator.comparing.evolve_cli",
        "evolve",
        "Say whether a change of specs breaks the wire.",
    ),
    Row("fields", "kraftwire.cli.fields", "fields", "Show the wire layout of a message."),
    Row("decode", "kraftwire.cli.decode", "decode", "Bytes to JSON, or to a table on a terminal."),
    Row("encode", "kraftwire.cli.encode", "encode", "JSON, as decode prints it, to bytes."),
    Row(
        "capture",
        "kraftwire.cli.capture",
        "capture",
        "Captured traffic: decode recorded frames.",
    ),
)

EPILOG = """\b
Shell completion, as a line for ~/.bashrc (or ~/.zshrc with zsh_source):
  eval "$(_KRAFTWIRE_COMPLETE=bash_source kraftwire)"

\b
Exit codes: 0 done, 1 findings, 2 could not do it.
"""


class LazyGroup(click.Group):
    """A group whose commands are rows; see the module's docstring."""

    def __init__(self, *, rows: Sequence[Row], **settings: Any) -> None:
        """`settings` are those of `click.Group`."""
        super().__init__(**settings)
        self.rows = {row.name: row for row in rows}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of the rows."""
        return list(self.rows)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None where there is no such command."""
        row = self.rows.get(cmd_name)
        if row is None:
            return None
        try:
            command: click.Command = getattr(import_module(row.module), row.attribute)
        except ModuleNotFoundError:
            if ctx.resilient_parsing:  # completion has nothing to say, least of all an error
                return None
            raise
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the arguments name; suggest one where there is none."""
        name = args[0]
        if name not in self.rows and not name.startswith("-") and not ctx.resilient_parsing:
            near = get_close_matches(name, self.rows, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            ctx.fail(f"no command {name!r}{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(row.name, row.help) for row in self.rows.values()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the names of commands without importing them."""
        commands = [
            CompletionItem(row.name, help=row.help)
            for row in self.rows.values()
            if row.name.startswith(incomplete)
        ]
        return commands + click.Command.shell_complete(self, ctx, incomplete)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; failures of every command are reported here."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, TextIOWrapper):  # what the encoding lacks is escaped
                stream.reconfigure(errors="backslashreplace")
        if sys.stdin is None:  # closed (`<&-`), which reads like an empty file
            sys.stdin = Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115
        with reporting_failures():
            return super().invoke(ctx)


main = LazyGroup(
    name="kraftwire",
    rows=ROWS,
    help="Kafka's binary forms: generate codecs, decode, encode, look inside.",
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
)
click.version_option(package_name="kraftwire", prog_name="kraftwire")(main)
