"""The README's Python runs from top to bottom, and says what it says there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from kraftwire.cli.commands import ROWS
from kraftwire_wire.errors import KraftwireError

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def _in_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its paths are those of a checkout."""
    monkeypatch.chdir(ROOT)


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def names_of_the_readme() -> dict[str, Any]:
    """What its Python blocks leave behind when they have run; those of Spark run elsewhere."""
    names: dict[str, Any] = {}
    for block in blocks("python"):
        if "pyspark" not in block:
            exec(block, names)
    return names


def test_python_blocks_run(capsys: pytest.CaptureFixture[str]) -> None:
    names = names_of_the_readme()
    assert capsys.readouterr().out == "{'clusterId': 'demo', 'voterId': 2, 'topics': []}\n"
    assert names["request"] == names["registry"].message("ApiVersionsRequest")()


def test_comments_give_the_values() -> None:
    names = names_of_the_readme()
    line = "VoteRequest.API_KEY, VoteRequest.VALID_VERSIONS          # 52, range(0, 3)"
    assert line in README
    assert repr(eval(line, names)) == "(52, range(0, 3))"
    assert names["registry"].record("cluster-metadata", 2).value.__name__ == "TopicRecord"


def test_errors_have_the_text_that_is_shown() -> None:
    names = names_of_the_readme()
    shown = re.findall(r"^ *>>> (.*)\n *(\w+): (.*)$", README, re.MULTILINE)
    assert shown
    for expression, error, text in shown:
        with pytest.raises(KraftwireError) as caught:
            eval(expression, names)
        assert (type(caught.value).__name__, str(caught.value)) == (error, text)


def test_commands_exist() -> None:
    called = re.findall(r"^\$ kraftwire (\w+)", README, re.MULTILINE)
    assert called
    assert set(called) <= {row.name for row in ROWS}


def test_the_first_30_lines_say_what_it_is_and_how_to_go_on() -> None:
    start = "\n".join(README.splitlines()[:30])
    assert "kraftwire_wire  <-  kraftwire_messages  <-  kraftwire" in start
    assert "`make help`" in start
