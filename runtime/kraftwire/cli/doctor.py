"""The command `doctor`: what is installed here, and what of kraftwire it makes work."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import click

from kraftwire.cli.failures import EXTRAS
from kraftwire.cli.output import output_option, print_json, print_table, wants_json
from kraftwire_wire.engine import ENGINE, VARIABLE, native_codec

_SECONDS = 10
_NOT_COMPILED = "the native part is not compiled: install kraftwire where there is a C compiler"
_NEEDED = ("click", "rich", "construct", "cramjam", "crc32c")


class Row(NamedTuple):
    """One thing: what there is of it, and what it is for or how it is had."""

    what: str
    found: str | None
    remark: str


@click.command()
@output_option
def doctor(output: str | None) -> None:
    """Show which engine runs, and the versions of all that kraftwire can use.

    The engine is native where kraftwire was installed with a C compiler at hand, and plain
    Python elsewhere, which does the same. Put the output into a bug report.

    \b
    Examples:
      kraftwire doctor
      KRAFTWIRE_ENGINE=python kraftwire doctor -o json
    """
    rows = list(_rows())
    if wants_json(output):
        for row in rows:
            print_json({"what": row.what, "found": row.found, "remark": row.remark})
    else:
        print_table(("what", "found", "remark"), rows, folded=("found", "remark"))


def _rows() -> Iterator[Row]:
    yield Row("kraftwire", _version("kraftwire"), "")
    yield Row("engine", ENGINE, _why())
    yield Row("columns", *_columns())
    yield Row("python", platform.python_version(), platform.platform())
    compiler = os.environ.get("CC") or "cc"
    yield Row("C compiler", _first_line(compiler, "--version"), "for the native engine, at install")
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else "java"
    yield Row("java", _first_line(java, "-version"), "for Spark, and to test against Kafka itself")
    for name in _NEEDED:
        yield Row(name, _version(name), "")
    for name, extra in EXTRAS.items():
        yield Row(name, _version(name), f"pip install 'kraftwire[{extra}]'")
    yield Row("pyspark", _version("pyspark"), "")


def _why() -> str:
    """Why this engine runs."""
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return f"{VARIABLE}={chosen}"
    if native_codec() is None:
        return _NOT_COMPILED
    return ""


def _columns() -> tuple[str | None, str]:
    """Which engine makes columns, and why."""
    try:
        from kraftwire.columns.engine import NATIVE
    except ModuleNotFoundError as error:
        return None, str(error)
    return ("native", "") if NATIVE is not None else ("python", _why() or _NOT_COMPILED)


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _first_line(program: str, option: str) -> str | None:
    """The first line that a program prints of itself; None where there is no such program."""
    found = shutil.which(program)
    if found is None:
        return None
    try:
        done = subprocess.run(  # noqa: S603 - the compiler and the java that would be used
            [found, option],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_SECONDS,
            check=False,
            text=True,
            errors="replace",
        )
    except (OSError, subprocess.TimeoutExpired):
        return f"{found} does not answer"
    return done.stdout.partition("\n")[0].strip() or found
