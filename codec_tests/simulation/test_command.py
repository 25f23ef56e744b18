"""`kraftwire simulate`."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from codec_tests.cli.running import done, run
from codec_tests.simulation.mutants import MUTANTS


def test_seeds_that_hold_print_nothing_but_totals() -> None:
    result = done("simulate", "--seeds", "2", "--events", "500", "--jobs", "1")
    assert result.stdout == ""
    assert result.stderr.startswith("2 seeds, ")
    assert "0 broken" in result.stderr


@pytest.mark.slow
def test_processes_find_what_one_finds() -> None:
    totals = [
        done("simulate", "--seeds", "4", "--events", "300", "--jobs", jobs).stderr.partition(";")[0]
        for jobs in ("1", "2")
    ]
    assert totals[0] == totals[1]


def test_a_broken_rule_is_a_row_and_a_transcript(tmp_path: Path) -> None:
    arguments = ("--seeds", "1", "--jobs", "1", "--transcripts", str(tmp_path / "broken"))
    with MUTANTS["forgets a vote in a crash"]():
        result = run("simulate", *arguments)
        (row,) = map(json.loads, result.stdout.splitlines())
        again = run("simulate", row["transcript"])
    assert result.exit_code == again.exit_code == 1
    assert row["rule"] == "votes are durable before replies"
    assert row["steps"] < 20
    text = Path(row["transcript"]).read_text()
    assert again.stdout == text
    assert text.splitlines()[-1].startswith("breaks votes are durable")
    assert done("simulate", row["transcript"]).stdout.splitlines()[-1] == "holds"


def test_hours_go_on_with_new_seeds_until_they_are_over() -> None:
    result = done("simulate", "--hours", "0.0001", "--events", "300", "--jobs", "1")
    assert "0 broken" in result.stderr


@pytest.mark.slow
def test_a_run_is_drawn(tmp_path: Path) -> None:
    picture = tmp_path / "run.svg"
    done("simulate", "--seeds", "1", "--start", "5", "--events", "2000", "--svg", str(picture))
    texts = {one.text for one in ElementTree.parse(picture).iter() if one.text}
    assert any(text.startswith("seed 5: ") for text in texts)
    assert {"Leader", "every rule held"} <= texts


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--seeds", "2", "--svg", "x.svg"], "--svg draws one run"),
        (["--seeds", "0"], "0 is not in the range"),
        (["--fast"], "No such option"),
        (["missing.txt"], "missing.txt"),
    ],
)
def test_what_cannot_be_done_says_why(arguments: list[str], reason: str) -> None:
    result = run("simulate", *arguments)
    assert result.exit_code == 2
    assert reason in result.stderr


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"hello"])
def test_a_file_that_is_no_transcript_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "page.txt"
    path.write_bytes(content)
    result = run("simulate", str(path))
    assert result.exit_code == 2
    assert "page.txt" in result.stderr
