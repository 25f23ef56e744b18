"""Every rule for one message: a spec that keeps it, and one that breaks it.

An entry of `BROKEN` has the keys of a message or field, the place of the finding, and a phrase of
its message; `KEPT` has the most similar correct specs.
"""

from __future__ import annotations

import ast
import inspect
import sys
from dataclasses import replace
from types import FrameType
from typing import Any

import pytest

from kraftwire_generator.checks import field_rules, message_rules
from kraftwire_generator.checks.message_rules import MOST_TAGS, check_message
from kraftwire_generator.checks.structs import resolve
from kraftwire_generator.errors import Finding
from kraftwire_generator.language.spec import MessageSpec
from kraftwire_generator.parser.json_text import JsonObject, parse_json
from kraftwire_generator.parser.message_parser import message_of


def spec_of(keys: str, fields: str = "", common: str = "") -> MessageSpec:
    """Return a message with fields from line 4 on, one per line; the last of equal keys counts."""
    text = (
        '{"name": "PingRequest", "type": "request", "validVersions": "0-3",\n'
        f'"flexibleVersions": "2+"{", " if keys else ""}{keys},\n'
        f'"fields": [\n{fields}],\n"commonStructs": [\n{common}]}}'
    )
    value = parse_json(text, last_key_counts=True)
    assert isinstance(value, JsonObject)
    spec, findings = message_of(value, "ping.json")
    assert findings == []
    assert spec is not None
    return spec


def findings_of(keys: str, fields: str = "", common: str = "") -> list[Finding]:
    resolved, problems = resolve(spec_of(keys, fields, common))
    assert problems == []
    return check_message(resolved)


KEPT_MESSAGES = [
    "",
    '"name": "pingRequest9"',
    '"validVersions": "3"',
    '"validVersions": "0-32766"',
    '"validVersions": "none"',
    '"flexibleVersions": "none"',
    '"flexibleVersions": "7+"',
    '"listeners": ["broker"]',
    '"latestVersionUnstable": true',
    '"type": "data", "listeners": [], "latestVersionUnstable": false',
    '"headerVersions": {"0+": 2}',
    '"headerVersions": {"2+": "2", "0-1": "1"}',
    '"headerVersions": {"0": 0, "1": 1, "2+": 3}',
    '"type": "response", "headerVersions": {"0-1": 0, "2+": 1}',
    '"type": "response", "name": "ApiVersionsResponse", "headerVersions": {"0+": 0}',
    '"headerVersions": {"0-3": 1, "4+": 2}, "flexibleVersions": "4+"',
]


@pytest.mark.parametrize("keys", KEPT_MESSAGES)
def test_kept_by_the_message(keys: str) -> None:
    assert findings_of(keys) == []


BROKEN_MESSAGES = [
    ('"name": "Ping-Request"', "'Ping-Request' cannot be a message name"),
    ('"name": "1Ping"', "a letter first"),
    ('"name": "P\\u00e9ng"', "write letters and digits"),
    ('"validVersions": "0+"', "validVersions 0+ must have an end"),
    ('"validVersions": "32767"', "must have an end"),
    ('"flexibleVersions": "1-2"', "flexibleVersions 1-2 must have no end; write none, or 1+"),
    ('"type": "response", "listeners": ["broker"]', "only a request has listeners"),
    ('"type": "data", "latestVersionUnstable": true', "only a request has latestVersionUnstable"),
    ('"type": "header", "headerVersions": {"0+": 2}', "only requests and responses"),
    ('"headerVersions": {}', "here they are empty"),
    ('"headerVersions": {"1+": 2}', "from 0 on"),
    ('"headerVersions": {"0-1": 1, "3+": 2}', "here they are 0-1, 3+"),
    ('"headerVersions": {"0-2": 2, "2+": 2}', "must name every version once"),
    ('"headerVersions": {"0-3": 2}', "with an open end"),
    ('"headerVersions": {"0": 3, "1+": 2}', "header versions never decrease"),
    ('"headerVersions": {"0+": 1}', "versions 2+ are flexible and need a flexible header"),
    ('"type": "response", "headerVersions": {"0+": 0}', "write 1 or higher"),
    (
        '"type": "response", "name": "ApiVersionsResponse", "headerVersions": {"0-1": 0, "2+": 1}',
        "ApiVersionsResponse always has header version 0",
    ),
]


