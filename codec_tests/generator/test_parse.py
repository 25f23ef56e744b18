"""A spec's text -> MessageSpec: every key, every coercion, every complaint and its line."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from kraftwire_generator.checks.message_rules import check_message
from kraftwire_generator.checks.structs import resolve
from kraftwire_generator.errors import Finding
from kraftwire_generator.language.field_types import Array, Primitive, Struct
from kraftwire_generator.language.spec import FieldSpec, MessageSpec, StructSpec
from kraftwire_generator.language.versions import VersionRange
from kraftwire_generator.parser.json_text import JsonObject, parse_json
from kraftwire_generator.parser.message_parser import message_of, parse_message, read_message

from codec_tests.spec_files import check_json

WHOLE = """// a comment
{
  "name": "PingRequest", "type": "request", "apiKey": 77,
  "validVersions": "0-3", "flexibleVersions": "2+", "deprecatedVersions": "0",
  "listeners": ["broker", "controller"], "latestVersionUnstable": true,
  "headerVersions": {"2+": "2", "0-1": 1},
  "commonStructs": [
    {"name": "Spot", "versions": "1+", "fields": [
      {"name": "Row", "type": "int32", "versions": "1+", "mapKey": true}]}
  ],
  "fields": [
    {"name": "Owner", "type": "string", "versions": "0+", "nullableVersions": "1-2",
     "flexibleVersions": "none", "default": "me", "entityType": "groupId", "about": "Who."},
    {"name": "Spots", "type": "[]Spot", "versions": "1+", "ignorable": true},
    {"name": "Blob", "type": "bytes", "taggedVersions": "3+", "tag": 0, "zeroCopy": true}
  ]
}
"""


versions = VersionRange.parse


def test_every_key() -> None:
    spec, findings = parse_message(WHOLE, "ping.json")
    assert findings == []
    row = FieldSpec("Row", Primitive("int32"), versions("1+"), map_key=True, line=9)
    assert spec == MessageSpec(
        name="PingRequest",
        type="request",
        api_key=77,
        valid_versions=versions("0-3"),
        flexible_versions=versions("2+"),
        deprecated_versions=versions("0"),
        listeners=("broker", "controller"),
        latest_version_unstable=True,
        header_versions=((versions("0-1"), 1), (versions("2+"), 2)),
        common_structs=(StructSpec("Spot", versions("1+"), (row,), line=8),),
        fields=(
            FieldSpec(
                "Owner",
                Primitive("string"),
                versions("0+"),
                nullable_versions=versions("1-2"),
                flexible_versions=VersionRange.NONE,
                default="me",
                entity_type="groupId",
                about="Who.",
                line=12,
            ),
            FieldSpec("Spots", Array(Struct("Spot")), versions("1+"), ignorable=True, line=14),
            FieldSpec(
                "Blob",
                Primitive("bytes"),
                versions("3+"),
                tagged_versions=versions("3+"),
                tag=0,
                zero_copy=True,
                line=15,
            ),
        ),
        file="ping.json",
        line=2,
    )


def parse_with_overrides(text: str) -> tuple[MessageSpec | None, list[Finding]]:
    """What a text says whose later keys replace those of the same name before them."""
    value = parse_json(text, last_key_counts=True)
    assert isinstance(value, JsonObject)
    return message_of(value, "ping.json")


def with_field(field: str) -> str:
    return (
        '{"name": "Ping", "type": "data", "validVersions": "0", "flexibleVersions": "none",\n'
        f'"fields": [\n{{{field}}}]}}'
    )


def with_top(keys: str) -> str:
    return f'{{"name": "Ping", "type": "data", "validVersions": "0",\n{keys}}}'


def read_field(keys: str) -> FieldSpec:
    text = with_field(f'"name": "A", "type": "string", "versions": "0+", {keys}')
    spec, findings = parse_with_overrides(text)
    assert spec is not None
    assert findings == []
    return spec.fields[0]


@pytest.mark.parametrize(
    ("keys", "attribute", "value"),
    [
        ('"default": 1.50', "default", "1.50"),
        ('"default": -1', "default", "-1"),
        ('"default": true', "default", "true"),
        ('"default": null', "default", None),
        ('"default": ""', "default", ""),
        ('"default": "a", "default": "b"', "default", "b"),
        ('"about": 5', "about", "5"),
        ('"versions": 2', "versions", versions("2")),
        ('"versions": " 1-2 "', "versions", versions("1-2")),
        ('"versions": "", "taggedVersions": "3+"', "versions", versions("3+")),
        ('"versions": null, "taggedVersions": "3+"', "versions", versions("3+")),
        ('"nullableVersions": ""', "nullable_versions", VersionRange.NONE),
        ('"flexibleVersions": ""', "flexible_versions", None),
        ('"tag": "0"', "tag", 0),
        ('"tag": null', "tag", None),
        ('"ignorable": "true"', "ignorable", True),
        ('"ignorable": "False"', "ignorable", False),
        ('"ignorable": ""', "ignorable", False),
        ('"ignorable": 2', "ignorable", True),
        ('"ignorable": 0', "ignorable", False),
        ('"ignorable": null', "ignorable", False),
        ('"entityType": null', "entity_type", None),
        ('"type": " []int8 "', "type", Array(Primitive("int8"))),
        ('"fields": {"name": "B", "type": "int8", "versions": "0"}', "fields", None),
    ],
)
def test_coercions(keys: str, attribute: str, value: Any) -> None:
    found = getattr(read_field(keys), attribute)
    if attribute == "fields":  # one object stands for a list of one
        assert [field.name for field in found] == ["B"]
    else:
        assert found == value


def test_one_value_for_a_list_and_null_for_nothing() -> None:
    keys = '"flexibleVersions": "", "listeners": "broker", "fields": null, "commonStructs": null'
    spec, findings = parse_message(with_top(keys), "ping.json")
    assert findings == []
    assert spec is not None
    assert (spec.listeners, spec.fields, spec.common_structs) == (("broker",), (), ())
    assert spec.flexible_versions == VersionRange.NONE


def test_a_removed_message_needs_no_more_than_its_key() -> None:
    text = '{"name": "PingRequest", "type": "request", "apiKey": 7, "validVersions": "none"}'
    spec, findings = parse_message(text, "ping.json")
    assert findings == []
    assert spec is not None
    assert (spec.api_key, spec.valid_versions) == (7, VersionRange.NONE)


BAD_TOPS = [
    ('"flexibleVersions": "0+", "flds": []', "did you mean fields?"),
    ('"flexibleVersions": "0+", "about": "x"', "a message has no key 'about'"),
    ('"apiKey": 1', "needs flexibleVersions"),
    ('"flexibleVersions": null', "needs flexibleVersions"),
    ('"flexibleVersions": "NONE"', "is not a version range"),
    ('"flexibleVersions": ["0+"]', "must be text in double quotes, not a list"),
    ('"flexibleVersions": "0+", "validVersions": ""', "needs validVersions"),
    ('"flexibleVersions": "0+", "validVersions": "0-40000"', "beyond the highest version"),
    ('"flexibleVersions": "0+", "type": "reqest"', "unknown message type 'reqest'"),
    ('"flexibleVersions": "0+", "type": null', "needs a type"),
    ('"flexibleVersions": "0+", "name": ""', "needs a name"),
    ('"flexibleVersions": "0+", "apiKey": 40000', "write a number from -32768 to 32767"),
    ('"flexibleVersions": "0+", "apiKey": "TBD"', "must be a whole number"),
    ('"flexibleVersions": "0+", "apiKey": 1.5', "must be a whole number"),
    ('"flexibleVersions": "0+", "apiKey": true', "must be a whole number"),
    ('"flexibleVersions": "0+", "listeners": ["brokr"]', "unknown listener 'brokr'"),
    ('"flexibleVersions": "0+", "listeners": [[]]', "must be text"),
    ('"flexibleVersions": "0+", "latestVersionUnstable": "yes"', "must be true or false"),
    ('"flexibleVersions": "0+", "deprecatedVersions": "x"', "is not a version range"),
    ('"flexibleVersions": "0+", "headerVersions": "1"', "must be an object"),
    ('"flexibleVersions": "0+", "fields": [null]', "must hold objects in braces, not null"),
    ('"flexibleVersions": "0+", "fields": "x"', "must hold objects in braces, not 'x'"),
]


@pytest.mark.parametrize(("keys", "phrase"), BAD_TOPS)
def test_top_level_complaints(keys: str, phrase: str) -> None:
    _, findings = parse_with_overrides(with_top(keys))
    assert [(finding.path, finding.severity) for finding in findings] == [("", "error")]
    assert findings[0].line == (1 if keys == '"apiKey": 1' else 2)
    assert phrase in findings[0].message


@pytest.mark.parametrize(
    ("entry", "phrase"),
    [
        ('"a": 1', "'a' is not a version range"),
        ('"2+": "x"', "2+ must be a whole number such as 3, not 'x'"),
        ('"2+": -2', "2+ is -2; write a number from 0 to"),
        ('"2+": null', "2+ has no header version"),
    ],
)
def test_an_unreadable_header_version_is_the_only_complaint(entry: str, phrase: str) -> None:
    top = f'"flexibleVersions": "2+", "headerVersions": {{"0-1": 1, {entry}}}'
    spec, findings = parse_message(with_top(top), "ping.json")
    assert [(item.path, item.line) for item in findings] == [("headerVersions", 2)]
    assert phrase in findings[0].message
    assert spec is not None
    assert check_message(resolve(spec)[0]) == []


BAD_FIELDS = [
    ('"type": "int8", "versions": "0"', "fields[0]", "needs a name"),
    ('"name": "A", "versions": "0"', "A", "needs a type"),
    ('"name": "A", "type": "", "versions": "0"', "A", "needs a type"),
    ('"name": "A", "type": "int8"', "A", "needs versions or taggedVersions"),
    ('"name": "A", "type": "int8", "versions": ""', "A", "needs versions"),
    ('"name": "A", "type": "int9", "versions": "0"', "A", "unknown type 'int9'"),
    ('"name": "A", "type": "[]", "versions": "0"', "A", "names no element type"),
    ('"name": "A", "type": "[][]int8", "versions": "0"', "A", "array of arrays"),
    ('"name": "A", "type": "[]bytes", "versions": "0"', "A", "put the bytes into a struct"),
    ('"name": "A", "type": "[]records", "versions": "0"', "A", "is not a type"),
    ('"name": "A", "type": "int8", "versions": "3-1"', "A", "is empty"),
    ('"name": "A", "type": "int8", "versions": "-1"', "A", "is not a version range"),
    ('"name": "A", "type": "int8", "version": "0+", "versions": "0"', "A", "mean versions?"),
    ('"name": "A", "type": "int8", "versions": "0", "zzz": 1', "A", "its keys are name, type"),
    ('"name": "A", "type": "int8", "versions": "0", "default": {}', "A", "not an object"),
    ('"name": "A", "type": "int8", "versions": "0", "tag": 0.5', "A", "not 0.5"),
    ('"name": "A", "type": "int8", "versions": "0", "tag": 3000000000', "A", "from -2147483648"),
    ('"name": "A", "type": "int8", "versions": "0", "ignorable": "tRuE"', "A", "true or false"),
    ('"name": "A", "type": "int8", "versions": "0", "ignorable": 1.5', "A", "true or false"),
    ('"name": "A", "type": "int8", "versions": "0", "mapKey": [true]', "A", "not a list"),
    (
        '"name": "A", "type": "[]S", "versions": "0", "fields": [{"name": "B", "versions": "0"}]',
        "A.B",
        "needs a type",
    ),
]


@pytest.mark.parametrize(("field", "path", "phrase"), BAD_FIELDS)
def test_field_complaints(field: str, path: str, phrase: str) -> None:
    spec, findings = parse_message(with_field(field), "ping.json")
    assert spec is not None
    assert [(finding.file, finding.line, finding.path) for finding in findings] == [
        ("ping.json", 3, path)
    ]
    assert phrase in findings[0].message


def test_common_struct_complaints() -> None:
    text = with_top(
        '"flexibleVersions": "none", "commonStructs": [\n'
        '{"versions": "0+"},\n'
        '{"name": "S", "about": "x"},\n'
        '{"name": "T", "versions": "0", "deprecatedVersions": "x", "fields": [{"name": "B"}]}]'
    )
    _, findings = parse_message(text, "ping.json")
    told = [(finding.line, finding.path, finding.message.split(";")[0]) for finding in findings]
    assert told == [
        (3, "commonStructs[0]", "a common struct needs a name"),
        (4, "S", "a common struct has no key 'about'"),
        (4, "S", "a common struct needs versions"),
        (5, "T", "deprecatedVersions: 'x' is not a version range"),
        (5, "T.B", "a field needs a type"),
        (5, "T.B", "a field needs versions or taggedVersions"),
    ]


@pytest.mark.parametrize(("text", "line"), [("[]", 1), ("null", 1), ("5", 1), ("", 1), ("\n{", 2)])
def test_text_that_is_no_object(text: str, line: int) -> None:
    spec, findings = parse_message(text, "ping.json")
    assert spec is None
    assert [finding.line for finding in findings] == [line]


def test_a_missing_file_and_bad_utf_8_are_findings(tmp_path: Path) -> None:
    spec, findings = read_message(tmp_path / "absent.json")
    assert spec is None
    assert "cannot be read" in findings[0].message
    bad = tmp_path / "bad.json"
    bad.write_bytes(b'{\n"name": "\xff"}')
    spec, findings = read_message(bad)
    assert spec is None
    assert (findings[0].line, findings[0].file) == (2, bad.as_posix())
    assert "byte 0xff is not UTF-8" in findings[0].message


def test_a_file_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    path = tmp_path / "Ping.json"
    path.write_bytes(b"\xef\xbb\xbf" + WHOLE.encode())
    spec, findings = read_message(path)
    assert findings == []
    assert spec is not None
    assert spec.file == path.as_posix()


def test_findings_never_steer_the_terminal() -> None:
    text = with_field(r'"name": "A\u001b[31m\n\ud800", "type": "int8", "versions": "0", "x": 1')
    _, findings = parse_message(text, "ping.json")
    assert str(findings[0]).isprintable()


TOKENS = ["{", "}", "[", "]", ",", ":", '"', '""', "null", "true", "-1", "1e9", "none", "0+", "3-1"]
TOKENS += ["[]", "Spot", "records", "int8", "mapKey", "tag", "\\u0000", "/*", "//", "\n", "\ud800"]


def mangle(text: str, choose: random.Random) -> str:
    for _ in range(choose.randint(1, 4)):
        start = choose.randrange(len(text))
        end = min(len(text), start + choose.choice([0, 0, 1, 1, 2, 5, 40]))
        text = text[:start] + choose.choice([*TOKENS, "", "", text[end : end + 30]]) + text[end:]
    return text


def test_mangled_specs_give_findings_and_never_raise() -> None:
    choose = random.Random(20)
    refused = 0
    for _ in range(1500):
        resolved, findings = check_json(mangle(WHOLE, choose))
        assert resolved is not None or findings
        assert all(str(finding) and finding.line >= 1 for finding in findings)
        refused += any(finding.severity == "error" for finding in findings)
    assert refused > 1000
