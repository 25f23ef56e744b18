"""Groups of commands that import a command when it is called.

So `--help` needs no command's module, and a command can need an extra that the others do
not.
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

from kraftwire.console.failures import printable_usage_errors, reporting_failures


class Row(NamedTuple):
    """One command: its name, the module and the name there that hold it, and its help."""

    name: str
    module: str
    attribute: str
    help: str


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

    def make_context(self, *args: Any, **settings: Any) -> click.Context:
        """Parse the arguments of this group; see `click.Command`."""
        with printable_usage_errors():
            return super().make_context(*args, **settings)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; failures of every command are reported here."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, TextIOWrapper):  # what the encoding lacks is escaped
                stream.reconfigure(errors="backslashreplace")
        if sys.stdin is None:  # closed (`<&-`), which reads like an empty file
            sys.stdin = Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115
        with reporting_failures():
            return super().invoke(ctx)
