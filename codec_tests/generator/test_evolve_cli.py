"""`evolve` and `specs diff` as a person runs them, and every kind of side they can name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kraftwire_generator.commands import comparison_output
from kraftwire_generator.comparison.sides import common_part, read_side
from kraftwire_generator.errors import SpecError

from codec_tests.generator_commands import run_generator as run
from codec_tests.generator_commands import run_git as git
from codec_tests.spec_files import field_spec, message_spec, write_jar, write_set

OLD = message_spec("m/Foo", field_spec("a"), field_spec("b"))
RENAMED = message_spec("m/Foo", field_spec("a"), field_spec("z"))
BROKEN = message_spec("m/Foo", field_spec("a", "int64"), field_spec("z"))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The sets old, renamed and broken, in the current directory."""
    monkeypatch.chdir(tmp_path)
    for name, spec in (("old", OLD), ("renamed", RENAMED), ("broken", BROKEN)):
        write_set(tmp_path / name, spec)
    return tmp_path


# -- evolve ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("new", "code", "last"),
    [
        ("old", 0, "the wire holds: 0 warnings"),
        ("renamed", 0, "the wire holds: 1 warning"),
        ("broken", 1, "the wire breaks in 1 message: 1 error, 1 warning"),
    ],
)
def test_evolve_exit_codes(here: Path, new: str, code: int, last: str) -> None:
    result = run("evolve", "old", new)
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (code, last)


def test_evolve_prints_json_lines_when_piped(here: Path) -> None:
    rows = [json.loads(line) for line in run("evolve", "old", "broken").stdout.splitlines()]
    assert rows[0] == {
        "message": "Foo",
        "path": "a",
        "rule": "type",
        "severity": "error",
        "first_version": 0,
        "versions": "0",
        "file": "broken/m/Foo.json",
        "line": 1,
        "text": "the type was int32, is int64",
    }
    assert [row["rule"] for row in rows] == ["type", "renamed"]
    assert len(run("evolve", "old", "broken", "--errors-only").stdout.splitlines()) == 1


def test_evolve_prints_text_on_a_terminal(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison_output, "on_terminal", lambda: True)
    assert run("evolve", "old", "broken").stdout == (
        "Foo: breaks from version 0\n"
        "  error: a: the type was int32, is int64\n"
        "    version 0; broken/m/Foo.json:1\n"
        "  warning: z: was called b\n"
        "    version 0; broken/m/Foo.json:1\n"
        "\n"
    )


def test_evolve_prints_markdown(here: Path) -> None:
    lines = run("evolve", "old", "broken", "-o", "markdown").stdout.splitlines()
    assert lines == [
        "# old -> broken",
        "",
        "the wire breaks in 1 message: 1 error, 1 warning.",
        "",
        "## Foo: breaks from version 0",
        "",
        "| severity | where | versions | what | place |",
        "|---|---|---|---|---|",
        "| error | a | 0 | the type was int32, is int64 | broken/m/Foo.json:1 |",
        "| warning | z | 0 | was called b | broken/m/Foo.json:1 |",
    ]
    errors_only = run("evolve", "old", "broken", "-o", "markdown", "--errors-only").stdout
    assert errors_only.splitlines() == lines[:-1]


def test_evolve_puts_broken_messages_first_and_escapes(here: Path) -> None:
    hostile = message_spec("m/Bar", field_spec("s", "string", default="\n\x1b[31m"))
    write_set(here / "old", message_spec("m/Bar", field_spec("s", "string")))
    write_set(here / "broken", hostile)
    lines = run("evolve", "old", "broken", "-o", "text").stdout.splitlines()
    assert [line for line in lines if line and line[0] != " "] == [
        "Foo: breaks from version 0",
        "Bar: the wire holds",
    ]
    assert r'is "\n\x1b[31m"' in "\n".join(lines)


# -- specs diff ------------------------------------------------------------------------------


def test_diff_exit_codes_and_output(here: Path) -> None:
    same = run("specs", "diff", "old", "old")
    assert (same.exit_code, same.stdout) == (0, "")
    assert same.stderr == "old -> old: no difference\n"
    other = run("specs", "diff", "old", "broken")
    assert other.exit_code == 1
    assert [json.loads(line)["change"] for line in other.stdout.splitlines()] == [
        "changed",
        "renamed",
    ]
    assert "  renamed  z  b -> z" in run("specs", "diff", "old", "broken", "-o", "text").stdout
    assert (
        "| renamed | z | b -\\> z |"
        in run("specs", "diff", "old", "broken", "-o", "markdown").stdout
    )


@pytest.mark.parametrize("command", [("evolve",), ("specs", "diff")])
@pytest.mark.parametrize(
    ("side", "problem"),
    [
        ("missing", "the file or directory does not exist"),
        ("missing@v1", "git cannot read this revision"),
        ("notes.txt", "neither a spec file (*.json) nor a jar"),
        ("kafka.jar", "does not say which of Kafka's modules"),
        ("", "the name of a side is empty"),
        ("missing@--upload-pack=x", "git cannot read this revision"),
        ("missing@v1\n", "git cannot read this revision"),
        ("empty", "it has no message specs"),
        ("faulty", "unknown type 'int33'"),
        ("twice", "Foo is also in"),
        ("codes", "no table [error_codes]"),
        ("binary", "not UTF-8"),
    ],
)
def test_what_cannot_be_done(here: Path, command: tuple[str, ...], side: str, problem: str) -> None:
    (here / "notes.txt").write_text("x")
    (here / "kafka.jar").write_text("x")
    (here / "empty").mkdir()
    write_set(here / "faulty", message_spec("Foo", field_spec("a", "int33")))
    write_set(here / "twice", message_spec("a/Foo"), message_spec("b/Foo"))
    write_set(here / "codes", message_spec("Foo"))
    (here / "codes/error_codes.toml").write_text("error_codes = 1")
    write_set(here / "binary", message_spec("Foo"))
    (here / "binary/Bar.json").write_bytes(b"\xff")
    result = run(*command, "old", side)
    assert (result.exit_code, result.stdout) == (2, "")
    assert problem in result.stderr
    assert ":1: error" not in result.stderr or side in ("faulty", "twice")


