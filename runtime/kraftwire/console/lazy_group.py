"""Groups of commands that import a command when it is called.

So `--help` imports no command, and a command can need an extra that others do not need.
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


class LazyCommand(NamedTuple):
    """A command that is not imported yet; `target` is `module:attribute`."""

    name: str
    target: str
    help: str


class LazyGroup(click.Group):
    """A group of commands and further groups."""

    def __init__(
        self,
        name: str,
        help: str,  # noqa: A002 - click calls it so
        entries: Sequence[LazyCommand | LazyGroup],
        **settings: Any,
    ) -> None:
        """`settings` are those of `click.Group`."""
        super().__init__(name, help=help, **settings)
        self.entries = {str(entry.name): entry for entry in entries}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = self.entries.get(cmd_name)
        if not isinstance(entry, LazyCommand):
            return entry
        module, _, attribute = entry.target.partition(":")
        try:
            command: click.Command = getattr(import_module(module), attribute)
        except ModuleNotFoundError:
            if ctx.resilient_parsing:  # shell completion, which must not print an error
                return None
            ctx.invoked_subcommand = cmd_name  # for the error message; click sets it too late
            raise
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in self.entries and not name.startswith("-") and not ctx.resilient_parsing:
            near = get_close_matches(name, self.entries, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            ctx.fail(f"no command {name!r}{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help or "") for name, entry in self.entries.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        commands = [
            CompletionItem(name, help=entry.help)
            for name, entry in self.entries.items()
            if name.startswith(incomplete)
        ]
        return commands + click.Command.shell_complete(self, ctx, incomplete)

    def make_context(self, *args: Any, **settings: Any) -> click.Context:
        with printable_usage_errors():
            return super().make_context(*args, **settings)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, and report failures of all commands."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, TextIOWrapper):
                stream.reconfigure(
                    errors="backslashreplace"
                )  # for characters that the encoding lacks
        if sys.stdin is None:  # closed (`<&-`): read it as an empty file
            sys.stdin = Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115
        with reporting_failures():
            return super().invoke(ctx)
