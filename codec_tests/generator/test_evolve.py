"""Every rule of `evolve`, with generated codecs as the proof, and Kafka's own checker beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kraftwire_generator.comparing.compare_sources import read_side
from kraftwire_generator.comparing.evolution_report import EvolutionFinding
from kraftwire_generator.comparing.evolve import evolve_message, evolve_sides
from kraftwire_generator.parse import parse_message
from kraftwire_generator.resolve import ResolvedMessage, resolve
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.message import Message
from spec_files import field_spec, message_spec, write_set

from compile_spec import compile_spec
from oracle import oracle_section, report_oracle_count
from oracle_deviations import EVOLUTION

KAFKA = Path(__file__).parents[2] / "message_specs" / "kafka"

Spec = dict[str, Any]
Values = Mapping[str, Any]


def spec(*fields: Spec, **keys: Any) -> Spec:
    return message_spec("Foo", *fields, **{"validVersions": "0-2", "flexibleVersions": "0+"} | keys)


def resolved(source: Spec) -> ResolvedMessage:
    parsed, findings = parse_message(json.dumps(source), "Foo.json")
    assert parsed is not None, findings
    return resolve(parsed)[0]


def judge(old: Spec, new: Spec) -> list[EvolutionFinding]:
    return evolve_message(resolved(old), resolved(new))


def told(findings: list[EvolutionFinding]) -> list[str]:
    return [f"{f.severity} {f.rule} {f.path} {f.versions_text}" for f in findings]


# -- rules that codecs prove -----------------------------------------------------------------

A = field_spec("a")
B = field_spec("b", "string")
TAGGED = {"taggedVersions": "0+", "tag": 0}
NULLABLE = {"nullableVersions": "0+"}
S = {"fields": [field_spec("x"), field_spec("y", "int32", versions="1+")]}


def struct(name: str = "s", kind: str = "S", /, **keys: Any) -> Spec:
    return field_spec(name, kind, **S | keys)


class Case(NamedTuple):
    """Two lists of fields, what is told of them, and values that show it on the wire.

    The values are written at the version, by the old class or by the new one.
    """

    old: list[Spec]
    new: list[Spec]
    told: list[str]
    written: Values | None = None
    by_new: bool = False
    version: int = 0


TAG_T = field_spec("t", **TAGGED)
BREAKS = {
    "type": Case([A], [field_spec("a", "int64")], ["error type a 0-2"], {"a": 1}),
    "type, same size": Case([A], [field_spec("a", "uint32")], ["error type a 0-2"], {"a": -1}),
    "null came": Case(
        [B],
        [field_spec("b", "string", **NULLABLE)],
        ["error nullability b 0-2"],
        {"b": None},
        by_new=True,
    ),
    "null went": Case(
        [field_spec("b", "string", **NULLABLE)], [B], ["error nullability b 0-2"], {"b": None}
    ),
    "null came for a struct": Case(
        [struct()], [struct(**NULLABLE)], ["error nullability s 0-2"], {}
    ),
    "null came early": Case(
        [field_spec("b", "string", nullableVersions="2+")],
        [field_spec("b", "string", nullableVersions="1+")],
        ["error nullability b 1"],
        {"b": None},
        by_new=True,
        version=1,
    ),
    "tagged": Case([field_spec("t")], [TAG_T], ["error tagged t 0-2"], {"t": 5}),
    "untagged": Case([TAG_T], [field_spec("t")], ["error tagged t 0-2"], {"t": 5}),
    "tagged later": Case(
        [field_spec("t", tag=0, taggedVersions="1+")],
        [field_spec("t", tag=0, taggedVersions="2+")],
        ["error tagged t 1"],
        {"t": 5},
        version=1,
    ),
    "another tag": Case(
        [TAG_T],
        [{**TAG_T, "tag": 1}, field_spec("u", "string", **TAGGED)],
        ["error tag t 0-2", "error reused u 0-2"],
        {"t": 5},
    ),
    "reused tag": Case(
        [TAG_T], [field_spec("u", "string", **TAGGED)], ["error reused u 0-2"], {"t": 5}
    ),
    "encoding": Case(
        [B],
        [field_spec("b", "string", flexibleVersions="none")],
        ["error encoding b 0-2"],
        {"b": "x"},
    ),
    "tagged default": Case([TAG_T], [{**TAG_T, "default": 7}], ["error default t 0-2"], {"t": 0}),
    "default in a tagged struct": Case(
        [struct(**TAGGED)],
        [struct(**TAGGED, fields=[field_spec("x", default=7), S["fields"][1]])],
        ["error default s.x 0-2"],
    ),
    "removed": Case([A, B], [B], ["error removed a 0-2"], {"a": 1, "b": "x"}),
    "removed last": Case([A, B], [A], ["error removed b 0-2"], {"a": 1, "b": "x"}),
    "added": Case([B], [A, B], ["error added a 0-2"], {"b": "x"}),
    "wider versions": Case(
        [A, field_spec("b", "string", versions="2+")],
        [A, field_spec("b", "string", versions="1+")],
        ["error versions b 1"],
        {"a": 1},
        version=1,
    ),
    "narrower versions": Case(
        [A, B],
        [A, field_spec("b", "string", versions="1-1")],
        ["error versions b 0, 2"],
        {"a": 1, "b": "x"},
    ),
    "moved": Case(
        [A, field_spec("c")], [field_spec("c"), A], ["error moved a 0-2"], {"a": 1, "c": 2}
    ),
    "in an array": Case(
        [struct("s", "[]S")],
        [struct("s", "[]S", fields=S["fields"][1:])],
        ["error removed s.x 0-2"],
    ),
    "replaced": Case([A], [B], ["error removed a 0-2", "error added b 0-2"], {"a": 1}),
}
HOLDS = {
    "renamed": Case([A, B], [field_spec("z"), B], ["warning renamed z 0-2"], {"a": 1, "b": "x"}),
    "renamed tag": Case([TAG_T], [{**TAG_T, "name": "u"}], ["warning renamed u 0-2"], {"t": 5}),
    "renamed from a version on": Case(
        [A, B],
        [field_spec("a", versions="0-1"), field_spec("z", versions="2+"), B],
        ["warning renamed z 2"],
        {"b": "x"},
        version=2,
    ),
    "renamed struct": Case([struct()], [struct("s", "T")], ["warning struct s 0-2"], {}),
    "records": Case(
        [field_spec("b", "bytes")],
        [field_spec("b", "records")],
        ["warning type b 0-2"],
        {"b": b"x"},
    ),
    "default": Case([A], [field_spec("a", default=7)], ["warning default a 0-2"], {"a": 1}),
    "default, as another text": Case(
        [field_spec("a", default="0x10")], [field_spec("a", default=16)], [], {"a": 1}
    ),
    "tag came": Case([A], [A, TAG_T], [], {"a": 1, "t": 5}, by_new=True),
    "tag went": Case([A, TAG_T], [A], ["warning removed t 0-2"], {"a": 1, "t": 5}),
    "tag came into a struct": Case([struct()], [struct(fields=[*S["fields"], TAG_T])], [], {}),
    "ignorable": Case([A], [field_spec("a", ignorable=True)], [], {"a": 1}),
    "not ignorable": Case(
        [field_spec("a", versions="1+", ignorable=True)],
        [field_spec("a", versions="1+")],
        ["warning ignorable a 0"],
        {},
    ),
    "entity type": Case([A], [field_spec("a", entityType="brokerId", about="x")], [], {"a": 1}),
}


def _survives(writer: type[Message], reader: type[Message], values: Values, version: int) -> bool:
    """Whether the reader has what was written: the same bytes, and the same under each name."""
    message = writer(**values)
    data = message.encode(version)
    try:
        read = reader.decode(data, version)
        again = read.encode(version)
    except KraftwireError:
        return False
    names = [name for name in values if hasattr(read, name)]
    return again == data and all(getattr(read, name) == values[name] for name in names)


@pytest.mark.parametrize("name", BREAKS)
def test_what_breaks(name: str) -> None:
    case = BREAKS[name]
    old, new = spec(*case.old), spec(*case.new)
    assert told(judge(old, new)) == case.told
    if case.written is not None:
        classes = compile_spec(old), compile_spec(new)
        writer, reader = classes[::-1] if case.by_new else classes
        assert not _survives(writer, reader, case.written, case.version)


@pytest.mark.parametrize("name", HOLDS)
def test_what_holds(name: str) -> None:
    case = HOLDS[name]
    old, new = spec(*case.old), spec(*case.new)
    assert told(judge(old, new)) == case.told
    assert case.written is not None
    classes = compile_spec(old), compile_spec(new)
    writer, reader = classes[::-1] if case.by_new else classes
    assert _survives(writer, reader, case.written, case.version)


def test_a_new_version_may_look_as_it_likes() -> None:
    old = spec(field_spec("a"), field_spec("b"), validVersions="0-1")
    new = spec(
        field_spec("b", versions="2+"),
        field_spec("a", versions="0-1"),
        field_spec("b2", "string", versions="2+", nullableVersions="2+"),
        field_spec("c", versions="0-1"),
    )
    assert told(judge(old, new)) == ["warning renamed c 0-1"]


# -- structs ---------------------------------------------------------------------------------


def test_structs_that_become_common_ones_are_the_same_bytes() -> None:
    old = spec(struct("s", "[]S"))
    common = {"name": "S", "versions": "0+", **S}
    assert judge(old, spec(field_spec("s", "[]S"), commonStructs=[common])) == []
    changed = {**common, "fields": S["fields"][:1]}
    findings = judge(old, spec(field_spec("s", "[]S"), commonStructs=[changed]))
    assert told(findings) == ["error removed S.y 1-2"]
    assert findings[0].first_version == 1


def test_a_common_struct_is_told_once_however_often_it_is_used() -> None:
    depth = 200
    structs = [
        {
            "name": f"S{level}",
            "versions": "0+",
            "fields": [field_spec("l", f"S{level + 1}"), field_spec("r", f"S{level + 1}")],
        }
        for level in range(depth)
    ]
    last = {"name": f"S{depth}", "versions": "0+", "fields": [A]}
    changed = {**last, "fields": [field_spec("a", "int8")]}
    old, new = (
        spec(field_spec("s", "S0"), commonStructs=[*structs, end]) for end in (last, changed)
    )
    assert told(judge(old, new)) == [f"error type S{depth}.a 0-2"]


def test_a_default_in_an_array_is_always_written() -> None:
    inner = struct("s", "[]S", fields=[field_spec("x", default=7)], **TAGGED)
    old = spec(struct("s", "[]S", fields=[field_spec("x")], **TAGGED))
    assert told(judge(old, spec(inner))) == ["warning default s.x 0-2"]


# -- the message -----------------------------------------------------------------------------

REQUEST: dict[str, Any] = {"type": "request", "apiKey": 5}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({"type": "data"}, {"type": "metadata", "apiKey": 5}, ["type", "api-key"]),
        ({**REQUEST}, {**REQUEST, "apiKey": 6}, ["api-key"]),
        ({}, {"flexibleVersions": "1+"}, ["flexible 0"]),
        ({"flexibleVersions": "2+"}, {}, ["flexible 0-1"]),
        ({"flexibleVersions": "3+"}, {"flexibleVersions": "none"}, []),
        ({}, {"validVersions": "none", "fields": []}, ["removed 0-2"]),
        ({"validVersions": "none", "fields": []}, {}, []),
        ({}, {"validVersions": "0-1"}, ["versions 2"]),
        ({}, {"validVersions": "1-3"}, ["versions 0"]),
        ({**REQUEST}, {**REQUEST, "validVersions": "0-1"}, ["versions 2"]),
        ({**REQUEST}, {**REQUEST, "validVersions": "1-3"}, ["warning versions 0"]),
        ({"validVersions": "2"}, {}, ["warning versions 0-1"]),
        ({}, {"validVersions": "4-5"}, ["versions 0-2"]),
        ({**REQUEST}, {**REQUEST, "headerVersions": {"0+": 2}}, []),
        ({**REQUEST}, {**REQUEST, "headerVersions": {"0-1": 2, "2+": 3}}, ["header 2"]),
        ({}, {"deprecatedVersions": "0"}, []),
        ({**REQUEST}, {**REQUEST, "listeners": ["broker"]}, []),
    ],
)
def test_the_message_as_a_whole(old: Spec, new: Spec, expected: list[str]) -> None:
    findings = judge(spec(A, **old), spec(A, **new))
    texts = [f"{f.severity} {f.rule} {f.versions_text}" for f in findings]
    assert len(texts) == len(expected)
    for text, wanted in zip(texts, expected, strict=True):
        assert text.startswith(wanted if wanted.startswith("warning") else f"error {wanted}")


def test_versions_taken_away_at_both_ends() -> None:
    findings = judge(spec(A, **REQUEST), spec(A, **REQUEST, validVersions="1"))
    assert told(findings) == ["warning versions  0", "error versions  2"]


# -- sets ------------------------------------------------------------------------------------


def evolve_sets(folder: Path, old: list[Spec], new: list[Spec]) -> list[EvolutionFinding]:
    sides = [write_set(folder / name, *specs) for name, specs in (("old", old), ("new", new))]
    return evolve_sides(*(read_side(str(side)) for side in sides))


def rpc(name: str, *fields: Spec, kind: str = "request", **keys: Any) -> Spec:
    facts = {"type": kind, "apiKey": 5, "validVersions": "0-1", "flexibleVersions": "0+"}
    return message_spec(name, *fields, **facts | keys)


def test_messages_that_came_went_and_were_renamed(tmp_path: Path) -> None:
    old = [rpc("PingRequest", A), message_spec("Gone"), message_spec("Never", validVersions="none")]
    new = [rpc("PongRequest", field_spec("a", "int8")), message_spec("Come")]
    findings = evolve_sets(tmp_path, old, new)
    assert [(f.message, f.rule, f.severity) for f in findings] == [
        ("Gone", "removed", "error"),
        ("PongRequest", "message-renamed", "warning"),
        ("PongRequest", "type", "error"),
    ]
    assert findings[0].file.endswith("old/Gone.json")
    assert findings[1].file.endswith("new/PongRequest.json")


def test_an_unstable_version_was_no_promise(tmp_path: Path) -> None:
    old = [
        rpc("PingRequest", A, latestVersionUnstable=True),
        rpc("PingResponse", A, kind="response"),
    ]
    new = [rpc("PingRequest"), rpc("PingResponse", field_spec("a", "int8"), kind="response")]
    findings = evolve_sets(tmp_path, old, new)
    assert [(f.message, f.rule, f.severity, f.versions_text) for f in findings] == [
        ("PingRequest", "removed", "error", "0"),
        ("PingRequest", "removed", "warning", "1"),
        ("PingResponse", "type", "error", "0"),
        ("PingResponse", "type", "warning", "1"),
    ]


def test_kafka_is_compatible_with_itself() -> None:
    side = read_side(str(KAFKA))
    assert evolve_sides(side, side) == []


def test_lines_are_those_of_the_new_file_or_of_the_old_one_where_it_has_none() -> None:
    texts = (
        '{"name": "Foo", "type": "data", "validVersions": "0", "flexibleVersions": "none",\n'
        ' "fields": [\n  {"name": "%s", "type": "int8", "versions": "0"}%s]}'
    )
    sides = []
    for file, names in (("old.json", ("a", "")), ("new.json", ("a", ""))):
        parsed, _ = parse_message(texts % names, file)
        assert parsed is not None
        sides.append(resolve(parsed)[0])
    empty, _ = parse_message(texts.split("\n")[0] + '"fields": []}', "new.json")
    assert empty is not None
    (finding,) = evolve_message(sides[0], resolve(empty)[0])
    assert (finding.file, finding.line) == ("old.json", 3)
    (finding,) = evolve_message(resolve(empty)[0], sides[1])
    assert (finding.file, finding.line) == ("new.json", 3)


# -- Kafka's own checker ---------------------------------------------------------------------


def test_kafkas_own_checker() -> None:
    cases = oracle_section("evolution_checker")
    deviating = set()
    for case in cases:
        findings = judge(case["message1"], case["message2"])
        holds = all(finding.severity == "warning" for finding in findings)
        if holds != case["snapshot_outcome"].startswith("ok"):
            deviating.add(case["id"])
    assert deviating == set(EVOLUTION)
    report_oracle_count("evolution_checker", len(cases), len(deviating))
