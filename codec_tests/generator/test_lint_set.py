"""The findings of lint between the specs of one folder."""

from __future__ import annotations

from pathlib import Path

from kraftwire_generator.errors import Finding
from kraftwire_generator.language.spec import MessageSpec
from kraftwire_generator.lint.set_lint import lint_together
from kraftwire_generator.lint.spec_lint import lint

from codec_tests.oracle import REPOSITORY


def write(folder: Path, name: str, key: int | None, file: str = "") -> Path:
    """A spec file; the name's ending is its type."""
    kind = "response" if name.endswith("Response") else "request"
    key_text = "" if key is None else f'"apiKey": {key}, '
    path = folder / (file or f"{name}.json")
    path.write_text(
        f'{{{key_text}"type": "{kind}", "name": "{name}", '
        '"validVersions": "0", "flexibleVersions": "none"}'
    )
    return path


def between(*files: Path) -> list[Finding]:
    specs: list[MessageSpec] = []
    for file in files:
        spec = lint(file.read_bytes(), file.as_posix()).spec
        assert spec is not None
        specs.append(spec)
    return lint_together(specs)


def test_two_requests_with_one_key(tmp_path: Path) -> None:
    files = [write(tmp_path, f"{name}Re{end}", 5) for end in ("quest", "sponse") for name in "AB"]
    first, second = between(*files)
    assert (first.file, first.severity) == (files[1].as_posix(), "warning")
    assert first.message == "ARequest is a request with apiKey 5 too; take a free one"
    assert second.file == files[3].as_posix()


def test_a_request_without_a_response(tmp_path: Path) -> None:
    tea, cup = write(tmp_path, "TeaRequest", 1), write(tmp_path, "CupRequest", 2)
    first, second = between(tea, cup)
    assert first.message == "this request has no response; add TeaResponse"
    assert (first.severity, second.severity) == ("warning", "warning")
    assert between(tea) == []
    write(tmp_path, "TeaResponse", 1)  # in the folder, though nobody named it
    write(tmp_path, "CupResponse", 2)
    assert between(tea, cup) == []


def test_a_draft_may_wait_for_its_keys(tmp_path: Path) -> None:
    files = [write(tmp_path, f"Tea{end}", None) for end in ("Request", "Response")]
    assert between(*files) == []


def test_two_files_with_one_message_are_an_error(tmp_path: Path) -> None:
    for key in (None, 1):
        files = [write(tmp_path, "TeaRequest", key, name) for name in ("a.json", "b.json")]
        (error,) = [finding for finding in between(*files) if finding.severity == "error"]
        assert error.file == files[1].as_posix()
        assert error.message.endswith("has a message TeaRequest too; rename one of the two")


def test_a_released_set_is_judged_as_the_generator_does(tmp_path: Path) -> None:
    tea, cup = write(tmp_path, "TeaRequest", 1), write(tmp_path, "CupRequest", None)
    (tmp_path / "set.toml").write_text("draft = false")
    assert {finding.severity for finding in between(tea, cup)} == {"error"}
    (tmp_path / "set.toml").write_text("draft = true")
    assert {finding.severity for finding in between(tea, cup)} == {"warning"}


def test_folders_and_pages_are_no_set(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    assert between(write(tmp_path, "TeaRequest", 1), write(tmp_path / "old", "TeaRequest", 1)) == []
    assert between(*(write(tmp_path, "TeaRequest", 1, name) for name in ("a.txt", "b.txt"))) == []


def test_the_sets_of_the_repository_have_no_findings_between() -> None:
    assert between(*sorted((REPOSITORY / "message_specs").glob("**/*.json"))) == []
