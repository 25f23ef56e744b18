"""Forgiving reading: every mistake told once, at its line, and the object read in spite of it."""

from __future__ import annotations

import random
import re

import pytest

from kraftwire_generator.lint.lenient_json import read_leniently
from kraftwire_generator.parser.json_text import JsonNumber, JsonObject, parse_json

from codec_tests.oracle import REPOSITORY

TEA = """{
  "type": "data", "name": "Tea", "validVersions": "0-2",
  "fields": [
    { "name": "Leaves", "type": "[]Leaf", "versions": "0+", "fields": [
      { "name": "Grams", "type": "int32", "versions": "1+", "default": -1 },
      { "name": "Sort", "type": "string", "versions": "0+", "about": "Green, or black." }
    ]},
    { "name": "Hot", "type": "bool", "versions": "2" }
  ]
}
"""
_OUTSIDE_STRINGS = re.compile(r'"[^"\n]*"|([,:{}\[\]])')


def places(chars: str) -> list[int]:
    """Where the characters stand in TEA, strings aside."""
    return [m.start() for m in _OUTSIDE_STRINGS.finditer(TEA) if m[1] and m[1] in chars]


def line_of(position: int) -> int:
    return TEA.count("\n", 0, position) + 1


def told(text: str) -> list[tuple[int, str]]:
    return [(mistake.line, mistake.message) for mistake in read_leniently(text).mistakes]


def test_sound_text_has_no_slips() -> None:
    reading = read_leniently(TEA)
    assert (reading.value, reading.mistakes) == (parse_json(TEA), [])


def test_sound_specs_are_read_as_strictly() -> None:
    for file in sorted((REPOSITORY / "message_specs" / "kafka" / "clients").glob("*.json"))[:60]:
        text = file.read_text(encoding="utf-8")
        reading = read_leniently(text)
        assert (reading.value, reading.mistakes) == (parse_json(text), []), file


@pytest.mark.parametrize("position", places(",:"))
def test_a_comma_or_colon_left_out_anywhere(position: int) -> None:
    reading = read_leniently(TEA[:position] + " " + TEA[position + 1 :])
    missing = {",": "a comma is missing after this", ":": "a colon is missing after"}
    (mistake,) = reading.mistakes
    assert mistake.line == line_of(position)
    assert mistake.message.startswith(missing[TEA[position]])
    assert reading.value == parse_json(TEA)


@pytest.mark.parametrize("position", places("}]"))
def test_a_comma_before_any_closing_bracket(position: int) -> None:
    reading = read_leniently(TEA[:position] + "," + TEA[position:])
    (mistake,) = reading.mistakes
    assert mistake.line == line_of(position)
    assert mistake.message == f"a comma comes before {TEA[position]}; remove it"
    assert reading.value == parse_json(TEA)


@pytest.mark.parametrize("position", places("{}[]"))
def test_a_bracket_left_out_anywhere_is_told(position: int) -> None:
    reading = read_leniently(TEA[:position] + " " + TEA[position + 1 :])
    assert reading.mistakes


