"""`kraftwire doctor`."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import platform
import sys
from importlib import metadata
from pathlib import Path

import pyspark
import pytest

from kraftwire.columns.engine import NATIVE
from kraftwire_wire.engine import ENGINE

from codec_tests.cli.running import done

JAVA_17 = 'echo "openjdk version \\"17.0.9\\" 2023-10-17" >&2'


def found() -> dict[str, dict[str, str | None]]:
    rows = map(json.loads, done("doctor").stdout.splitlines())
    return {row["what"]: row for row in rows}


def spark_remark() -> str:
    """Why Spark cannot run."""
    row = found()["spark"]
    assert row["found"] is None
    return row["remark"] or ""


def shell_program(path: Path, script: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Java 17 in JAVA_HOME, for a Spark whose workers run this Python."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    program = tmp_path / "bin" / "java"
    shell_program(program, JAVA_17)
    return program


@pytest.mark.slow
def test_what_is_installed() -> None:
    rows = found()
    assert rows["engine"]["found"] == ENGINE
    assert rows["columns"]["found"] == ("python" if NATIVE is None else "native")
    assert rows["python"]["found"] == platform.python_version()
    assert rows["pyarrow"]["found"]
    assert rows["pcapy"]["found"] == metadata.version("pcapy-ng")
    assert rows["black"]["remark"] == "pip install 'kraftwire[generator]'"
    table = done("doctor", "-o", "table").stdout
    assert table.splitlines()[0].split() == ["what", "found", "remark"]


def test_what_is_missing_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    rows = found()
    assert rows["C compiler"]["found"] is rows["java"]["found"] is None


def test_columns_without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for name in [name for name in sys.modules if name.startswith("kraftwire.columns")]:
        monkeypatch.delitem(sys.modules, name)
    row = found()["columns"]
    assert row["found"] is None
    assert row["remark"] == "columns need pyarrow: pip install 'kraftwire[parquet]'"


def test_spark_can_run(java: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = found()["spark"]
    assert row["found"] == f"pyspark {pyspark.__version__}, Java 17.0.9 of JAVA_HOME"
    assert row["remark"] == ""
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(java.parent), prepend=os.pathsep)
    assert str(found()["spark"]["found"]).endswith("Java 17.0.9 of PATH")


def test_java_that_first_prints_something_else(java: Path) -> None:
    shell_program(java, f'echo "Picked up JAVA_TOOL_OPTIONS: -Xmx1g" >&2; {JAVA_17}')
    rows = found()
    assert rows["java"]["found"] == 'openjdk version "17.0.9" 2023-10-17'
    assert rows["spark"]["found"]


@pytest.mark.parametrize(
    ("script", "remark"),
    [
        ("exit 1", "no Java"),
        (JAVA_17.replace("17.0.9", "11.0.24"), "Java 11.0.24 of JAVA_HOME"),
        (JAVA_17.replace("17.0.9", "1.8.0_301"), "Java 1.8.0_301 of JAVA_HOME"),
    ],
)
def test_spark_without_a_java_of_its_own(
    java: Path, monkeypatch: pytest.MonkeyPatch, script: str, remark: str
) -> None:
    shell_program(java, script)
    environment = java.parents[1]
    monkeypatch.setattr(sys, "prefix", str(environment))
    needs = f"{remark}, and Spark needs 17 or newer"
    assert spark_remark() == f"{needs}: install one, or set JAVA_HOME to one"
    # What `make setup` makes.
    shell_program(environment / "java" / "bin" / "java", JAVA_17)
    assert spark_remark() == f"{needs}: export JAVA_HOME={environment / 'java'}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("package", "version", "remark"),
    [
        ("pyspark", None, "Spark needs pyspark"),
        ("pyarrow", None, "Spark needs pyarrow"),
        ("pyspark", "3.5.8", "pyspark 3.5.8 has no data sources in Python"),
    ],
)
def test_spark_without_a_package(
    java: Path, monkeypatch: pytest.MonkeyPatch, package: str, version: str | None, remark: str
) -> None:
    real = metadata.version

    def changed(name: str) -> str:
        if name == package and version is None:
            raise metadata.PackageNotFoundError(name)
        return version if name == package and version else real(name)

    monkeypatch.setattr(metadata, "version", changed)
    assert spark_remark() == f"{remark}: pip install 'kraftwire[spark]'"


def test_a_data_source_that_spark_cannot_use(java: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    importlib.import_module("pyspark_kraftwire")
    with monkeypatch.context() as patch:
        patch.setattr(pkgutil, "iter_modules", lambda: iter(()))
        path = "Spark finds no pyspark_kraftwire on sys.path: add its folder to PYTHONPATH"
        assert spark_remark() == path
    monkeypatch.setitem(sys.modules, "pyspark_kraftwire", None)
    assert "pyspark_kraftwire" in spark_remark()


@pytest.mark.parametrize("variable", [True, False])
def test_workers_that_would_be_another_python(
    java: Path, monkeypatch: pytest.MonkeyPatch, variable: bool
) -> None:
    other = java.parent / "python3"
    shell_program(other, "exit 1")
    monkeypatch.setenv("PATH", str(java.parent))
    monkeypatch.delenv("PYSPARK_PYTHON")
    if variable:
        monkeypatch.setenv("PYSPARK_PYTHON", str(other))
    row = found()["spark"]
    assert row["found"]
    assert row["remark"] == f"its workers would run {other}: export PYSPARK_PYTHON={sys.executable}"