@pytest.mark.parametrize(("keys", "phrase"), BROKEN_MESSAGES)
def test_broken_by_the_message(keys: str, phrase: str) -> None:
    found = [(finding.path, finding.line, finding.severity) for finding in findings_of(keys)]
    assert found == [("", 1, "error")]
    assert phrase in findings_of(keys)[0].message


def field(keys: str, name: str = "A") -> str:
    """Return the text of a field: an int32 of all versions, unless `keys` differ."""
    return f'{{"name": "{name}", "type": "int32", "versions": "0+"{", " if keys else ""}{keys}}}'


TAGGED = '"tag": 0, "taggedVersions": "2+"'
IN_STRUCT = '"type": "[]S", "fields": [{"name": "K", "type": "int32", "versions": "0+", %s}]'

KEPT_FIELDS = [
    "",
    *[
        f'"nullableVersions": "0+", "type": "{name}"'
        for name in ("string", "bytes", "records", "[]int32")
    ],
    '"nullableVersions": "none"',
    '"nullableVersions": "1-2", ' + IN_STRUCT % '"ignorable": true',
    '"entityType": "brokerId"',
    '"entityType": "unknown"',
    '"entityType": "topicName", "type": "[]string"',
    '"entityType": "producerId", "type": "int64"',
    '"flexibleVersions": "none", "type": "string"',
    '"flexibleVersions": "3", "type": "bytes"',
    '"zeroCopy": true, "type": "bytes"',
    IN_STRUCT % '"mapKey": true',
    TAGGED,
    '"tag": 0, "taggedVersions": "3+"',
    '"tag": 0, "taggedVersions": "7+"',
    '"versions": "2+", "tag": 0, "taggedVersions": "2+"',
    '"taggedVersions": "none"',
    f'{TAGGED}, "type": "string", "nullableVersions": "0+"',
    f'{TAGGED}, "type": "string", "nullableVersions": "0-1"',
    f'{TAGGED}, "type": "string", "flexibleVersions": "2+"',
    '"default": "-1"',
    '"default": "null", "type": "string", "nullableVersions": "0+"',
    '"versions": "3-9"',
]


@pytest.mark.parametrize("keys", KEPT_FIELDS)
def test_kept_by_a_field(keys: str) -> None:
    assert findings_of("", field(keys)) == []


BROKEN_FIELDS = [
    *[
        (f'"nullableVersions": "1+", "type": "{name}"', "A", f"{name} cannot be null")
        for name in ("bool", "int8", "uint16", "int64", "float64", "uuid")
    ],
    ('"entityType": "foo"', "A", "unknown entityType 'foo'; write one of unknown, transac"),
    ('"entityType": ""', "A", "unknown entityType ''"),
    ('"entityType": "topicName"', "A", "a topicName is of type string, not int32"),
    ('"entityType": "groupId", "type": "[]int64"', "A", "type string, not int64"),
    ('"flexibleVersions": "none"', "A", "only a string or bytes field"),
    ('"flexibleVersions": "none", "type": "[]string"', "A", "remove the key"),
    ('"flexibleVersions": "1+", "type": "string"', "A", "within those of the message, 2+"),
    ('"zeroCopy": true', "A", "only a bytes field can have zeroCopy"),
    ('"zeroCopy": true, "type": "records"', "A", "only a bytes field can have zeroCopy"),
    ('"mapKey": true', "A", "a field of the message itself cannot be a mapKey"),
    (IN_STRUCT % f'"mapKey": true, {TAGGED}', "A.K", "a mapKey cannot be tagged"),
    ('"tag": 0', "A", "tag 0 needs taggedVersions"),
    ('"tag": 0, "taggedVersions": "none"', "A", "tag 0 needs taggedVersions"),
    ('"taggedVersions": "2+"', "A", "taggedVersions 2+ needs a tag"),
    ('"tag": -1, "taggedVersions": "2+"', "A", "tag -1 is negative"),
    ('"tag": 0, "taggedVersions": "2-3"', "A", "must have no end; write 2+"),
    ('"versions": "3+", "tag": 0, "taggedVersions": "2+"', "A", "must be within versions 3+"),
    ('"versions": "2-3", "tag": 0, "taggedVersions": "2+"', "A", "must be within versions 2-3"),
    ('"tag": 0, "taggedVersions": "1+"', "A", "must be within flexibleVersions 2+"),
    (f'{TAGGED}, "type": "string", "flexibleVersions": "none"', "A", "flexibleVersions none"),
    (f'{TAGGED}, "type": "bytes", "nullableVersions": "3+"', "A", "must cover all of tagged"),
    (f'{TAGGED}, "type": "records"', "A", "records cannot be tagged"),
    (
        '"versions": "7+", ' + IN_STRUCT % '"ignorable": true',
        "A",
        "versions 7+ do not overlap 0-3",
    ),
    ('"default": "x"', "A", "'x' cannot be the default of an integer"),
    ('"type": "int8", "default": 300', "A", "300 does not fit int8"),
    ('"type": "bytes", "default": "x"', "A", "the default of bytes is"),
    (
        '"type": "string", "default": "null", "nullableVersions": "1+"',
        "A",
        "null cannot be the default: nullableVersions (1+) must cover versions (0+)",
    ),
]


