"""Specs are untrusted: no text becomes markup, no name an address, and no size gets out of hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings

from kraftwire_generator.commands.docs import docs
from kraftwire_generator.guide import wire_forms
from kraftwire_generator.guide.pages import unique_name
from kraftwire_generator.parser.json_text import DEEPEST_NESTING

from codec_tests.guide.deep_spec import INLINE_DEEP, deepest_spec
from codec_tests.guide.guide_pages import PageOnDisk, pages_of
from codec_tests.spec_files import field_spec, message_spec, write_set
from codec_tests.spec_strategies import HOSTILE_TEXT

NASTY = (
    "</q><script src=x>alert(1)</script><img onerror='x' src=\"y\">&lt;{{ 7 * 7 }}\x1b[31m\u202e"
)
VISIBLE = NASTY.replace("\x1b", "\\x1b").replace("\u202e", "\\u202e")
HARMLESS = {"a", "article", "b", "body", "button", "code", "dd", "details", "div", "dl", "dt"}
HARMLESS |= {"footer", "h1", "h2", "h3", "h4", "head", "header", "html", "i", "input", "li", "link"}
HARMLESS |= {"main", "meta", "nav", "p", "script", "section", "small", "span", "summary"}
HARMLESS |= {"table", "tbody", "td", "th", "thead", "title", "tr", "ul"}
COMMENTS = f"// KIP-1 {NASTY.replace(';', '')}, section {NASTY.replace(';', '')}; base 2.7\n"
COMMENTS += f"// corrected: {NASTY}\n// shipped: nothing; {NASTY}\n"


def write_guide(directory: Path, title: str = "Guide") -> dict[str, PageOnDisk]:
    out = directory / "guide"
    arguments = ["--specs", str(directory / "specs"), "--out", str(out), "--title", title]
    result = CliRunner().invoke(docs, arguments)
    assert result.exit_code == 0, result.output
    return pages_of(out)


def hostile_set(directory: Path, text: str) -> None:
    """A draft that has the text wherever a spec may have any."""
    fields = [
        field_spec("Name", "string", about=text, default=text, entityType="topicName"),
        field_spec("Count", "int32", about=text),
    ]
    spec = message_spec("Nasty", *fields, validVersions="0-1")
    # TOML has no lone surrogates, and escapes control characters as JSON does.
    fine = "".join(char for char in text if not "\ud800" <= char <= "\udfff" and char != "\x7f")
    fine = json.dumps(fine, ensure_ascii=False)
    lines = [f"{key} = {fine}" for key in ("title", "base_release", "release")]
    write_set(directory / "specs", spec, settings="\n".join([*lines, "draft = true\n"]))


def assert_harmless(pages: dict[str, PageOnDisk]) -> None:
    for page in pages.values():
        assert {tag for tag, _ in page.tags} <= HARMLESS
        scripts = [values for tag, values in page.tags if tag == "script"]
        assert [values["src"].removeprefix("../") for values in scripts] == ["assets/guide.js"]
        assert not any(name.startswith("on") for _, values in page.tags for name in values)
        assert all(char.isprintable() or char == "\n" for char in page.text)


def test_texts_of_specs_are_shown_and_never_run(tmp_path: Path) -> None:
    hostile_set(tmp_path, NASTY)
    file = tmp_path / "specs" / "Nasty.json"
    file.write_text(COMMENTS + file.read_text())
    pages = write_guide(tmp_path, title=NASTY)
    assert_harmless(pages)
    page = pages["specs/Nasty.html"]
    for row in page.forms[0].rows:
        assert VISIBLE in row.cells["notes"] or VISIBLE in page.text
    # Title of the guide, title of the set, three comments and two fields.
    assert page.text.count(VISIBLE) >= 7
    assert "49" not in page.text
    index = (tmp_path / "guide" / "assets" / "search-index.js").read_text()
    assert "<" not in index
    assert "\x1b" not in index


@pytest.mark.slow
@given(text=HOSTILE_TEXT)
@settings(max_examples=25)
def test_no_text_gets_out_of_its_place(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    directory = tmp_path_factory.mktemp("hostile")
    hostile_set(directory, text)
    assert_harmless(write_guide(directory))


def test_names_of_folders_are_no_addresses(tmp_path: Path) -> None:
    folder = tmp_path / "a #?&\"'<b> ..%2f"
    write_set(folder, message_spec("Vote"))
    other = tmp_path / "x" / "ASSETS"
    write_set(other, message_spec("Vote"))
    out = tmp_path / "guide"
    arguments = ["--specs", str(folder), "--specs", str(other), "--out", str(out)]
    assert CliRunner().invoke(docs, arguments).exit_code == 0
    assert (out / "a-b-2f" / "Vote.html").is_file()
    assert (out / "ASSETS-2" / "Vote.html").is_file()
    for page in pages_of(out).values():
        assert not any("%" in address or " " in address for address in page.addresses)


def test_names_that_differ_in_case_alone_are_different_files() -> None:
    taken: set[str] = set()
    assert unique_name("Vote", taken) == "Vote"
    assert unique_name("VOTE", taken) == "VOTE-2"
    assert unique_name("vote-2", taken) == "vote-2-2"
    assert unique_name("..", taken) == "unnamed"
    assert len(unique_name("x" * 1000, taken)) == 100


def test_the_deepest_nesting_is_shown(tmp_path: Path) -> None:
    write_set(tmp_path / "specs", deepest_spec())
    (form,) = write_guide(tmp_path)["specs/Deep.html"].forms
    assert len(form.rows) == DEEPEST_NESTING + INLINE_DEEP + 1
    assert form.rows[-1].depth == "d8"


def test_structs_that_multiply_are_shown_once_each(tmp_path: Path) -> None:
    names = [f"S{number}" for number in range(60)]
    structs = [
        {"name": name, "versions": "0+", "fields": [field_spec(x, after) for x in "AB"]}
        for name, after in zip(names, [*names[1:], "string"], strict=True)
    ]
    spec = message_spec("Many", field_spec("Top", "S0"), commonStructs=structs)
    write_set(tmp_path / "specs", spec)
    (form,) = write_guide(tmp_path)["specs/Many.html"].forms
    assert len(form.rows) == 1 + 2 * 60


def test_the_widest_range_of_versions_is_one_form(tmp_path: Path) -> None:
    write_set(tmp_path / "specs", message_spec("Wide", field_spec(), validVersions="0-32766"))
    (form,) = write_guide(tmp_path)["specs/Wide.html"].forms
    assert len(form.versions) == 32767


def test_a_message_of_too_many_forms_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire_forms, "MOST_FIELDS", 1000)
    fields = [field_spec(f"F{number}", versions=f"{number}+") for number in range(100)]
    write_set(tmp_path / "specs", message_spec("Huge", *fields, validVersions="0-99"))
    arguments = ["--specs", str(tmp_path / "specs"), "--out", str(tmp_path / "guide")]
    result = CliRunner().invoke(docs, arguments)
    assert result.exit_code == 2
    assert "Huge.json:1: error: its versions have more than 1000 fields in total" in result.output
    assert not (tmp_path / "guide").exists()
