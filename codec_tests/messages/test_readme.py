"""The README's Python runs from top to bottom, and says what it says there."""

from __future__ import annotations

import re
from typing import Any

import pytest
from click.testing import CliRunner

from kraftwire.cli.commands import COMMANDS, main
from kraftwire_wire.errors import KraftwireError

from codec_tests.readme import README, ROOT, blocks


@pytest.fixture(autouse=True)
def _in_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its paths are those of a checkout."""
    monkeypatch.chdir(ROOT)


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


def test_comments_show_the_values() -> None:
    names = names_of_the_readme()
    line = "VoteRequest.API_KEY, VoteRequest.VALID_VERSIONS          # 52, range(0, 3)"
    assert line in README
    assert repr(eval(line, names)) == "(52, range(0, 3))"
    assert names["registry"].record("cluster-metadata", 2).value.__name__ == "TopicRecord"


def test_errors_have_the_shown_text() -> None:
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
    assert set(called) <= {entry.name for entry in COMMANDS}


def shown() -> list[tuple[str, list[str]]]:
    """Commands that read what is in the repository, and whose output stands below them."""
    found: list[tuple[str, list[str]]] = []
    for block in blocks("console"):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:].partition("   #")[0].strip(), []))
            elif found:
                found[-1][1].append(line)
    return [one for one in found if one[1] and ("vote.hex" in one[0] or "codec_tests" in one[0])]


@pytest.mark.parametrize(("command", "lines"), shown(), ids=[one for one, _ in shown()])
def test_commands_print_the_shown_output(
    command: str, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    request = "003400020000000700026d65000564656d6f000000020100"
    before, _, called = command.rpartition("| ")
    given = request[: int(before.split()[2])] if before else request
    words = [word if word != "vote.hex" else "-" for word in called.split()]
    assert words[0] == "kraftwire"
    table = "text" if words[1] == "explain" else "table"
    done = CliRunner().invoke(main, [*words[1:], "-o", table], input=given)
    printed = [line.rstrip() for line in done.stdout.splitlines() if line.strip()]
    patterns = ["(?:.*\\n)*" if line == "..." else re.escape(line) + "\\n" for line in lines]
    assert re.fullmatch("".join(patterns), "\n".join(printed) + "\n"), done.stdout


def test_the_first_30_lines_describe_and_start_the_project() -> None:
    start = "\n".join(README.splitlines()[:30])
    assert "kraftwire_wire  <-  kraftwire_messages  <-  kraftwire" in start
    assert "`make help`" in start