def test_a_terminal_character_in_a_spec_leaves_json_whole(here: Path) -> None:
    hostile = message_spec(
        "m/Foo", field_spec("a"), field_spec("b", "string", default="\x7f\x1b\n")
    )
    plain = message_spec("m/Foo", field_spec("a"), field_spec("b", "string"))
    old, new = (write_set(here / name, spec) for name, spec in (("p", plain), ("h", hostile)))
    (row,) = map(json.loads, run("specs", "diff", str(old), str(new)).stdout.splitlines())
    assert row["new"] == "\x7f\x1b\n"
    (row,) = map(json.loads, run("evolve", str(old), str(new)).stdout.splitlines())
    assert row["text"].startswith('the default was "", is "\x7f\x1b\n"')


# -- sides -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_git_revisions_of_a_set(here: Path) -> None:
    git(here, "init", "-q")
    git(here, "add", "-A")
    git(here, "commit", "-q", "-m", "one")
    git(here, "tag", "v1")
    write_set(here / "old", BROKEN)
    assert run("evolve", "old@v1", "old").exit_code == 1
    assert run("evolve", "old/m/Foo.json@v1", "old/m/Foo.json").exit_code == 1
    assert run("specs", "diff", "old@v1", ".@v1:old").exit_code == 0
    assert run("specs", "diff", f"{here / 'old'}@v1", "old@v1").exit_code == 0
    found = [json.loads(line) for line in run("evolve", "old@v1", "old").stdout.splitlines()]
    assert found[0]["file"] == "old/m/Foo.json"
    git(here, "rm", "-q", "-r", "renamed")
    assert run("evolve", "renamed@v1", "old@v1").exit_code == 0
    side = read_side("renamed/m/Foo.json@v1")
    assert (side.extent, side.messages["Foo"].spec.file) == ("file", "v1:renamed/m/Foo.json")
    git(here, "clone", "-q", "--bare", str(here), "bare.git")
    assert read_side("bare.git@v1:old").messages.keys() == {"Foo"}


def test_a_file_is_compared_with_its_message_in_a_set(here: Path) -> None:
    assert run("evolve", "old/m/Foo.json", "broken").exit_code == 1
    assert run("specs", "diff", "old", "old/m/Foo.json").exit_code == 0
    write_set(here / "old", message_spec("Bar", field_spec("a"), field_spec("b")))
    assert run("evolve", "old/m/Foo.json", "old/Bar.json").exit_code == 0  # another name
    missing = run("evolve", "old/Bar.json", "broken")
    assert (missing.exit_code, "it has no message Bar" in missing.stderr) == (2, True)


def jar(folder: Path, module: str, release: str, *specs: dict[str, Any]) -> str:
    folder.mkdir(exist_ok=True)
    files = {f"common/message/{spec['name']}.json": json.dumps(spec) for spec in specs}
    return write_jar(folder / f"kafka-{module}-{release}.jar", files)


def test_jars_say_nothing_of_modules_that_they_lack(here: Path) -> None:
    foo, bar = message_spec("Foo"), message_spec("Bar")
    one = jar(here / "one", "clients", "9.1.0", foo)
    jar(here / "two", "clients", "9.2.0", foo, message_spec("Baz"))
    jar(here / "two", "raft", "9.2.0", bar)
    (here / "two/kafka-clients-9.2.0-sources.jar").write_bytes(b"no jar")
    assert read_side("two").title == "Apache Kafka 9.2.0"
    result = run("specs", "diff", one, "two")
    assert [json.loads(line)["message"] for line in result.stdout.splitlines()] == ["Baz"]
    assert "not compared, since only one side has them: raft" in result.stderr
    assert "raft" in run("evolve", one, "two").stderr


def test_a_source_tree(here: Path) -> None:
    folder = here / "kafka/clients/src/main/resources/common/message"
    folder.mkdir(parents=True)
    (here / "kafka/gradle.properties").write_text("version=9.1.0\n")
    old_dialect = {"name": "Foo", "type": "data", "validVersions": "0", "fields": []}
    (folder / "Foo.json").write_text(json.dumps(old_dialect))
    side = read_side("kafka")
    assert (side.extent, side.title, side.modules) == ("whole", "Apache Kafka 9.1.0", {"clients"})
    git(here / "kafka", "init", "-q")
    git(here / "kafka", "add", "-A")
    git(here / "kafka", "commit", "-q", "-m", "one")
    assert read_side("kafka@HEAD").messages.keys() == {"Foo"}


def test_common_part_keeps_messages_that_moved(here: Path) -> None:
    jar(here / "one", "clients", "9.1.0", message_spec("Foo"), message_spec("Bar"))
    jar(here / "two", "clients", "9.2.0", message_spec("Bar"))
    jar(here / "two", "raft", "9.2.0", message_spec("Foo"), message_spec("Other"))
    old, new, left_out = common_part(read_side("one"), read_side("two"))
    assert set(old.messages) == set(new.messages) == {"Foo", "Bar"}
    assert left_out == ["raft"]


def test_a_set_that_is_too_large(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kraftwire_generator.importer.sources.LARGEST_SOURCE", 10)
    git(here, "init", "-q")
    git(here, "add", "-A")
    git(here, "commit", "-q", "-m", "one")
    with pytest.raises(SpecError, match="more than 10 bytes"):
        read_side("old@HEAD")
