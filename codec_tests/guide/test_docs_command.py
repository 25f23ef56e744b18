"""`kraftwire docs` as a person runs it: what it writes, leaves, deletes and refuses."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kraftwire.cli import main as kraftwire

from codec_tests.generator_commands import run_generator
from codec_tests.guide.guide_pages import PageOnDisk
from codec_tests.spec_files import field_spec, message_spec, write_set

VOTE = message_spec("Vote", field_spec(), validVersions="0-3")
FETCH = message_spec("FetchRequest", type="request", apiKey=1, validVersions="0-1")
ANSWER = message_spec("FetchResponse", type="response", apiKey=1, validVersions="0-1")
ASSETS = {"guide.css", "guide.js", "search-index.js"}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A set of two pages, in the current directory."""
    write_set(tmp_path / "specs", VOTE, FETCH, ANSWER)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> Result:
    return run_generator("docs", *arguments)


def write(*more: str) -> Result:
    return run("--specs", "specs", "--out", "guide", *more)


def files(directory: Path) -> dict[str, bytes]:
    return {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file()
    }


def test_it_writes_a_page_for_each_and_says_so(project: Path) -> None:
    result = write()
    assert (result.exit_code, result.stderr) == (0, "")
    said = "guide/index.html: 3 messages of 1 set; 7 files written, 0 deleted, 0 unchanged\n"
    assert result.stdout == said
    names = {"index.html", "types.html", "kraftwire-guide.json"}
    names |= {"specs/Fetch.html", "specs/Vote.html", *(f"assets/{name}" for name in ASSETS)}
    assert set(files(project / "guide")) == names


def test_error_codes_have_a_page_once_the_set_names_them(project: Path) -> None:
    write()
    (project / "specs" / "error_codes.toml").write_text("[error_codes]\nODD = -2\n")
    assert "3 files written, 0 deleted, 5 unchanged" in write().stdout
    page = (project / "guide" / "specs" / "error-codes.html").read_text(encoding="utf-8")
    assert "<code>ff fe</code>" in page
    (project / "specs" / "error_codes.toml").unlink()
    assert "2 files written, 1 deleted, 5 unchanged" in write().stdout


def test_two_runs_give_the_same_bytes_and_the_second_writes_nothing(project: Path) -> None:
    write()
    before = files(project / "guide")
    os.utime(project / "guide" / "index.html", (1, 1))
    assert "0 files written, 0 deleted, 7 unchanged" in write().stdout
    assert files(project / "guide") == before
    assert (project / "guide" / "index.html").stat().st_mtime == 1
    run("--specs", "specs", "--out", "other")
    assert files(project / "other") == before


def test_without_specs_the_project_names_the_sets(project: Path) -> None:
    write_set(project / "draft", message_spec("Idea"), settings='title = "An idea"\ndraft = true\n')
    entry = '[[tool.kraftwire.sets]]\nspecs = "{0}"\nout = "{0}_out"\npackage = "{0}"\n'
    (project / "pyproject.toml").write_text(entry.format("specs") + entry.format("draft"))
    result = run("--out", "guide", "--title", "Ours")
    assert "4 messages of 2 sets" in result.stdout
    index = PageOnDisk(project / "guide" / "index.html")
    assert "An idea" in index.text
    assert "Ours" in index.text
    assert (project / "guide" / "draft" / "Idea.html").is_file()


def test_pages_of_messages_that_are_gone_are_deleted_and_nothing_else(project: Path) -> None:
    write()
    (project / "guide" / "specs" / "mine.html").write_text("mine")
    (project / "guide" / "NOTES").write_text("mine")
    (project / "specs" / "Vote.json").unlink()
    assert "1 deleted" in write().stdout
    left = files(project / "guide")
    assert "specs/Vote.html" not in left
    assert left["specs/mine.html"] == left["NOTES"] == b"mine"


def test_a_set_that_is_gone_takes_its_directory_along(project: Path) -> None:
    write_set(project / "more", message_spec("More"))
    run("--specs", "specs", "--specs", "more", "--out", "guide")
    assert (project / "guide" / "more").is_dir()
    assert "1 deleted" in write().stdout
    assert not (project / "guide" / "more").exists()


def test_a_file_of_somebody_else_is_never_overwritten(project: Path) -> None:
    (project / "guide").mkdir()
    (project / "guide" / "index.html").write_text("mine")
    result = write()
    assert result.exit_code == 2
    assert "guide/index.html: kraftwire did not write this file" in result.stderr
    assert files(project / "guide") == {"index.html": b"mine"}


def test_a_page_that_somebody_put_in_the_place_of_ours_is_kept(project: Path) -> None:
    write()
    (project / "guide" / "specs" / "Vote.html").write_text("mine")
    assert write().exit_code == 2
    (project / "specs" / "Vote.json").unlink()
    assert "0 deleted" in write().stdout
    assert (project / "guide" / "specs" / "Vote.html").read_text() == "mine"


