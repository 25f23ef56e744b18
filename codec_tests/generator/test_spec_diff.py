"""The differences that `specs diff` finds, and how it prints them."""

from __future__ import annotations

import json
from pathlib import Path

from kraftwire_generator.commands.diff_text import json_rows, markdown_lines, summary, text_lines
from kraftwire_generator.comparison.sides import read_side
from kraftwire_generator.comparison.spec_diff import SpecDifference, diff_sides

from codec_tests.evolving import Spec, read_two_sides
from codec_tests.spec_files import field_spec, message_spec, write_set

CODES = "[error_codes]\nNONE = 0\nLAMP_OUT = 1\n"


def changes(folder: Path, old: list[Spec], new: list[Spec]) -> list[SpecDifference]:
    return diff_sides(*read_two_sides(folder, old, new))


def told(found: list[SpecDifference]) -> list[tuple[str, str, str, object, object]]:
    return [(item.kind, item.path, item.fact, item.old, item.new) for item in found]


def test_equal_sets_do_not_differ(tmp_path: Path) -> None:
    old = message_spec("m/Foo", field_spec("a", default="0x10", about="Words."))
    new = message_spec("m/Foo", field_spec("a", default=16, about="Other words."))
    assert changes(tmp_path, [old], [new]) == []
    assert summary([]) == "no difference"


def test_messages(tmp_path: Path) -> None:
    old = [message_spec("m/Gone", field_spec("a")), message_spec("m/Moves")]
    new = [message_spec("n/Come", apiKey=3), message_spec("n/Moves")]
    gone, come, moves = changes(tmp_path, old, new)
    assert (gone.kind, gone.module, gone.message) == ("removed", "m", "Gone")
    assert gone.old == {
        "type": "data",
        "validVersions": "0",
        "flexibleVersions": "none",
        "fields": 1,
    }
    assert (come.kind, come.module, come.message, come.old) == ("added", "n", "Come", None)
    assert (moves.fact, moves.old, moves.new) == ("module", "m", "n")


def test_a_message_under_another_name(tmp_path: Path) -> None:
    old = message_spec("m/Old", type="metadata", apiKey=3)
    new = message_spec("m/New", type="metadata", apiKey=3)
    assert told(changes(tmp_path, [old], [new])) == [("renamed", "", "name", "Old", "New")]


def test_keys_of_a_message(tmp_path: Path) -> None:
    old = message_spec("PingRequest", type="request", apiKey=1, listeners=["broker"])
    new = old | {
        "apiKey": 2,
        "validVersions": "0-1",
        "flexibleVersions": "1+",
        "latestVersionUnstable": True,
        "listeners": ["controller"],
    }
    assert told(changes(tmp_path, [old], [new])) == [
        ("changed", "", "apiKey", 1, 2),
        ("changed", "", "listeners", ["broker"], ["controller"]),
        ("changed", "", "validVersions", "0", "0-1"),
        ("changed", "", "flexibleVersions", "none", "1+"),
        ("changed", "", "latestVersionUnstable", None, True),
    ]


def test_facts_of_fields(tmp_path: Path) -> None:
    flexible = {"flexibleVersions": "0+"}
    old = message_spec("Foo", field_spec("a"), field_spec("b", "string"), **flexible)
    after_a = field_spec("a", "int64", default=-1, ignorable=True)
    after_b = field_spec("b", "string", nullableVersions="0+", tag=0, taggedVersions="0+")
    new = message_spec("Foo", after_a, after_b, **flexible)
    assert told(changes(tmp_path, [old], [new])) == [
        ("changed", "a", "type", "int32", "int64"),
        ("changed", "a", "default", None, "-1"),
        ("changed", "a", "ignorable", None, True),
        ("changed", "b", "nullableVersions", None, "0+"),
        ("changed", "b", "taggedVersions", None, "0+"),
        ("changed", "b", "tag", None, 0),
    ]


