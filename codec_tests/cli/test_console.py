"""The rules of output and failures, on both copies: kraftwire's, and the generator's own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

import kraftwire.console.failures
import kraftwire.printing
import kraftwire_generator.console
import kraftwire_generator.printing
from kraftwire.console.lazy_group import LazyCommand, LazyGroup
from kraftwire_generator.console import PrintableGroup

from codec_tests.cli.running import ENVIRONMENT, SECONDS

ROOT = Path(__file__).parents[2]
RAISED: list[BaseException] = []
"""What the command `fail` raises."""


@click.command("fail")
@click.option("--number", type=int)
@click.option("--file", type=click.File("rb"))
def fail(number: int | None, file: Any) -> None:
    raise RAISED[0]


GROUPS = {
    "kraftwire": LazyGroup("main", "", [LazyCommand("fail", f"{__name__}:fail", "Fails.")]),
    "generator": PrintableGroup("main", {"fail": fail}),
}
FAILURES = {"kraftwire": kraftwire.console.failures, "generator": kraftwire_generator.console}
PROGRAMS = {
    "kraftwire": ("-c", "from kraftwire.cli import main; main()", "fields", "Vote"),
    "generator": (
        *("-m", "kraftwire_generator", "specs", "diff"),
        *("message_specs/kip_853", "message_specs/kip_856"),
    ),
}
both = pytest.mark.parametrize("side", ["kraftwire", "generator"])


@pytest.mark.parametrize("module", [kraftwire.printing, kraftwire_generator.printing])
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 日本", "plain é 日本"),
        ("a\nb\tc", "a\\nb\\tc"),
        ("\x1b[0m\x7f\x9b", "\\x1b[0m\\x7f\\x9b"),
        ("\u202egnp", "\\u202egnp"),
        ("\ud800", "\\ud800"),
        ("\r\n\u2028", "\\r\\n\\u2028"),
    ],
)
def test_printable_text_is_one_line(module: Any, text: str, shown: str) -> None:
    assert module.printable(text) == shown
    assert module.printable_lines(f"{text}\n{text}").split("\n") == [
        *shown.split("\\n"),
        *shown.split("\\n"),
    ]


def failing(side: str, error: BaseException | None = None, *args: str) -> Result:
    RAISED[:] = [] if error is None else [error]
    return CliRunner().invoke(GROUPS[side], ["fail", *args], prog_name="main")


@both
@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (OSError(2, "No such file", "x\n\x1b"), 2, "Error: x\\n\\x1b: No such file\n"),
        (OSError(28, "No space left"), 2, "Error: No space left\n"),
        (OSError("strange"), 2, "Error: strange\n"),
        (click.FileError("x\n", "gone\x1b"), 2, "Error: Could not open file 'x\\n': gone\\x1b\n"),
        (KeyboardInterrupt(), 130, ""),
    ],
    ids=repr,
)
def test_failures(side: str, error: BaseException, code: int, message: str) -> None:
    result = failing(side, error)
    assert (result.exit_code, result.stdout, result.stderr) == (code, "", message)


@both
def test_each_line_of_a_message_is_printable(side: str) -> None:
    error = FAILURES[side].CouldNotDoIt("a\nb", "\x1b[31m")
    assert failing(side, error).stderr == "Error: a\\nb\n\\x1b[31m\n"


@both
@pytest.mark.parametrize(
    "args", [("--number", "\x1b\n"), ("--\x1b\n",), ("--file", "\x1b\n"), ("\x1b\n",)]
)
def test_usage_errors_are_printable(side: str, args: tuple[str, ...]) -> None:
    result = failing(side, None, *args)
    assert result.exit_code == 2
    assert "\\x1b\\n" in result.stderr
    assert "\x1b" not in result.stderr


@both
def test_bugs_have_a_traceback(side: str) -> None:
    assert isinstance(failing(side, ZeroDivisionError()).exception, ZeroDivisionError)


def finish(side: str, redirection: str = "", stdout: int | None = None) -> tuple[int, bytes]:
    """Run a program; return its exit code and standard error."""
    command = ["sh", "-c", f'exec "$@" {redirection}', "sh", sys.executable, *PROGRAMS[side]]
    done = subprocess.run(
        command, env=ENVIRONMENT, cwd=ROOT, stdout=stdout, stderr=subprocess.PIPE, timeout=SECONDS
    )
    return done.returncode, done.stderr


@both
def test_a_closed_pipe_ends_quietly(side: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    code, errors = finish(side, stdout=writer)
    os.close(writer)
    assert code == 141
    assert b"Error" not in errors


@both
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_reported(side: str) -> None:
    code, errors = finish(side, ">/dev/full")
    assert code == 2
    assert errors.endswith(b"Error: No space left on device\n")
    assert b"Traceback" not in errors


@both
def test_closed_output_is_no_error(side: str) -> None:
    code, errors = finish(side, ">&-")
    assert code in (0, 1)  # 1 if the two sets differ
    assert b"Error" not in errors
