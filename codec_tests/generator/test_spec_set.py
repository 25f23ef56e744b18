"""A directory of specs and its set.toml -> SpecSet, with every finding in one run."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraftwire_generator.spec_set import load_set

DATA = '{"name": "%s", "type": "data", "validVersions": "0", "flexibleVersions": "none"}'


def write(directory: Path, **files: str) -> Path:
    """Files by name, `__` for a slash and a spec's `.json` left out."""
    for name, text in files.items():
        path = directory / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".toml" if path.name == "set" else ".json").write_text(text)
    return directory


def test_a_set_without_settings(tmp_path: Path) -> None:
    directory = write(tmp_path / "mine", B=DATA % "B", A=DATA % "A")
    spec_set, findings = load_set(directory)
    assert findings == []
    assert spec_set is not None
    assert (spec_set.directory, spec_set.title) == (directory, "mine")
    assert (spec_set.release, spec_set.base_release, spec_set.draft) == ("", None, False)
    assert (dict(spec_set.records), dict(spec_set.modules)) == ({}, {})
    assert [(module, item.spec.name) for module, item in spec_set.messages] == [
        ("", "A"),
        ("", "B"),
    ]


def test_settings_and_modules(tmp_path: Path) -> None:
    settings = """
        title = "Mine"
        release = "1.2"
        base_release = "1.1"
        draft = true
        [records]
        cluster-metadata = "metadata"
        [modules]
        metadata = "1.3"
    """
    files = {"clients__A": DATA % "A", "metadata__deep__B": DATA % "B", "C": DATA % "C"}
    spec_set, findings = load_set(write(tmp_path, set=settings, **files))
    assert findings == []
    assert spec_set is not None
    assert (spec_set.title, spec_set.release, spec_set.base_release) == ("Mine", "1.2", "1.1")
    assert spec_set.draft
    assert spec_set.records == {"cluster-metadata": "metadata"}
    assert spec_set.modules == {"metadata": "1.3"}
    found = [(module, resolved.spec.name) for module, resolved in spec_set.messages]
    assert found == [("", "C"), ("clients", "A"), ("metadata", "B")]


BAD_SETTINGS = [
    ("\ntitel = 'x'", 2, "titel", "did you mean title?"),
    ("zzz = 'x'", 1, "zzz", "the keys are title, release"),
    ("title = 5", 1, "title", "must be text"),
    ("draft = 'yes'", 1, "draft", "must be true or false"),
    ("records = 'x'", 1, "records", "must be a table"),
    ("[modules]\nraft = 4", 2, "modules.raft", "must be text"),
    ("[records]\nlog = 'nowhere'", 1, "records.log", "there is no module 'nowhere'"),
    ("[modules]\nnowhere = '1'", 1, "modules.nowhere", "its modules are: none"),
    ("title = 'a'\n= 5", 2, "", "cannot be read as TOML"),
]


@pytest.mark.parametrize(("settings", "line", "path", "phrase"), BAD_SETTINGS)
def test_bad_settings(tmp_path: Path, settings: str, line: int, path: str, phrase: str) -> None:
    spec_set, findings = load_set(write(tmp_path, A=DATA % "A", set=settings))
    assert spec_set is not None
    assert [(item.line, item.path, item.severity) for item in findings] == [(line, path, "error")]
    assert findings[0].file.endswith("set.toml")
    assert phrase in findings[0].message


def test_settings_that_are_not_utf_8(tmp_path: Path) -> None:
    write(tmp_path, A=DATA % "A")
    (tmp_path / "set.toml").write_bytes(b'title = "\xff"')
    _, findings = load_set(tmp_path)
    assert "cannot be read as TOML" in findings[0].message


def test_every_finding_in_the_order_of_the_files(tmp_path: Path) -> None:
    request = '{"name": "PingRequest", "type": "request", "validVersions": "0-1",\n'
    request += '"flexibleVersions": "none", "fields": [\n'
    request += '{"name": "A", "type": "S", "versions": "0+"},\n'
    request += '{"name": "B", "type": "int8", "versions": "0+", "default": 300, "abuot": ""}]}'
    files = {"a__PingRequest": request, "b__Broken": "{", "b__PingResponse": DATA % "Other"}
    spec_set, findings = load_set(write(tmp_path, set="draft = 1", **files))
    assert spec_set is not None
    assert [item.spec.name for _, item in spec_set.messages] == ["PingRequest", "Other"]
    told = [(Path(item.file).name, item.line, item.path) for item in findings]
    assert told == [
        ("set.toml", 1, "draft"),
        ("PingRequest.json", 1, ""),
        ("PingRequest.json", 1, ""),
        ("PingRequest.json", 3, "A"),
        ("PingRequest.json", 4, "B"),
        ("PingRequest.json", 4, "B"),
        ("Broken.json", 1, ""),
    ]


def test_an_unread_partner_counts(tmp_path: Path) -> None:
    request = DATA.replace("data", "request").replace("%s", "PingRequest")
    request = request.replace("{", '{"apiKey": 1, ')
    _, findings = load_set(write(tmp_path, PingRequest=request, PingResponse="{"))
    assert [Path(item.file).name for item in findings] == ["PingResponse.json"]


@pytest.mark.parametrize("exists", [True, False])
def test_a_directory_without_specs(tmp_path: Path, exists: bool) -> None:
    directory = tmp_path / "none"
    if exists:
        directory.mkdir()
    spec_set, findings = load_set(directory)
    assert spec_set is None
    assert ("has no specs" if exists else "is not a directory") in findings[0].message
    assert "name a directory with spec files" in findings[0].message
    assert findings[0].severity == "error"
