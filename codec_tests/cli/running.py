"""Run `kraftwire`: in this process, or in one of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from click.testing import CliRunner, Result

from kraftwire.cli import main

SECONDS = 60
"""How long a process may take."""

ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}


def run(*args: object, stdin: bytes | str | None = None) -> Result:
    return CliRunner().invoke(main, list(map(str, args)), input=stdin, catch_exceptions=False)


def done(*args: object, stdin: bytes | str | None = None) -> Result:
    result = run(*args, stdin=stdin)
    assert result.exit_code == 0, result.stderr
    return result


def refused(message: str, *args: str, stdin: bytes | str | None = None, code: int = 2) -> None:
    """Check that a command prints nothing, ends with an exit code, and says why."""
    result = run(*args, stdin=stdin)
    assert (result.exit_code, result.stdout) == (code, ""), result.stderr
    assert message in result.stderr


def decoded(*args: object, stdin: bytes | str | None = None) -> Any:
    (line,) = done("decode", *args, stdin=stdin).stdout.splitlines()
    return json.loads(line)


def encoded(obj: str, *args: object) -> bytes:
    return done("encode", "-o", "binary", *args, stdin=obj).stdout_bytes


def start(*args: str, before: str = "", **streams: int) -> subprocess.Popen[bytes]:
    """Start a process, which first executes `before`."""
    code = f"{before}\nfrom kraftwire.cli import main; main(prog_name='kraftwire')"
    command = [sys.executable, "-c", code, *args]
    return subprocess.Popen(command, env=ENVIRONMENT, **streams)  # type: ignore[call-overload, no-any-return]


def finish(*args: str, before: str = "") -> tuple[int, str, str]:
    """Run a process; return its exit code, standard output and standard error."""
    process = start(*args, before=before, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = process.communicate(timeout=SECONDS)
    assert b"Traceback" not in err
    return process.returncode, out.decode(), err.decode()