@pytest.mark.parametrize(("keys", "path", "phrase"), BROKEN_FIELDS)
def test_broken_by_a_field(keys: str, path: str, phrase: str) -> None:
    found = findings_of("", "\n" + field(keys))
    assert [(item.path, item.line, item.severity) for item in found] == [(path, 5, "error")]
    assert phrase in found[0].message


@pytest.mark.parametrize(
    "name", ["_a", "1a", "a_b", "a-b", "A ", "\u00c9", "A\u00e9", "a.b", "A\n"]
)
def test_field_names_are_identifiers(name: str) -> None:
    spec = spec_of("", field(""))
    spec = replace(spec, fields=(replace(spec.fields[0], name=name),))
    (finding,) = check_message(resolve(spec)[0])
    assert f"{name!r} cannot be a field name" in finding.message


@pytest.mark.parametrize(
    "name", ["a", "A1", "class", "int", "None", "Decode", "toString", "LAYOUT"]
)
def test_names_of_python_are_fine(name: str) -> None:
    assert findings_of("", field("", name)) == []


FIRST = field("", "Abc")
KEPT_SIBLINGS = [
    f'{FIRST},\n{field("", "Abd")}',
    f'{FIRST},\n{field(IN_STRUCT % TAGGED + ", " + TAGGED, "B")}',
    f'{field(TAGGED, "A")},\n{field(TAGGED.replace("0", "1"), "B")}',
]


@pytest.mark.parametrize("fields", KEPT_SIBLINGS)
def test_kept_by_siblings(fields: str) -> None:
    assert findings_of("", fields) == []


def tagged(name: str, tag: int) -> str:
    return field(f'"tag": {tag}, "taggedVersions": "2+"', name)


BROKEN_SIBLINGS = [
    (f'{FIRST},\n{field("", "Abc")}', "Abc", "an earlier field has this name; rename"),
    (f'{FIRST},\n{field("", "aBC")}', "aBC", "except for its case (Abc)"),
    (f'{tagged("A", 0)},\n{tagged("B", 0)}', "B", "A has tag 0 already"),
    (f'{tagged("A", 0)},\n{tagged("B", 2)}', "B", "write 1 for tag 2"),
    (f'{FIRST},\n{tagged("B", 1)}', "B", "write 0 for tag 1"),
]


@pytest.mark.parametrize(("fields", "path", "phrase"), BROKEN_SIBLINGS)
def test_broken_by_siblings(fields: str, path: str, phrase: str) -> None:
    found = findings_of("", fields)
    assert [(item.path, item.line, item.severity) for item in found] == [(path, 5, "error")]
    assert phrase in found[0].message
    # the same within an inline struct and a common one
    inner = fields.replace("\n", " ")
    found = findings_of("", field(f'"type": "S", "fields": [{inner}]', "Outer"))
    assert [(item.path, item.line) for item in found] == [(f"Outer.{path}", 4)]
    common = f'{{"name": "S", "versions": "0+", "fields": [{inner}]}}'
    found = findings_of("", field('"type": "S"', "Outer"), common)
    assert [(item.path, item.line) for item in found] == [(f"S.{path}", 6)]


