"""Docstrings of generated classes: one line about the message, and one per field."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from codec_tests.compile_spec import compile_spec
from codec_tests.spec_files import field_spec, message_spec

TITLES = [
    ({}, "a data message; version 0, not flexible."),
    ({"validVersions": "0-3"}, "a data message; versions 0-3, not flexible."),
    ({"flexibleVersions": "0+"}, "a data message; version 0, flexible."),
    (
        {"validVersions": "1-3", "flexibleVersions": "1+"},
        "a data message; versions 1-3, all flexible.",
    ),
    (
        {"validVersions": "1-3", "flexibleVersions": "3+"},
        "a data message; versions 1-3, flexible 3.",
    ),
    (
        {"type": "metadata", "apiKey": 7, "validVersions": "0-3", "deprecatedVersions": "0-1"},
        "a metadata message, record id 7; versions 0-3, not flexible, deprecated 0-1.",
    ),
    (
        {"type": "coordinator-key", "apiKey": 7},
        "a coordinator key message, record id 7; version 0, not flexible.",
    ),
]

FIELDS = [
    ({}, "int32."),
    ({"name": "TimeoutMs"}, "int32, milliseconds."),
    ({"name": "SizeBytes", "type": "int64", "default": "-1"}, "int64, bytes; default -1."),
    ({"name": "Bytes", "type": "bytes"}, "bytes."),
    ({"default": "0x0"}, "int32."),
    ({"default": "0x10"}, "int32; default 16."),
    ({"type": "bool", "default": "true"}, "bool; default True."),
    ({"type": "string", "default": "x y"}, "string; default 'x y'."),
    ({"versions": "2+"}, "int32; versions 2+."),
    ({"versions": "2"}, "int32; version 2."),
    ({"type": "[]string", "nullableVersions": "0+"}, "list of string or null."),
    ({"type": "string", "nullableVersions": "2+"}, "string or null in versions 2+."),
    (
        {"type": "string", "versions": "1+", "nullableVersions": "1+", "default": "null"},
        "string or null; default null; versions 1+.",
    ),
    ({"entityType": "brokerId"}, "int32; entity brokerId."),
    ({"taggedVersions": "1+", "tag": 0, "versions": "1+"}, "int32; versions 1+; tag 0."),
    ({"taggedVersions": "2+", "tag": 0}, "int32; tag 0 in versions 2+."),
    ({"about": " Says\n what \tit is. "}, "int32. Says what it is."),
    (
        {"type": "Node", "taggedVersions": "1+", "tag": 0, "fields": [field_spec("Id")]},
        "Node; None when not sent; tag 0 in versions 1+.",
    ),
]


def lines(spec: dict[str, Any], struct: str = "") -> list[str]:
    message: Any = compile_spec(spec)
    documented = getattr(message, struct) if struct else message
    return (inspect.getdoc(documented) or "").splitlines()


@pytest.mark.parametrize(("keys", "expected"), TITLES)
def test_the_first_line_of_a_message(keys: dict[str, Any], expected: str) -> None:
    assert lines(message_spec("Vote", **keys)) == [f"Vote: {expected}"]


@pytest.mark.parametrize(("keys", "expected"), FIELDS)
def test_the_line_of_a_field(keys: dict[str, Any], expected: str) -> None:
    spec = message_spec("Vote", field_spec(**keys), validVersions="0-3", flexibleVersions="1+")
    assert lines(spec)[1:3] == ["", "Fields:"]
    assert lines(spec)[3].split(": ", 1)[1] == expected


def test_structs_say_in_which_versions_of_the_message_they_occur() -> None:
    inner = field_spec("Inner", "Inner", versions="2+", fields=[field_spec()])
    outer = field_spec("Outer", "Outer", versions="1-2", fields=[inner])
    gone = {"name": "Gone", "versions": "0+", "fields": [field_spec()]}
    use = field_spec("Gone", "Gone", versions="0")
    spec = message_spec("Vote", outer, use, validVersions="1-3", commonStructs=[gone])
    assert lines(spec, "Outer")[0] == "Outer, in versions 1-2."
    assert lines(spec, "Inner")[0] == "Inner, in version 2."
    assert lines(spec, "Gone")[0] == "Gone, in no version of the message."


def test_long_lines_go_on_with_a_deeper_indent() -> None:
    about = " ".join(["word"] * 50)
    described = lines(message_spec("Vote", field_spec(about=about)))[3:]
    assert len(described) > 1
    assert all(line.startswith("        word") for line in described[1:])
    assert all(len(line) <= 92 for line in described)
