"""A written spec equals the one that was read, has one form, and contains only facts."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from kraftwire_generator.importer.spec_text import spec_to_json
from kraftwire_generator.language.spec import FieldSpec, MessageSpec, StructSpec
from kraftwire_generator.parser.message_parser import parse_message

from codec_tests.oracle import REPOSITORY

_KAFKA_SPECS = REPOSITORY / "message_specs/kafka"

_LAMP_REQUEST = """
// A comment { that goes.
{
  "name": "LampRequest", "type": "request", "apiKey": 77, "listeners": ["broker", "zkBroker"],
  "headerVersions": { "0-1": "1", "2+": 2 },
  "validVersions": "0-3", "deprecatedVersions": "0-1", "flexibleVersions": "2+",
  "latestVersionUnstable": true,
  "fields": [
    { "about": "Prose.", "name": "Id", "type": "int32", "versions": "0+", "ignorable": "true",
      "default": -1, "entityType": "brokerId" },
    { "name": "Note", "type": "string", "versions": "1+", "nullableVersions": "1+",
      "flexibleVersions": "none", "default": "null" },
    { "name": "Label", "type": "string", "taggedVersions": "2+", "tag": "0", "default": "" },
    { "name": "Blob", "type": "bytes", "versions": "0+", "zeroCopy": true, "ignorable": false },
    { "name": "Rooms", "type": "[]Room", "versions": "0+", "fields": [
      { "name": "Name", "type": "string", "versions": "0+", "mapKey": true,
        "default": "say \\"\\u00e9\\"" },
      { "name": "Bulbs", "type": "[]Bulb", "versions": "3" }
    ]}
  ],
  "commonStructs": [
    { "name": "Bulb", "versions": "3", "fields": [
      { "name": "Watts", "type": "float64", "versions": "3", "nullableVersions": "none" }
    ]}
  ]
}
"""
_LAMP_REQUEST_WRITTEN = r"""{
  "apiKey": 77,
  "type": "request",
  "listeners": ["broker", "zkBroker"],
  "name": "LampRequest",
  "validVersions": "0-3",
  "deprecatedVersions": "0-1",
  "flexibleVersions": "2+",
  "latestVersionUnstable": true,
  "headerVersions": { "0-1": "1", "2+": "2" },
  "fields": [
    { "name": "Id", "type": "int32", "versions": "0+", "default": "-1", "ignorable": true, "entityType": "brokerId" },
    { "name": "Note", "type": "string", "versions": "1+", "nullableVersions": "1+", "flexibleVersions": "none", "default": "null" },
    { "name": "Label", "type": "string", "versions": "2+", "taggedVersions": "2+", "tag": 0, "default": "" },
    { "name": "Blob", "type": "bytes", "versions": "0+", "zeroCopy": true },
    { "name": "Rooms", "type": "[]Room", "versions": "0+", "fields": [
      { "name": "Name", "type": "string", "versions": "0+", "default": "say \"\u00e9\"", "mapKey": true },
      { "name": "Bulbs", "type": "[]Bulb", "versions": "3" }
    ] }
  ],
  "commonStructs": [
    { "name": "Bulb", "versions": "3", "fields": [
      { "name": "Watts", "type": "float64", "versions": "3" }
    ] }
  ]
}
"""  # noqa: E501


def _parse(text: str) -> MessageSpec:
    spec, findings = parse_message(text, "sample.json")
    assert not findings
    assert spec is not None
    return spec


def _facts(spec: MessageSpec) -> MessageSpec:
    return replace(
        spec,
        fields=tuple(_field_facts(field) for field in spec.fields),
        common_structs=tuple(_struct_facts(struct) for struct in spec.common_structs),
        file="",
        line=0,
    )


def _struct_facts(struct: StructSpec) -> StructSpec:
    return replace(struct, fields=tuple(_field_facts(field) for field in struct.fields), line=0)


def _field_facts(field: FieldSpec) -> FieldSpec:
    fields = tuple(_field_facts(inner) for inner in field.fields)
    return replace(field, fields=fields, about="", line=0)


def test_the_written_form() -> None:
    assert spec_to_json(_parse(_LAMP_REQUEST)) == _LAMP_REQUEST_WRITTEN


def test_reading_back_gives_the_same_spec() -> None:
    spec = _parse(_LAMP_REQUEST)
    assert _facts(_parse(spec_to_json(spec))) == _facts(spec)


@pytest.mark.parametrize(
    ("keys", "written"),
    [
        ({"validVersions": "none"}, ['"validVersions": "none"']),
        (
            {"validVersions": "none", "flexibleVersions": "1+"},
            ['"validVersions": "none",', '"flexibleVersions": "1+"'],
        ),
        (
            {"validVersions": "0", "flexibleVersions": "none"},
            ['"validVersions": "0",', '"flexibleVersions": "none",', '"fields": []'],
        ),
    ],
)
def test_absent_keys_stay_absent(keys: dict[str, str], written: list[str]) -> None:
    spec = _parse(json.dumps({"type": "data", "name": "Beacon"} | keys))
    lines = ["{", '"type": "data",', '"name": "Beacon",', *written, "}"]
    assert [line.strip() for line in spec_to_json(spec).splitlines()] == lines


def test_every_shipped_spec_is_in_the_written_form() -> None:
    paths = sorted(_KAFKA_SPECS.glob("*/*.json"))
    assert paths
    for path in paths:
        text = path.read_text(encoding="utf-8")
        assert spec_to_json(_parse(text)) == text, path.name
