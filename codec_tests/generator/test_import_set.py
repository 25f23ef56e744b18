"""An import writes a spec set: facts only, the same bytes again, and nothing outside of it."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from kraftwire_generator.checks.spec_set import load_set
from kraftwire_generator.commands.specs import specs
from kraftwire_generator.errors import SpecError
from kraftwire_generator.importer.set_writer import import_specs

from codec_tests.oracle import REPOSITORY
from codec_tests.spec_files import message_spec, write_jar

_KAFKA = REPOSITORY / "message_specs/kafka"

_BEACON = """// Prose.
{ "type": "data", "name": "Beacon", "validVersions": "0", "flexibleVersions": "none",
  "fields": [ { "name": "Id", "type": "int8", "versions": "0", "about": "More prose." } ] }
"""


def _spec(name: str, **keys: object) -> str:
    return json.dumps(message_spec(name, **keys))


def _jar(folder: Path, module: str, release: str, specs: dict[str, str]) -> str:
    files = {f"common/message/{name}.json": text for name, text in specs.items()}
    return write_jar(folder / f"kafka-{module}-{release}.jar", files)


def _tree(folder: Path, release: str, specs: dict[str, str]) -> str:
    root = folder / f"tree-{release}"
    for path, text in specs.items():
        module, name = path.split("/")
        target = root / module / "src/main/resources/common/message" / f"{name}.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    errors = root / "clients/src/main/java/org/apache/kafka/common/protocol/Errors.java"
    errors.parent.mkdir(parents=True)
    errors.write_text("  LAMP_OUT(1, x),\n  NONE(0, x),\n  UNKNOWN_SERVER_ERROR(-1, x);\n")
    (root / "gradle.properties").write_text(f"version={release}\n")
    return str(root)


def _files(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def _settings(out: Path) -> dict[str, object]:
    return tomllib.loads((out / "set.toml").read_text())


def test_facts_are_written_under_the_name_of_the_message(tmp_path: Path) -> None:
    out = tmp_path / "set"
    files = {"LightHouse": _BEACON, "settings": '{"lamps": 3}', "list": "[1]"}
    report = import_specs([_jar(tmp_path, "raft", "9.1.0", files)], out)
    assert report.changed == ("raft/Beacon.json", "set.toml")
    assert report.error_codes is None
    text = (out / "raft/Beacon.json").read_text()
    assert "rose" not in text
    assert '{ "name": "Id", "type": "int8", "versions": "0" }' in text


def test_a_second_import_changes_nothing(tmp_path: Path) -> None:
    out = tmp_path / "set"
    source = _tree(tmp_path, "9.1.0", {"clients/Beacon": _BEACON})
    first = import_specs([source], out)
    before = _files(out)
    second = import_specs([source], out)
    assert _files(out) == before
    assert second.changed == second.removed == ()
    assert second.unchanged == first.changed


def test_the_set_says_which_releases_it_holds(tmp_path: Path) -> None:
    out = tmp_path / "set"
    jars = [
        _jar(tmp_path, "streams", "9.9.1", {"Beacon": _spec("Beacon")}),
        _jar(tmp_path, "raft", "9.10.0-rc1", {"Lamp": _spec("Lamp")}),
        _jar(tmp_path, "storage", "9.10.0", {"Shelf": _spec("Shelf")}),
        _jar(tmp_path, "server", "9.11.0", {}),
    ]
    report = import_specs(jars, out)
    assert report.release == "9.10.0"
    assert report.empty_sources == (jars[3],)
    assert _settings(out) == {
        "title": "Apache Kafka 9.10.0",
        "release": "9.10.0",
        "draft": False,
        "records": {"remote-log": "storage"},
        "modules": {"raft": "9.10.0-rc1", "streams": "9.9.1"},
    }
    loaded, findings = load_set(out)
    assert loaded is not None
    assert [str(finding) for finding in findings] == []


def test_error_codes_are_written_in_numeric_order(tmp_path: Path) -> None:
    out = tmp_path / "set"
    report = import_specs([_tree(tmp_path, "9.1.0", {"clients/Beacon": _BEACON})], out)
    assert report.error_codes == 3
    codes = tomllib.loads((out / "error_codes.toml").read_text())["error_codes"]
    assert list(codes.items()) == [("UNKNOWN_SERVER_ERROR", -1), ("NONE", 0), ("LAMP_OUT", 1)]


def test_a_module_is_replaced_and_the_others_stay(tmp_path: Path) -> None:
    out = tmp_path / "set"
    old = [
        _jar(tmp_path, "raft", "9.1.0", {"Lamp": _spec("Lamp"), "Old": _spec("Old")}),
        _jar(tmp_path, "streams", "9.1.0", {"Beacon": _spec("Beacon")}),
    ]
    import_specs(old, out)
    (out / "raft/notes.txt").write_text("kept")
    new = _jar(tmp_path, "raft", "9.2.0", {"Lamp": _spec("Lamp"), "New": _spec("New")})
    report = import_specs([new], out)
    assert report.removed == ("raft/Old.json",)
    assert report.unchanged == ("raft/Lamp.json",)
    assert [(m.module, m.specs, m.release, m.imported) for m in report.modules] == [
        ("raft", 2, "9.2.0", True),
        ("streams", 1, "9.1.0", False),
    ]
    assert _settings(out)["modules"] == {"streams": "9.1.0"}
    assert (out / "raft/notes.txt").exists()


def test_a_whole_tree_replaces_the_whole_set(tmp_path: Path) -> None:
    out = tmp_path / "set"
    specs_of_9_1 = {"clients/Beacon": _BEACON, "raft/Lamp": _spec("Lamp")}
    import_specs([_tree(tmp_path, "9.1.0", specs_of_9_1)], out)
    report = import_specs([_tree(tmp_path, "9.0.0", {"clients/Beacon": _BEACON})], out)
    assert report.removed == ("raft/Lamp.json",)
    assert [module.module for module in report.modules] == ["clients"]
    assert _settings(out)["release"] == "9.0.0"


def test_a_folder_that_no_import_wrote_loses_nothing(tmp_path: Path) -> None:
    out = tmp_path / "set"
    (out / "raft").mkdir(parents=True)
    (out / "raft/Mine.json").write_text("{}")
    jar = _jar(tmp_path, "raft", "9.1.0", {"Lamp": _spec("Lamp")})
    assert import_specs([jar], out).removed == ()
    assert (out / "raft/Mine.json").exists()
    (out / "set.toml").write_text('release = "1"\n')
    before = _files(out)
    with pytest.raises(SpecError, match="choose another --out"):
        import_specs([jar], out)
    assert _files(out) == before


@pytest.mark.parametrize("text", ["release = ", "release = 9", 'release = "a\\"b"'])
def test_a_damaged_set_is_refused(tmp_path: Path, text: str) -> None:
    out = tmp_path / "set"
    jar = _jar(tmp_path, "raft", "9.1.0", {"Lamp": _spec("Lamp")})
    import_specs([jar], out)
    marker = (out / "set.toml").read_text().splitlines()[0]
    (out / "set.toml").write_text(f"{marker}\n{text}\n")
    with pytest.raises(SpecError, match=r"set\.toml"):
        import_specs([jar], out)


def test_a_published_spec_that_repeats_a_key_is_read_as_kafka_reads_it(tmp_path: Path) -> None:
    text = _BEACON.replace('"about"', '"versions": "0+", "about"')
    import_specs([_jar(tmp_path, "clients", "3.9.1", {"Beacon": text})], tmp_path / "out")
    written = json.loads((tmp_path / "out/clients/Beacon.json").read_text())
    assert written["fields"][0]["versions"] == "0+"


def test_the_dialect_of_older_releases(tmp_path: Path) -> None:
    out = tmp_path / "set"
    beacon = """/* { */ { "type": "request", "apiKey": 1, "listeners": ["zkBroker"], // "}
      "name": "BeaconRequest", "validVersions": "0-1", "fields": [
        { "name": "Braces", "type": "string", "versions": "0+", "default": "\\"}{" } ] }
      ] }
    """
    files = {"BeaconRequest": beacon, "LampKey": _spec("LampKey")}
    import_specs([_jar(tmp_path, "clients", "2.8.0", files)], out)
    written = json.loads((out / "clients/BeaconRequest.json").read_text())
    assert written["flexibleVersions"] == "none"
    assert written["listeners"] == ["zkBroker"]
    assert written["fields"][0]["default"] == '"}{'
    assert "apiKey" not in json.loads((out / "clients/LampKey.json").read_text())


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "end of the file"),
        ('{"type": "data"} true', "end of the file"),
        ('{"type": "data", "x": "\\', "string"),
        ('{"type": "data", "name": "Beacon"}', "validVersions"),
        (_spec("../../Escape"), "is not a message name"),
        (_spec("Beacon", unheard=1), "unheard"),
        ('{"a":' * 5000, "nested"),
    ],
)
def test_bad_specs_are_findings_and_nothing_is_written(
    tmp_path: Path, text: str, problem: str
) -> None:
    out = tmp_path / "set"
    with pytest.raises(SpecError, match=problem) as caught:
        import_specs([_jar(tmp_path, "raft", "9.1.0", {"Bad": text})], out)
    assert "common/message/Bad.json" in str(caught.value)
    assert not out.exists()


def test_one_message_in_two_sources(tmp_path: Path) -> None:
    out = tmp_path / "set"
    raft = _jar(tmp_path, "raft", "9.1.0", {"Beacon": _spec("Beacon")})
    streams = _jar(tmp_path, "streams", "9.1.0", {"Beacon": _spec("BEACON")})
    with pytest.raises(SpecError, match="BEACON is also in"):
        import_specs([raft, streams], out)
    import_specs([raft], out)
    with pytest.raises(SpecError, match="BEACON is also in"):
        import_specs([streams], out)


def test_one_module_in_two_releases(tmp_path: Path) -> None:
    jars = [_jar(tmp_path, "raft", f"9.{n}.0", {f"Lamp{n}": _spec(f"Lamp{n}")}) for n in (1, 2)]
    with pytest.raises(SpecError, match="two releases"):
        import_specs(jars, tmp_path / "set")


def test_links_do_not_lead_out_of_the_set(tmp_path: Path) -> None:
    out, elsewhere = tmp_path / "set", tmp_path / "elsewhere"
    out.mkdir()
    elsewhere.mkdir()
    (elsewhere / "file").write_text("mine")
    (out / "storage").mkdir()
    (out / "storage/Shelf.json").symlink_to(elsewhere / "file")
    import_specs([_jar(tmp_path, "storage", "9.1.0", {"Shelf": _spec("Shelf")})], out)
    assert not (out / "storage/Shelf.json").is_symlink()
    (elsewhere / "mine.json").write_text("mine")
    before = _files(elsewhere)
    (out / "raft").symlink_to(elsewhere)
    for source in (
        _jar(tmp_path, "raft", "9.1.0", {"Lamp": _spec("Lamp")}),
        _tree(tmp_path, "9.1.0", {"clients/Beacon": _BEACON}),
    ):
        with pytest.raises(SpecError, match="a directory outside the set"):
            import_specs([source], out)
    assert _files(elsewhere) == before


def test_an_out_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "set").write_text("a file")
    with pytest.raises(SpecError, match="cannot be written"):
        import_specs([_jar(tmp_path, "raft", "9.1.0", {"A": _spec("A")})], tmp_path / "set")


def test_the_command_prints_json_lines_and_a_summary(tmp_path: Path) -> None:
    jar = _jar(tmp_path, "raft", "9.1.0", {"Lamp": _spec("Lamp")})
    result = CliRunner().invoke(specs, ["import", jar, "--out", str(tmp_path / "set")])
    assert result.exit_code == 0
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert rows == [{"module": "raft", "specs": 1, "release": "9.1.0"}]
    assert "Apache Kafka 9.1.0, 2 files written, 0 removed, 0 unchanged" in result.stderr
    assert "no source has the error codes" in result.stderr


@pytest.mark.parametrize("arguments", [[], ["nowhere.jar"], ["nowhere@\x1b[31mtrunk"]])
def test_the_command_fails_with_a_sentence(tmp_path: Path, arguments: list[str]) -> None:
    result = CliRunner().invoke(specs, ["import", *arguments, "--out", str(tmp_path / "set")])
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "\x1b" not in result.stderr
    assert "Traceback" not in result.stderr


def _keys(value: object) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*(_keys(item) for item in value.values()))
    return set().union(*(_keys(item) for item in value)) if isinstance(value, list) else set()


def test_the_shipped_set_holds_facts_only() -> None:
    paths = sorted(_KAFKA.glob("*/*.json"))
    assert len(paths) == 287
    for path in paths:
        spec = json.loads(path.read_text(encoding="utf-8"))  # comments would be an error here
        assert "about" not in _keys(spec), path.name
        assert spec["name"] == path.stem


def test_the_shipped_set_names_its_release() -> None:
    settings = _settings(_KAFKA)
    assert settings["release"] == "4.4.0"
    assert settings["modules"] == {"streams": "4.3.1"}


def test_the_shipped_error_codes() -> None:
    table = tomllib.loads((_KAFKA / "error_codes.toml").read_text())["error_codes"]
    known = {
        "UNKNOWN_SERVER_ERROR": -1,
        "NONE": 0,
        "UNKNOWN_TOPIC_OR_PARTITION": 3,
        "UNSUPPORTED_VERSION": 35,
        "SNAPSHOT_NOT_FOUND": 98,
        "VOTER_NOT_FOUND": 127,
    }
    assert known.items() <= table.items()
    assert list(table.values()) == list(range(-1, len(table) - 1))
