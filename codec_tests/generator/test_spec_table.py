"""`specs table`: the README says what the comments of the specs say, and nothing goes stale."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result

from kraftwire_generator.errors import SpecError
from kraftwire_generator.output.drafts_readme import MARKER, specs_table
from kraftwire_generator.parser.draft_origin import read_origin

from codec_tests.generator_commands import run_generator
from codec_tests.oracle import REPOSITORY
from codec_tests.spec_files import message_spec, write_set

COMMENTS = """\
// KIP-1, section Vote, Request; base 2.7
// from base 2.7: Kind
// corrected: [Voter] is a typing
//   error for []Voter
// corrected: a|b
// shipped: ShippedVote; its Kind is gone
"""


@pytest.fixture
def specs(tmp_path: Path) -> Path:
    """A released set and a draft of one message."""
    released = message_spec("clients/ShippedVote", type="metadata", apiKey=7, validVersions="0-2")
    write_set(tmp_path / "kafka", released, settings='title = "Kafka 9.9"\n')
    write_draft(tmp_path, COMMENTS)
    return tmp_path


def write_draft(directory: Path, comments: str) -> Path:
    settings = 'title = "KIP-1, votes"\nbase_release = "2.7"\ndraft = true\n'
    write_set(directory / "kip_1", message_spec("DraftVote"), settings=settings)
    file = directory / "kip_1" / "DraftVote.json"
    file.write_text(comments + json.dumps(message_spec("DraftVote")), encoding="utf-8")
    return file


def run(*arguments: str) -> Result:
    return run_generator("specs", "table", *arguments)


def problems(directory: Path) -> str:
    with pytest.raises(SpecError) as caught:
        specs_table(directory)
    return str(caught.value)


def test_the_readme_of_this_repository_is_what_its_specs_say() -> None:
    result = run(str(REPOSITORY / "message_specs"), "--check")
    assert result.exit_code == 0, result.output[-4000:]


def test_comments_are_read_into_an_origin(specs: Path) -> None:
    origin, findings = read_origin(specs / "kip_1" / "DraftVote.json")
    assert not findings
    assert origin is not None
    assert (origin.document, origin.section, origin.base) == ("KIP-1", "Vote, Request", "2.7")
    assert origin.from_base == ("Kind",)
    assert origin.corrected == ("[Voter] is a typing error for []Voter", "a|b")
    assert (origin.shipped_name, origin.shipped) == ("ShippedVote", "its Kind is gone")


def test_a_row_has_the_key_and_versions_of_what_was_shipped(specs: Path) -> None:
    row = next(line for line in specs_table(specs).splitlines() if "DraftVote" in line)
    assert row == (
        "| [DraftVote](kip_1/DraftVote.json) | 0 | Vote, Request "
        "| from 2.7: Kind<br>\\[Voter\\] is a typing error for \\[\\]Voter<br>a\\|b "
        "| ShippedVote (7) 0-2: its Kind is gone |"
    )


def test_what_was_never_shipped_is_nothing(specs: Path) -> None:
    write_draft(specs, "// KIP-1, section A; base 2.7\n// shipped: nothing; dropped\n")
    assert "| nothing | nothing: dropped |" in specs_table(specs)


@pytest.mark.parametrize(
    ("comments", "problem"),
    [
        ("", "DraftVote.json:1: error: a draft starts with a line such as // KIP-856"),
        ("// KIP-1; base 2.7\n", "a draft starts with a line such as"),
        (COMMENTS + "// mended: x\n", "DraftVote.json:7: error: this comment has no known form"),
        (
            COMMENTS.replace("from base 2.7", "from base 2.8"),
            ":2: error: this comment has no known",
        ),
        (COMMENTS.replace("2.7", "2.8"), "base 2.8 is not the set's base_release, 2.7"),
        (COMMENTS.replace("ShippedVote", "Vote"), "no released set here has Vote"),
        (COMMENTS + "// shipped: nothing; x\n", "a draft says once what Kafka shipped"),
        ("// KIP-1, section A; base 2.7\n", "a draft says once what Kafka shipped"),
    ],
)
def test_comments_of_other_forms_are_errors(specs: Path, comments: str, problem: str) -> None:
    write_draft(specs, comments)
    assert problem in problems(specs)


def test_a_broken_spec_or_an_empty_directory_is_an_error(specs: Path) -> None:
    write_draft(specs, COMMENTS + "?")
    assert "DraftVote.json" in problems(specs)
    (specs / "none").mkdir()
    assert "has no spec sets" in problems(specs / "none")


def test_the_command_writes_checks_and_leaves_files_of_others(specs: Path) -> None:
    readme = specs / "README.md"
    missing = run(str(specs), "--check")
    assert missing.exit_code == 1
    assert not readme.exists()
    assert run(str(specs)).exit_code == 0
    assert readme.read_text(encoding="utf-8").startswith(MARKER)
    assert run(str(specs), "--check").exit_code == 0

    write_draft(specs, COMMENTS.replace("is gone", "is back"))
    drift = run(str(specs), "--check")
    assert drift.exit_code == 1
    assert "is back" in drift.output

    readme.write_text("# Mine\n", encoding="utf-8")
    foreign = run(str(specs))
    assert foreign.exit_code == 2
    assert "will not overwrite it" in foreign.stderr
    assert readme.read_text(encoding="utf-8") == "# Mine\n"
