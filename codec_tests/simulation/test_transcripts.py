"""Kept runs are replayed and compared line by line.

Each is the shortest that shows a bug, of ours or of a mutant, which its title names. If a change
of the replicas changes them, `--rewrite-transcripts` rewrites them, and a person reviews the diff.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kraftwire.simulation.replay import replay
from kraftwire.simulation.transcript import HOLDS, format_transcript, parse_transcript
from kraftwire_wire.errors import KraftwireError

from codec_tests.simulation.mutants import MUTANTS, file_of

TRANSCRIPTS = sorted((Path(__file__).parents[1] / "raft" / "transcripts").glob("*.txt"))


def test_there_are_some() -> None:
    assert TRANSCRIPTS


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_a_kept_run_goes_as_it_is_written(path: Path, pytestconfig: pytest.Config) -> None:
    text = path.read_text(encoding="utf-8")
    kept = parse_transcript(text, path.name)
    again = format_transcript(kept.title, kept.scenario, kept.steps, in_quiet=kept.in_quiet)
    if pytestconfig.getoption("--rewrite-transcripts"):
        path.write_text(again, encoding="utf-8")
    else:
        assert again == text
    assert again.splitlines()[-1] == HOLDS


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_a_kept_run_breaks_a_rule_with_the_bug_that_it_is_kept_for(path: Path) -> None:
    kept = parse_transcript(path.read_text(encoding="utf-8"), path.name)
    (mutant,) = (MUTANTS[name] for name in MUTANTS if file_of(name) == path.name)
    with mutant():
        found = replay(kept.scenario, kept.steps, codecs=False, in_quiet=kept.in_quiet)
    assert found.violation is not None
    assert kept.title.endswith(f"breaks a rule here: {found.violation.rule}.")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not a scenario"),
        ("seed = x", "line 1"),
        ("seed = 1\nvoters = 2\n1 fly 3", "line 3: not a step of a run"),
        ("seed = 1\nvoters = 2\nwings = 2", "not a scenario"),
    ],
)
def test_what_is_no_transcript_is_refused(text: str, reason: str) -> None:
    with pytest.raises(KraftwireError, match=f"page.txt.*{reason}"):
        parse_transcript(text, "page.txt")