def test_a_manifest_cannot_delete_what_lies_elsewhere(project: Path) -> None:
    write()
    manifest = project / "guide" / "kraftwire-guide.json"
    ours = (project / "guide" / "specs" / "Vote.html").read_bytes()
    (project / "outside.html").write_bytes(ours)
    (project / "elsewhere").mkdir()
    (project / "elsewhere" / "page.html").write_bytes(ours)
    (project / "guide" / "link").symlink_to(project / "elsewhere")
    names = ["../outside.html", str(project / "outside.html"), "link/page.html", 7, None]
    listed = json.loads(manifest.read_text())["files"]
    manifest.write_text(json.dumps({"files": [*listed, *names]}))
    assert "0 deleted" in write().stdout
    assert (project / "outside.html").exists()
    assert (project / "elsewhere" / "page.html").exists()


def test_a_run_that_was_cut_short_is_mended_by_the_next(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, written = Path.write_text, [0]

    def fails_late(path: Path, *arguments: str, **keys: str) -> int:
        written[0] += 1
        if written[0] == 5:
            raise OSError(28, "No space left on device", str(path))
        return real(path, *arguments, **keys)

    monkeypatch.setattr(Path, "write_text", fails_late)
    result = write()
    assert result.exit_code == 2
    assert "No space left on device" in result.stderr
    monkeypatch.setattr(Path, "write_text", real)
    assert write().exit_code == 0
    assert "7 unchanged" in write().stdout


def ignore_case(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have files found by names in any case, as they are on macOS."""

    def found(path: Path) -> Path:
        siblings = path.parent.iterdir() if path.parent.is_dir() else ()
        return next((one for one in siblings if one.name.lower() == path.name.lower()), path)

    def patch(name: str) -> None:
        real: Callable[..., object] = getattr(Path, name)

        def patched(path: Path, *arguments: object, **keys: object) -> object:
            return real(found(path), *arguments, **keys)

        monkeypatch.setattr(Path, name, patched)

    for name in ("read_bytes", "write_text", "unlink"):
        patch(name)


def test_a_message_renamed_in_case_alone_keeps_its_page(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write()
    (project / "specs" / "Vote.json").unlink()
    write_set(project / "specs", {**VOTE, "name": "VOTE"})
    ignore_case(monkeypatch)
    assert (write().exit_code, write().exit_code) == (0, 0)
    pages = [path for path in (project / "guide" / "specs").iterdir() if path.stem == "VOTE"]
    assert [b"<h1>VOTE" in path.read_bytes() for path in pages] == [True]
    assert "7 unchanged" in write().stdout


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--specs", "specs"], "Missing option '--out'"),
        (["--out", "guide"], "no pyproject.toml here or above"),
        (["--specs", "nowhere", "--out", "guide"], "nowhere:1: error: is not a directory"),
        (["--specs", "empty", "--out", "guide"], "empty:1: error: has no specs"),
        (["--specs", "specs", "--out", "specs/Vote.json"], "is a file"),
        (["--specs", "specs", "--out", "specs/Vote.json/deep"], "Not a directory"),
        (["--specs", "bad", "--specs", "worse", "--out", "guide"], "2 errors in the specs"),
        (["--specs", "specs", "--out", "broken"], "is not the list of files"),
        (["--specs", "coded", "--out", "guide"], "an error code is an int16"),
        (["--specs", "specs", "--out", "guide", "--wrong"], "No such option"),
    ],
)
def test_what_cannot_be_done_exits_2_and_says_why(
    project: Path, arguments: list[str], problem: str
) -> None:
    (project / "empty").mkdir()
    (project / "broken").mkdir()
    (project / "broken" / "kraftwire-guide.json").write_text("[")
    write_set(project / "coded", VOTE)
    (project / "coded" / "error_codes.toml").write_text("[error_codes]\nNONE = 99999\n")
    for name in ("bad", "worse"):
        write_set(project / name, message_spec("Bad", field_spec(type="x")))
    result = run(*arguments)
    assert result.exit_code == 2
    assert problem in result.stderr
    assert result.stdout == ""
    assert not (project / "guide").exists()


def test_warnings_go_to_standard_error(project: Path) -> None:
    write_set(project / "specs", message_spec("Odd", field_spec(versions="7+")))
    result = write()
    assert result.exit_code == 0
    assert result.stderr.startswith("specs/Odd.json:1: warning: Value: versions 7+ are outside 0")


def test_kraftwire_mounts_it_and_its_help_has_an_example() -> None:
    result = CliRunner().invoke(kraftwire, ["docs", "--help"])
    assert result.exit_code == 0
    assert "Examples:\n    kraftwire docs --out guide" in result.output
