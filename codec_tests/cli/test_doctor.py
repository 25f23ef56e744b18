"""`kraftwire doctor`."""

from __future__ import annotations

import json
import platform
import sys

import pytest

from kraftwire.columns.engine import NATIVE
from kraftwire_wire.engine import ENGINE

from cli.running import done


def found() -> dict[str, dict[str, str | None]]:
    rows = map(json.loads, done("doctor").stdout.splitlines())
    return {row["what"]: row for row in rows}


def test_it_says_what_is_here() -> None:
    rows = found()
    assert rows["engine"]["found"] == ENGINE
    assert rows["columns"]["found"] == ("python" if NATIVE is None else "native")
    assert rows["python"]["found"] == platform.python_version()
    assert rows["pyarrow"]["found"]
    assert rows["black"]["remark"] == "pip install 'kraftwire[generator]'"


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


def test_the_table() -> None:
    text = done("doctor", "-o", "table").stdout
    assert text.splitlines()[0].split() == ["what", "found", "remark"]