def test_fields_that_came_went_moved_or_have_another_name(tmp_path: Path) -> None:
    struct = field_spec("s", "[]S", fields=[field_spec("x")])
    old = message_spec(
        "Foo", field_spec("a"), field_spec("b"), field_spec("c"), field_spec("old"), struct
    )
    new = message_spec("Foo", field_spec("c"), field_spec("a"), field_spec("b"), field_spec("new"))
    found = changes(tmp_path, [old], [new])
    assert [(item.kind, item.path) for item in found] == [
        ("removed", "s"),
        ("removed", "s.x"),
        ("moved", "c"),
        ("renamed", "new"),
    ]
    renamed = message_spec("Foo", field_spec("z"), *new["fields"][2:3])
    before = message_spec("Foo", field_spec("a"), *new["fields"][2:3])
    assert told(changes(tmp_path / "more", [before], [renamed])) == [
        ("renamed", "z", "name", "a", "z")
    ]


def test_common_structs(tmp_path: Path) -> None:
    def common(name: str, *fields: Spec) -> Spec:
        structs = [{"name": name, "versions": "0+", "fields": list(fields)}]
        return message_spec(
            "Foo", field_spec("s", f"[]{name}"), field_spec("t", name), commonStructs=structs
        )

    inline = message_spec("Foo", field_spec("s", "[]S", fields=[field_spec("x")]))
    one = message_spec("Foo", field_spec("s", "[]S"))
    one["commonStructs"] = common("S", field_spec("x"))["commonStructs"]
    assert changes(tmp_path / "inline", [inline], [one]) == []
    old, new = common("S", field_spec("x")), common("S", field_spec("x", "int8"))
    assert told(changes(tmp_path / "once", [old], [new])) == [
        ("changed", "S.x", "type", "int32", "int8")
    ]
    other_name = common("T", field_spec("x", "int8"))
    assert told(changes(tmp_path / "name", [old], [other_name])) == [
        ("changed", "s", "type", "[]S", "[]T"),
        ("changed", "t", "type", "S", "T"),
        ("changed", "T.x", "type", "int32", "int8"),
    ]


def test_error_codes(tmp_path: Path) -> None:
    for name, codes in (("old", CODES), ("new", CODES.replace("OUT", "GONE") + "MORE = 2\n")):
        write_set(tmp_path / name, message_spec("Foo"))
        (tmp_path / name / "error_codes.toml").write_text(codes)
    found = diff_sides(*(read_side(str(tmp_path / name)) for name in ("old", "new")))
    assert told(found) == [
        ("renamed", "1", "error code", "LAMP_OUT", "LAMP_GONE"),
        ("added", "2", "error code", None, "MORE"),
    ]
    assert list(text_lines(found)) == [
        "error codes",
        "  renamed  1  LAMP_OUT -> LAMP_GONE",
        "  added    2  MORE",
        "",
    ]


def sample(tmp_path: Path) -> list[SpecDifference]:
    old = [message_spec("m/Foo", field_spec("a"), field_spec("b", "string", default="x"))]
    hostile = field_spec("b", "string", default="<b>|\n\x1b[31m")
    new = [
        message_spec("m/Foo", field_spec("a", default=1, ignorable=True), hostile),
        message_spec("m/New", field_spec("a"), type="metadata", apiKey=3),
    ]
    return changes(tmp_path, old, new)


def test_text(tmp_path: Path) -> None:
    found = sample(tmp_path)
    assert list(text_lines(found)) == [
        "added  m/New  metadata, apiKey 3, validVersions 0, flexibleVersions none, fields 1",
        "",
        "m/Foo",
        "  changed  a  default (none) -> 1; ignorable (none) -> true",
        "  changed  b  default x -> <b>|\\n\\x1b[31m",
        "",
    ]
    assert summary(found) == "1 message added, 1 message changed"


def test_json(tmp_path: Path) -> None:
    rows = list(json_rows(sample(tmp_path)))
    assert rows[0] == {
        "change": "changed",
        "module": "m",
        "message": "Foo",
        "path": "a",
        "fact": "default",
        "new": "1",
    }
    assert json.loads(json.dumps(rows)) == rows


def test_markdown_escapes_what_the_specs_say(tmp_path: Path) -> None:
    found = sample(tmp_path)
    old, new = (read_side(str(tmp_path / name)) for name in ("old", "new"))
    lines = list(markdown_lines(old, new, found))
    assert lines[2] == "1 message added, 1 message changed."
    assert lines[4:8] == [
        "## Messages",
        "",
        "| change | what | detail |",
        "|---|---|---|",
    ]
    assert lines[-1] == r"| changed | b | default x -\> \<b\>\|\\n\\x1b\[31m |"
