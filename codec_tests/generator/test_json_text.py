"""JSON with comments: values, their lines, and the messages about wrong text."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftwire_generator.parser.json_text import (
    DEEPEST_NESTING,
    JsonError,
    JsonNumber,
    JsonObject,
    JsonValue,
    parse_json,
)


def plain(value: JsonValue) -> object:
    """The value as the standard library has it, numbers as their text."""
    if isinstance(value, JsonObject):
        return {key: plain(member) for key, member in value.members.items()}
    if isinstance(value, JsonNumber):
        return value.text
    return [plain(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{}", {}),
        ("[]", []),
        ('"a"', "a"),
        (" \t\r\n true ", True),
        ("[true, false, null]", [True, False, None]),
        ('{"a": [1, {"b": "c"}]}', {"a": ["1", {"b": "c"}]}),
        ("1.50", "1.50"),
        ("-0", "-0"),
        ("1e+5", "1e+5"),
        (r'"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"', '"\\/\b\f\n\r\t\u00e9\U0001f600'),
        (r'"\ud800"', "\ud800"),
        ('"\u00a0"', "\u00a0"),
        ("\ufeff{}", {}),
        ("// one\n/* two\n * three */ {} // four", {}),
        ('{"a": /* here too */ "b"}', {"a": "b"}),
        ("/**/{}", {}),
        ('"no // comment /* inside */ a string"', "no // comment /* inside */ a string"),
    ],
)
def test_reads(text: str, value: object) -> None:
    assert plain(parse_json(text)) == value


@pytest.mark.parametrize(
    ("text", "line", "phrase"),
    [
        ("", 1, "found the end of the file"),
        ("\n\n", 3, "expected a value"),
        ("# c\n{}", 1, "comments start with // or /*"),
        ("{}\n/ x", 2, "comments start with // or /*"),
        ("{}\n/* no end", 2, "close it with */"),
        ("{\n} {", 2, "expected the end of the file"),
        ("{} x", 1, "expected the end of the file"),
        ('{"a": 1,\n}', 2, "no comma is allowed before }"),
        ("[1,\n]", 2, "no comma is allowed before ]"),
        ("{'a': 1}", 1, "expected a key in double quotes"),
        ("['a']", 1, "not in single ones"),
        ("{a: 1}", 1, "expected a key in double quotes"),
        ('{"a" 1}', 1, "a colon after the key 'a'"),
        ('{"a": 1 "b": 2}', 1, "a comma or }"),
        ("[1 2]", 1, "a comma or ]"),
        ("[1", 1, "found the end of the file"),
        ('{"a":\nNaN}', 2, "NaN is not JSON"),
        ("Infinity", 1, "Infinity is not JSON"),
        ("True", 1, "True is not JSON"),
        ('{"a": 1, "a": 2}', 1, "the key 'a' is also on line 1; remove one of the two"),
        ('[{"a": 1,\n"b": {"a": 1}, "c": 2,\n"\\u0061": 1}]', 3, "'a' is also on line 1"),
        ("01", 1, "expected the end of the file"),
        ("0x1", 1, "expected the end of the file"),
        ("+1", 1, "expected a value but found '+'"),
        (".5", 1, "expected a value"),
        ("1.", 1, "expected the end of the file"),
        ('"a\tb"', 1, "control character"),
        ('["a",\n"b\n"]', 2, "control character"),
        ('"abc', 1, "close it with a double quote"),
        (r'"\x"', 1, "a backslash starts an escape"),
        (r'"\u12"', 1, "four hexadecimal digits"),
        ("{\u00a0}", 1, "U+00A0"),
        ("{}\ufeff", 1, "U+FEFF"),
        ("\u0663", 1, "expected a value"),
    ],
)
def test_refuses(text: str, line: int, phrase: str) -> None:
    with pytest.raises(JsonError) as caught:
        parse_json(text)
    assert caught.value.line == line
    assert phrase in caught.value.message


def test_knows_the_line_of_objects_and_keys() -> None:
    text = '// a\n{ "x":\n  [ {}, /* b\n */ { "y": 1,\n\n "z": 2 } ]\n}'
    top = parse_json(text)
    assert isinstance(top, JsonObject)
    assert (top.line, top.key_lines) == (2, {"x": 2})
    items = top.members["x"]
    assert isinstance(items, list)
    first, second = items
    assert isinstance(first, JsonObject)
    assert isinstance(second, JsonObject)
    assert (first.line, second.line, second.key_lines) == (3, 4, {"y": 4, "z": 6})


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_nesting_has_a_limit(opening: str) -> None:
    with pytest.raises(JsonError, match="nested more than"):
        parse_json(opening * 100_000)
    closing = {"[": "]"}.get(opening, "}")
    depth = DEEPEST_NESTING
    inner = "null" if closing == "}" else ""
    parse_json(opening * depth + inner + closing * depth)


def test_hostile_text_takes_linear_time() -> None:
    for text in ('"' + "a" * 300_000, "/*" * 150_000, " " * 300_000, "1" * 300_000 + "x"):
        with pytest.raises(JsonError):
            parse_json(text)


json_values = st.recursive(
    st.none() | st.booleans() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(json_values, st.sampled_from([None, 2]))
def test_reads_what_the_standard_library_writes(value: object, indent: int | None) -> None:
    assert plain(parse_json(json.dumps(value, indent=indent))) == value


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.text(alphabet='{}[]",:/*\\ \n019.eE-+truefalsn\u00a0'))
def test_any_text_is_a_value_or_a_json_error(text: str) -> None:
    with contextlib.suppress(JsonError):
        parse_json(text)