@pytest.mark.parametrize(
    ("text", "line", "phrase", "value"),
    [
        ('{"a": "x\n  y", "b": "z"}', 1, "a string continues over several lines", "x y"),
        ('{"a": "x,\n"b": "z"}', 1, "a string has no end", "x"),
        ('{"a": "x, "b": "z"}', 1, "close it with a double quote before the comma", "x"),
        ('{"a": x", "b": "z"}', 1, "'x' lacks its opening quote", "x"),
        ('{"a": x, "b": "z"}', 1, 'x is not JSON; write "x"', "x"),
        ('{"a": "x", b: "z"}', 1, 'a key is written in double quotes; write "b"', "x"),
        ('{\'a\': "x", "b": "z"}', 1, "not in single ones", "x"),
        ('{“a”: "x", "b": "z"}', 1, "curly quotes", "x"),
        ('{"a": "x",\n\xa0 \xa0"b": "z"}', 2, "a no-break space (U+00A0)", "x"),
        ('{"a": "x",, "b": "z"}', 1, "a comma is doubled", "x"),
        ('{{"a": "x", "b": "z"}', 1, "{ is doubled", "x"),
        ('{"a": "x", "b": "z"}}', 1, "the spec ends before this", "x"),
        ('{"a": "x", # tea\n "b": "z"}', 1, "# does not start a comment", "x"),
        ('{"a": "x\t", "b": "z"}', 1, "a tab or other control character", "x\t"),
        ('{"a": "\\x", "b": "z"}', 1, "a backslash starts an escape", "\\x"),
        ('{"a": "x", "b": "z"', 1, "the end lacks }", "x"),
        ('{"a": "x", "b": "z"} /* tea', 1, "this comment has no end", "x"),
    ],
)
def test_slips_of_words_and_spaces(text: str, line: int, phrase: str, value: str) -> None:
    reading = read_leniently(text)
    (mistake,) = reading.mistakes
    assert mistake.line == line
    assert phrase in mistake.message
    assert isinstance(reading.value, JsonObject)
    assert reading.value.members == {"a": value, "b": "z"}


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ('{"f": [{"n": 1}, {"n": 2} "m": 3}, {"n": 4}]}', "closes the object too early"),
        ('{"f": [{"n": 1}, {"n": 2, "m": 3, {"n": 4}]}', "} and a comma are missing after this"),
        ('{"f": [{"n": 1}, {"n": 2, "m": 3}], {"n": 4}]}', "the ] before this closes f too early"),
        ('{"f": [{"n": 1}, [{"n": 2, "m": 3}, {"n": 4}]}', "a list cannot hold a list"),
        ('{"f": [{"n": 1}, {"n": 2, "m": 3}}, {"n": 4}]}', "this } closes nothing"),
        ('{"f": [{"n": 1}, {"n": 2, "m": 3}, {"n": 4]}', "} is missing before this ]"),
        ('{"f": ["n": 1}, {"n": 2, "m": 3}, {"n": 4}]}', "{ is missing before this"),
    ],
)
def test_a_bracket_too_early_or_missing_does_not_lose_what_follows(text: str, phrase: str) -> None:
    reading = read_leniently(text)
    assert phrase in reading.mistakes[0].message
    sound = '{"f": [{"n": 1}, {"n": 2, "m": 3}, {"n": 4}]}'
    assert reading.value == parse_json(sound)


def test_of_two_values_the_later_counts() -> None:
    reading = read_leniently('{"a": "x" "y", "b": "[]Old", New", "c": 1}')
    assert isinstance(reading.value, JsonObject)
    assert (reading.value.members["a"], reading.value.members["b"]) == ("y", "[]New")


def test_of_two_equal_keys_the_later_counts() -> None:
    text = '{"a": 1,\n "b": {"a": 2},\n "a": 3}'
    assert told(text) == [(3, "the key 'a' is also on line 1; remove one of the two")]
    reading = read_leniently(text)
    assert isinstance(reading.value, JsonObject)
    assert reading.value.members["a"] == JsonNumber("3")


def test_a_key_without_a_value() -> None:
    assert told('{"a", "b": 1}') == [(1, "the key 'a' has no value; add one, or remove it")]
    assert told('{"a": , "b": 1}') == [(1, "the key 'a' has no value; add one, or remove it")]


def test_an_elision_is_not_a_mistake() -> None:
    reading = read_leniently('{"a": 1,\n ...\n "f": [\n ...\n {"n": 1,\n ...},\n ...\n ] }')
    assert reading.mistakes == []
    assert reading.elided_lines == [2, 4, 6, 7]
    assert [sorted(source.members) for source in reading.elided] == [["a", "f"], ["n"]]


@pytest.mark.parametrize("text", ["", "tea", "[]", "]", '"tea"', "// {", "\ufeff"])
def test_no_object_no_value(text: str) -> None:
    assert read_leniently(text).value is None


def test_any_text_has_an_answer() -> None:
    alphabet = [
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        '"',
        "a",
        '"b"',
        "1",
        "...",
        "\n",
        " ",
        "//",
        "'",
        "“",
    ]
    draw = random.Random(5)
    for _ in range(3_000):
        read_leniently("{" + "".join(draw.choices(alphabet, k=draw.randrange(40))))


def test_mutilated_specs_have_an_answer() -> None:
    draw = random.Random(6)
    for _ in range(500):
        first, second = sorted(draw.sample(range(len(TEA)), 2))
        read_leniently(TEA[:first] + TEA[second:])
