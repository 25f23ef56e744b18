"""A directory of specs and its set.toml -> SpecSet, with every finding in one run."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from kraftwire_generator.checks.spec_set import load_set

DATA = '{"name": "%s", "type": "data", "validVersions": "0", "flexibleVersions": "none"}'
CONTROL = """
{"name": "%s", "type": "data", "validVersions": "0", "flexibleVersions": "none",
 "fields": [{"name": "Version", "type": "int16", "versions": "0+"}]}
"""


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
    assert (spec_set.directory, spec_set.settings.title) == (directory, "mine")
    assert (spec_set.settings.release, spec_set.settings.base_release, spec_set.settings.draft) == (
        "",
        None,
        False,
    )
    assert (dict(spec_set.settings.records), dict(spec_set.settings.modules)) == ({}, {})
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
        [control_records]
        A = 0x7001
    """
    files = {"clients__A": CONTROL % "A", "metadata__deep__B": DATA % "B", "C": DATA % "C"}
    spec_set, findings = load_set(write(tmp_path, set=settings, **files))
    assert findings == []
    assert spec_set is not None
    assert (spec_set.settings.title, spec_set.settings.release, spec_set.settings.base_release) == (
        "Mine",
        "1.2",
        "1.1",
    )
    assert spec_set.settings.draft
    assert spec_set.settings.records == {"cluster-metadata": "metadata"}
    assert spec_set.settings.modules == {"metadata": "1.3"}
    assert spec_set.settings.control_records == {"A": 0x7001}
    found = [(module, resolved.spec.name) for module, resolved in spec_set.messages]
    assert found == [("", "C"), ("clients", "A"), ("metadata", "B")]


BAD_SETTINGS = [
    ("\ntitel = 'x'", 2, "titel", "did you mean title?"),
    ("zzz = 'x'", 1, "zzz", "the keys are title, release"),
    ("title = 5", 1, "title", "must be text"),
    ("draft = 'yes'", 1, "draft", "must be true or false"),
    ("records = 'x'", 1, "records", "must be a table"),
    ("[modules]\nraft = 4", 2, "modules.raft", "must be text"),
    ("[records]\nlog = 'nowhere'", 2, "records.log", "this set has no module 'nowhere'"),
    ("[modules]\nnowhere = '1'", 2, "modules.nowhere", "its modules are: none"),
    ("draft = true\nrecords = { log = 'nowhere' }", 2, "records.log", "this set has no module"),
    ("title = 'a'\n= 5", 2, "", "cannot be read as TOML"),
]


@pytest.mark.parametrize(("settings", "line", "path", "phrase"), BAD_SETTINGS)
def test_bad_settings(tmp_path: Path, settings: str, line: int, path: str, phrase: str) -> None:
    spec_set, findings = load_set(write(tmp_path, A=DATA % "A", set=settings))
    assert spec_set is not None
    assert [(item.line, item.path, item.severity) for item in findings] == [(line, path, "error")]
    assert findings[0].file.endswith("set.toml")
    assert phrase in findings[0].message


_RANGE = "must be a number from 7 to 0x7fff; Kafka uses those below"
BAD_CONTROL_RECORDS = [
    ("A = 6", 2, "control_records.A", _RANGE),
    ("A = 0x8000", 2, "control_records.A", _RANGE),
    ("A = true", 2, "control_records.A", _RANGE),
    ("A = '7'", 2, "control_records.A", _RANGE),
    ("A = 7\nB = 7", 3, "control_records.B", "0x7 is the type of A already"),
    (
        "Lost = 7",
        2,
        "control_records.Lost",
        "the set has no such message; remove the line or add its spec",
    ),
    (
        "C = 7",
        2,
        "control_records.C",
        "its first field must be an int16 named Version, which readers rely on",
    ),
]


@pytest.mark.parametrize(("records", "line", "path", "problem"), BAD_CONTROL_RECORDS)
def test_bad_control_records(
    tmp_path: Path, records: str, line: int, path: str, problem: str
) -> None:
    files = {"A": CONTROL % "A", "B": CONTROL % "B", "C": DATA % "C"}
    _, findings = load_set(write(tmp_path, set=f"[control_records]\n{records}", **files))
    assert [(item.line, item.path, item.message) for item in findings] == [(line, path, problem)]


BAD_RECORDS = [
    ("a = 'x'\nb = 'x'", 3, "records.b", "a is the log of x already; remove one of the two"),
    ("y = 'x'", 2, "records.y", "a module y has a log of that name; choose another name"),
]


@pytest.mark.parametrize(("records", "line", "path", "problem"), BAD_RECORDS)
def test_no_log_hides_the_records_of_another(
    tmp_path: Path, records: str, line: int, path: str, problem: str
) -> None:
    files = {"x__A": DATA % "A", "y__B": DATA % "B"}
    _, findings = load_set(write(tmp_path, set=f"[records]\n{records}", **files))
    assert [(item.line, item.path, item.message) for item in findings] == [(line, path, problem)]


@pytest.mark.parametrize("records", ["x = 'x'", "a = 'x'\nb = 'y'", "y = 'x'\nx = 'y'"])
def test_logs_and_modules_go_together_one_by_one(tmp_path: Path, records: str) -> None:
    files = {"x__A": DATA % "A", "y__B": DATA % "B"}
    assert load_set(write(tmp_path, set=f"[records]\n{records}", **files))[1] == []


def test_a_key_is_found_in_its_own_table(tmp_path: Path) -> None:
    settings = "[records]\nraft = 'x'\n[modules]\nraft = 5"
    _, findings = load_set(write(tmp_path, set=settings, x__A=DATA % "A"))
    assert [(item.line, item.path) for item in findings] == [(4, "modules.raft")]


@pytest.mark.parametrize("name", ["Lost.json", "set.toml"])
def test_a_pipe_is_no_file_of_a_set(tmp_path: Path, name: str) -> None:
    os.mkfifo(write(tmp_path, A=DATA % "A") / name)
    _, findings = load_set(tmp_path)
    assert [(Path(item.file).name, item.severity) for item in findings] == [(name, "error")]
    assert findings[0].message == "is not a regular file; replace it with one"


def test_a_link_to_nowhere_is_a_spec_that_cannot_be_read(tmp_path: Path) -> None:
    (write(tmp_path, A=DATA % "A") / "Lost.json").symlink_to(tmp_path / "nowhere")
    _, findings = load_set(tmp_path)
    assert [Path(item.file).name for item in findings] == ["Lost.json"]
    assert findings[0].message == "cannot be read: No such file or directory"


def test_a_folder_that_cannot_be_read_does_not_lose_its_messages_in_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the tests run as root every folder can be read, hence the stand-in."""
    scandir = os.scandir

    def refuse(path: str) -> Any:
        if Path(path).name == "closed":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return scandir(path)

    write(tmp_path, A=DATA % "A", closed__B=DATA % "B")
    monkeypatch.setattr(os, "scandir", refuse)
    _, findings = load_set(tmp_path)
    assert [(Path(item.file).name, item.severity) for item in findings] == [("closed", "error")]
    assert "cannot be read: Permission denied" in findings[0].message


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
