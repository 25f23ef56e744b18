"""`lint` as a person runs it: output, notes and exit codes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kraftwire_generator.commands.group import main
from kraftwire_generator.console import CouldNotDoIt

from codec_tests.generator_commands import run_generator

SOUND = '{"type": "data", "name": "Tea", "validVersions": "0", "flexibleVersions": "0+"}'
WARNED = SOUND.replace("}", ', "fields": [{"name": "CupId", "type": "bool", "versions": "0+"}]}')
WRONG = "Tea\n\n" + SOUND.replace('"0",', '"0"').replace('"type"', '"apiKey": "SOON", "type"')
COMPARED = "Versions Compared\nThis line was added.\n" + SOUND.replace("Tea", "CupsTeaCup")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One file of each kind, in the current directory."""
    monkeypatch.chdir(tmp_path)
    pages = {"sound.json": SOUND, "warned.json": WARNED, "wrong.txt": WRONG, "kip.txt": COMPARED}
    for name, text in pages.items():
        Path(name).write_text(text, encoding="utf-8")


def run(*arguments: str) -> Result:
    return run_generator("lint", *arguments)


@pytest.mark.usefixtures("files")
def test_no_finding_no_output() -> None:
    result = run("sound.json")
    assert (result.exit_code, result.output) == (0, "")


@pytest.mark.usefixtures("files")
def test_a_line_a_finding_when_piped() -> None:
    result = run("wrong.txt", "warned.json")
    assert result.exit_code == 1
    assert result.stderr == ""
    assert result.stdout.splitlines() == [
        "wrong.txt:3: error: Tea: a comma is missing after this; add it",
        "wrong.txt:3: error: Tea: apiKey 'SOON' is a placeholder, not a number; "
        "leave the key out until the message has one",
        "warned.json:1: warning: Tea.CupId: CupId is of type bool; "
        "an id is an integer, a string or a uuid",
    ]


def test_a_closed_standard_input_or_output_is_no_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "sound.json"
    file.write_text(SOUND, encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(CouldNotDoIt, match="standard input is closed; name a file"):
        main(["lint", "-"], standalone_mode=False)
    monkeypatch.setattr(sys, "stdout", None)
    main(["lint", str(file)], standalone_mode=False)


def test_a_file_without_end_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kraftwire_generator.commands.lint._LONGEST_FILE", 10**6)
    result = run("/dev/zero")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "Error: /dev/zero: is longer than 1 MB; name a spec or a page\n"


@pytest.mark.usefixtures("files")
def test_specs_of_one_folder_are_held_against_each_other() -> None:
    Path("again.json").write_text(SOUND, encoding="utf-8")
    result = CliRunner().invoke(main, ["lint", "again.json", "sound.json", "-"], input=SOUND)
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        "sound.json:1: error: again.json has a message Tea too; rename one of the two"
    ]


def test_standard_input() -> None:
    result = CliRunner().invoke(main, ["lint", "-"], input=WARNED)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("<stdin>:1: warning: Tea.CupId: ")


@pytest.mark.usefixtures("files")
def test_warnings_alone_are_no_failure() -> None:
    assert run("warned.json").exit_code == 0


@pytest.mark.usefixtures("files")
def test_json_lines() -> None:
    result = run("-o", "json", "warned.json", "kip.txt")
    finding, note = map(json.loads, result.stdout.splitlines())
    assert finding == {
        "kind": "finding",
        "file": "warned.json",
        "line": 1,
        "severity": "warning",
        "path": "Tea.CupId",
        "text": "CupId is of type bool; an id is an integer, a string or a uuid",
    }
    assert (note["kind"], note["file"], note["mixed"]) == ("note", "kip.txt", [])
    assert note["text"].startswith('this is a "Versions Compared" page')
    assert result.stderr == ""


@pytest.mark.usefixtures("files")
def test_a_table_says_how_many() -> None:
    result = run("-o", "table", "wrong.txt", "sound.json")
    first, *rows, last = result.stdout.splitlines()
    assert first == "wrong.txt: 2 errors, 0 warnings"
    assert rows[0] == "  3  error    Tea: a comma is missing after this; add it"
    assert last == "sound.json: 0 errors, 0 warnings"


@pytest.mark.usefixtures("files")
def test_a_compared_page_is_noted_on_standard_error() -> None:
    result = run("kip.txt")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.startswith('kip.txt: this is a "Versions Compared" page; merged words')


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("arguments", "phrase"),
    [
        (("gone.txt",), "gone.txt: No such file or directory"),
        (("sound.json", "."), ".: is a directory; name the files in it"),
        ((), "Missing argument 'FILE...'"),
    ],
)
def test_what_cannot_be_read_is_exit_code_2(arguments: tuple[str, ...], phrase: str) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert phrase in result.stderr


def test_no_file_steers_the_terminal(tmp_path: Path) -> None:
    page = tmp_path / "evil.json"
    page.write_text(SOUND.replace("Tea", "\\u001b[31mTea"), encoding="utf-8")
    for output in ("text", "table", "json"):
        result = run("-o", output, str(page))
        assert "\x1b" not in result.output
        assert "[31mTea" in result.output
