"""JSON Lines and tables; on terminals of every width, nothing is cut off."""

from __future__ import annotations

import io
from collections import Counter
from typing import Any

import pytest

from kraftwire.console import output

COLUMNS = ("partition", "offset", "time", "leader", "replicas", "what happened")
ROWS = [
    ("__consumer_offsets-12", 9876543210, "2026-11-21 07:49:45.621", 1001, "1001, 1002, 1003", "x"),
    ("tea-0", 7, "2026-11-21 07:49:45.622", 2, "2", "a long sentence " * 20),
]


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120, 400])
@pytest.mark.parametrize("folded", [None, (), ("what happened",)])
def test_every_cell_survives(width: int, folded: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(output, "on_terminal", lambda: True)
    monkeypatch.setattr("sys.stdout", screen)
    monkeypatch.setenv("COLUMNS", str(width))
    output.print_table(COLUMNS, ROWS, folded=folded)
    # A folded cell goes on in the next line, so it is the characters that are counted.
    wanted = Counter("".join(str(cell) for row in ROWS for cell in row))
    del wanted[" "]
    assert wanted <= Counter(screen.getvalue())


def test_pieces_are_printed_as_they_fill(capsys: pytest.CaptureFixture[str]) -> None:
    table = output.PiecewiseTable(("number",))
    for number in range(2500):
        table.add((number,))
    printed = capsys.readouterr().out.splitlines()
    assert printed.count("number") == 2
    table.flush()
    table.flush()
    printed += capsys.readouterr().out.splitlines()
    assert [line for line in printed if line != "number"] == [str(n) for n in range(2500)]


def test_json_lines_are_ascii(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_json({"é\x7f": "\ud800\x9b"})
    assert capsys.readouterr().out == '{"\\u00e9\\u007f":"\\ud800\\u009b"}\n'


def test_table_off_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_table(["a", "b"], [["x\n", None], ["longer", 12]], "title\x07")
    assert capsys.readouterr().out == "title\\x07\na       b\nx\\n\nlonger  12\n"


def test_one_long_cell_does_not_widen_all_rows(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_table(
        ["a", "b", "c"], [["x" * 30_000, "y", "z" * 30_000], *[["x", "y", "z"]] * 1000]
    )
    assert len(capsys.readouterr().out) < 200_000


def test_table_without_rows(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_table(["a", "b"], [])
    assert capsys.readouterr().out == "a  b\n"