@pytest.mark.slow
def test_a_struct_has_no_more_tags_than_generated_code_can_tell_apart() -> None:
    assert findings_of("", ", ".join(tagged(f"A{tag}", tag) for tag in range(MOST_TAGS))) == []
    (finding,) = findings_of("", ", ".join(tagged(f"A{tag}", tag) for tag in range(10_000)))
    assert (finding.path, finding.severity) == (f"A{MOST_TAGS}", "error")
    assert f"can have {MOST_TAGS} tagged fields, not 10000" in finding.message


COMMON = (
    '{"name": "S", "versions": "0+", "fields": [{"name": "X", "type": "int8", "versions": "0"}]}'
)


def test_common_structs_are_capitalised_and_exist() -> None:
    assert findings_of("", field('"type": "S"'), COMMON) == []
    (finding,) = findings_of("", "", COMMON.replace('"S"', '"s"'))
    assert (finding.path, finding.line, finding.severity) == ("s", 6, "error")
    assert "a capital first" in finding.message
    (finding,) = findings_of("", "", '{"name": "S", "versions": "none", "fields": []}')
    assert "exists in no version" in finding.message


WARNINGS = [
    (field('"versions": "7+"'), "", "A", 4, "versions 7+ are outside 0-3"),
    (field('"versions": "none"'), "", "A", 4, "the field never occurs"),
    (
        field('"versions": "0-1", ' + IN_STRUCT % '"versions": "2"'),
        "",
        "A.K",
        4,
        "are outside 0-1",
    ),
    (f'{tagged("A", 1)},\n{tagged("B", 0)}', "", "B", 5, "tag 0 comes after tag 1"),
    (field(""), COMMON, "S", 6, "no field uses the common struct S"),
]


@pytest.mark.parametrize(("fields", "common", "path", "line", "phrase"), WARNINGS)
def test_warnings(fields: str, common: str, path: str, line: int, phrase: str) -> None:
    found = findings_of("", fields, common)
    assert [(item.path, item.line, item.severity) for item in found] == [(path, line, "warning")]
    assert phrase in found[0].message


def test_every_problem_in_one_run() -> None:
    found = findings_of(
        '"validVersions": "0+", "listeners": [], "headerVersions": {"1+": 2}',
        f'{field(chr(34) + "default" + chr(34) + ": 1.5")},\n{field("", "a")}',
    )
    assert [item.path for item in found] == ["", "", "A", "a"]


def test_every_rule_is_broken_by_some_case() -> None:
    """Each line of the rules that reports a problem runs for one of the cases above."""
    modules = (field_rules, message_rules)
    reported: set[tuple[str, int]] = set()

    def trace(frame: FrameType, event: str, _: object) -> Any:
        if frame.f_code.co_filename in {module.__file__ for module in modules}:
            reported.add((frame.f_code.co_filename, frame.f_lineno))
            return trace
        return None

    bad_name = spec_of("", field(""))
    bad_name = replace(bad_name, fields=(replace(bad_name.fields[0], name="a-b"),))
    specs = [bad_name, *(spec_of(keys) for keys, _ in BROKEN_MESSAGES)]
    specs += [spec_of("", field(keys)) for keys, _, _ in BROKEN_FIELDS]
    specs += [spec_of("", fields) for fields, _, _ in BROKEN_SIBLINGS]
    specs += [spec_of("", fields, common) for fields, common, *_ in WARNINGS]
    specs.append(spec_of("", ", ".join(tagged(f"A{tag}", tag) for tag in range(MOST_TAGS + 1))))
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        for spec in specs:
            check_message(resolve(spec)[0])
    finally:
        sys.settrace(before)
    for module in modules:
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            if isinstance(node, ast.Yield):
                assert (module.__file__, node.lineno) in reported, ast.unparse(node)
