"""Runs the generator's commands, and git, for tests."""

from __future__ import annotations

import subprocess
from pathlib import Path

from click.testing import CliRunner, Result

from kraftwire_generator.commands.group import main

_IDENTITY = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")


def run_generator(*arguments: str) -> Result:
    """Run a command; any exception other than an exit code fails the test."""
    result = CliRunner().invoke(main, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def run_git(root: Path, *arguments: str, stdin: bytes | None = None) -> str:
    command = ["git", "-C", str(root), *_IDENTITY, *arguments]
    return subprocess.run(command, check=True, capture_output=True, input=stdin).stdout.decode()
