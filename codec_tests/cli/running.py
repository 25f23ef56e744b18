"""Run `kraftwire decode` and `encode` in this process."""

from __future__ import annotations

import json
from typing import Any

from click.testing import CliRunner, Result

from kraftwire.cli import main


def run(*args: str, stdin: bytes | str | None = None) -> Result:
    return CliRunner().invoke(main, list(args), input=stdin, catch_exceptions=False)


def done(*args: str, stdin: bytes | str | None = None) -> Result:
    result = run(*args, stdin=stdin)
    assert result.exit_code == 0, result.stderr
    return result


def decoded(*args: str, stdin: bytes | str | None = None) -> Any:
    (line,) = done("decode", *args, stdin=stdin).stdout.splitlines()
    return json.loads(line)


def encoded(obj: str, *args: str) -> bytes:
    return done("encode", "-o", "binary", *args, stdin=obj).stdout_bytes
