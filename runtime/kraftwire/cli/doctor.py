"""The command `doctor`: what is installed, and which parts of kraftwire work with it."""

from __future__ import annotations

import importlib
import os
import pkgutil
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import click

from kraftwire.console.failures import EXTRAS
from kraftwire.console.output import output_option, print_rows
from kraftwire_wire.engine import ENGINE, VARIABLE, native_codec

_SECONDS = 10
_NOT_COMPILED = "the native engine is not compiled: install kraftwire with a C compiler"
_LEAST_JAVA = 17
"""Oldest Java that Spark 4 supports."""
_DATA_SOURCE = "pyspark_kraftwire"
"""Imported by its name: it is in a higher layer, and its dependencies may be missing."""
_NEEDED = ("click", "rich", "construct", "cramjam", "crc32c")


class _Checkup(NamedTuple):
    """A requirement, the version found, and its purpose or how to get it."""

    what: str
    found: str | None
    remark: str


@click.command()
@output_option
def doctor(output: str | None) -> None:
    """Show which engine runs, and the versions of everything that kraftwire can use.

    The engine is native if kraftwire was installed with a C compiler, and plain Python, which
    does the same, if not. Put the output into a bug report.

    \b
    Examples:
      kraftwire doctor
      KRAFTWIRE_ENGINE=python kraftwire doctor -o json
    """
    rows = [(row._asdict(), row) for row in _rows()]
    print_rows(output, _Checkup._fields, rows, folded=("found", "remark"))


def _rows() -> Iterator[_Checkup]:
    yield _Checkup("kraftwire", _version("kraftwire"), "")
    yield _Checkup("engine", ENGINE, _engine_reason())
    yield _Checkup("columns", *_columns())
    yield _Checkup("python", platform.python_version(), platform.platform())
    compiler = os.environ.get("CC") or "cc"
    yield _Checkup(
        "C compiler", _first_line(compiler, "--version"), "for the native engine, at install"
    )
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else "java"
    line = _first_line(java, "-version")
    yield _Checkup("java", line, "for Spark, and to test against Kafka itself")
    yield _Checkup("spark", *_spark(line, "JAVA_HOME" if home else "PATH"))
    for name in _NEEDED:
        yield _Checkup(name, _version(name), "")
    for name, extra in EXTRAS.items():
        yield _Checkup(name, _version(name), f"pip install 'kraftwire[{extra}]'")
    yield _Checkup("pyspark", _version("pyspark"), "")


def _engine_reason() -> str:
    """Return why this engine runs."""
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return f"{VARIABLE}={chosen}"
    if native_codec() is None:
        return _NOT_COMPILED
    return ""


def _columns() -> tuple[str | None, str]:
    """Return which engine makes columns, and why."""
    try:
        from kraftwire.columns.engine import NATIVE
    except ModuleNotFoundError as error:
        return None, str(error)
    return ("native", "") if NATIVE is not None else ("python", _engine_reason() or _NOT_COMPILED)


def _spark(java: str | None, java_is_of: str) -> tuple[str | None, str]:
    """Return the versions that Spark would run on, and a remark; None and advice if it cannot run.

    `java` is what Spark's Java prints as its version.
    """
    pyspark = _version("pyspark")
    if pyspark is None or _version("pyarrow") is None:
        lacking = "pyspark" if pyspark is None else "pyarrow"
        return None, f"Spark needs {lacking}: pip install 'kraftwire[spark]'"
    why = _no_data_source(pyspark)
    if why is not None:
        return None, why
    found = re.search(r'version "((?:1\.)?(\d+)[^"]*)"', java or "")
    if found is None or int(found[2]) < _LEAST_JAVA:
        present = f"Java {found[1]} of {java_is_of}" if found else "no Java"
        return None, f"{present}, and Spark needs {_LEAST_JAVA} or newer: {_java_advice()}"
    return f"pyspark {pyspark}, Java {found[1]} of {java_is_of}", _workers()


def _no_data_source(pyspark: str) -> str | None:
    """Return why Spark would not find the format `kraftwire`; None if it would."""
    if int(pyspark.partition(".")[0]) < 4:
        return f"pyspark {pyspark} has no data sources in Python: pip install 'kraftwire[spark]'"
    try:
        importlib.import_module(_DATA_SOURCE)
    except ImportError as error:
        return str(error)
    # Spark searches sys.path without the import hooks that some editable installs rely on.
    if all(module.name != _DATA_SOURCE for module in pkgutil.iter_modules()):
        return f"Spark finds no {_DATA_SOURCE} on sys.path: add its folder to PYTHONPATH"
    return None


def _java_advice() -> str:
    """Return how to get a Java for Spark; `make setup` may have put one into the environment."""
    home = Path(sys.prefix) / "java"
    if (home / "bin" / "java").exists():
        return f"export JAVA_HOME={home}"
    return "install one, or set JAVA_HOME to one"


def _workers() -> str:
    """Return a remark if Spark would start its workers with another Python than this one."""
    chosen = os.environ.get("PYSPARK_PYTHON") or "python3"
    found = shutil.which(chosen)
    # Not resolved: an environment's Python is a link to the one that all share.
    if found is not None and Path(found).absolute().parent == Path(sys.executable).parent:
        return ""
    return f"its workers would run {found or chosen}: export PYSPARK_PYTHON={sys.executable}"


def _version(package: str) -> str | None:
    """Return the version of the package that is imported as `package`; None if not installed."""
    version = _distribution_version(package)
    if version is not None:
        return version
    # A distribution may have another name: pcapy is in pcapy-ng.
    versions = map(_distribution_version, metadata.packages_distributions().get(package, ()))
    return next(filter(None, versions), None)


def _distribution_version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _first_line(program: str, option: str) -> str | None:
    """Return the first line that a program prints; None if there is no such program."""
    found = shutil.which(program)
    if found is None:
        return None
    try:
        done = subprocess.run(  # noqa: S603 - the user's own compiler and Java
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
    # Java first prints which options it took from the environment.
    lines = [line for line in done.stdout.splitlines() if not line.startswith("Picked up ")]
    return (lines[0].strip() if lines else "") or found
