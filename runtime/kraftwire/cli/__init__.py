"""The command line `kraftwire`; `commands` lists what it can do."""

from __future__ import annotations

from kraftwire.cli.commands import main

__all__ = ["main"]
