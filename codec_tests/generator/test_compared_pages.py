"""Merged words, old and new run together: which are split, and which stay whole."""

from __future__ import annotations

from collections import Counter

import pytest

from kraftwire_generator.lint.compared_pages import names_in, read_newer_words
from kraftwire_generator.parser.json_text import JsonNumber, JsonObject, parse_json

NAMES = Counter(
    {"Cup": 3, "CupSize": 1, "Spoon": 2, "LidColor": 2, "TeaRequest": 1, "Pot": 1, "CupSpoonCup": 3}
)
MESSAGE = '{"type": "request", "name": "TeaRequest", "validVersions": "0-1", "fields": [%s]}'


def read(text: str) -> JsonObject:
    value = parse_json(text)
    assert isinstance(value, JsonObject)
    read_newer_words(value, NAMES)
    return value


def field(text: str) -> dict[str, object]:
    fields = read(MESSAGE % text).members["fields"]
    assert isinstance(fields, list)
    (only,) = fields
    assert isinstance(only, JsonObject)
    return dict(only.members)


@pytest.mark.parametrize(
    ("merged", "newer"),
    [
        ('{"nametype": "int8"}', {"type": "int8"}),
        ('{"versionversions": "0+"}', {"versions": "0+"}),
        ('{"fieldsabout": ["Tea."]}', {"about": "Tea."}),
        ('{"type": "int8int16"}', {"type": "int16"}),
        ('{"type": "int8uint16"}', {"type": "uint16"}),
        ('{"type": "[]int8int16"}', {"type": "[]int16"}),
        ('{"type": "int8[]Spoon"}', {"type": "[]Spoon"}),
        ('{"type": "[]Spoonstring"}', {"type": "string"}),
        ('{"type": "uuidSpoon"}', {"type": "Spoon"}),
        ('{"type": "[]SugarSpoonRequestSpoonData"}', {"type": "[]SpoonData"}),
        ('{"versions": "10+"}', {"versions": "0+"}),
        ('{"versions": "121+"}', {"versions": "1+"}),
        ('{"versions": "01+"}', {"versions": "1+"}),
        ('{"versions": "0+-1"}', {"versions": "0-1"}),
        ('{"entityType": "topicNamebrokerId"}', {"entityType": "brokerId"}),
        ('{"name": "LidsLidColor"}', {"name": "LidColor"}),
        ('{"name": "CupSizeSpoon", "type": "int8string"}', {"name": "Spoon", "type": "string"}),
    ],
)
def test_merged_words_of_a_field(merged: str, newer: dict[str, object]) -> None:
    assert field(merged) == newer


@pytest.mark.parametrize(
    "whole",
    [
        '{"name": "CupSize", "type": "int8"}',
        '{"name": "CupSizeSpoon", "type": "string"}',  # nothing else says that it is merged
        '{"name": "CupSpoonCup"}',  # often on its page
        '{"name": "Lid", "versions": "12+"}',  # wrong, but not by merging
        '{"version": "0+"}',
        '{"type": "[]Spoon"}',
        '{"type": "varint"}',
    ],
)
def test_ordinary_words_stay_whole(whole: str) -> None:
    assert str(field(whole)) == str(dict(parse_json(whole).members))  # type: ignore[union-attr]


def test_merged_words_of_a_message() -> None:
    message = read(
        '{"apiKey": 5253, "nametype": "Teasresponse", "name": "TeaRequestPotResponse",'
        ' "versionsvalidVersions": "0+-1", "flexibleVersionflexibleVersions": "01+"}'
    )
    assert message.members == {
        "apiKey": JsonNumber("53"),
        "type": "response",
        "name": "PotResponse",
        "validVersions": "0-1",
        "flexibleVersions": "1+",
    }


def test_what_was_split_is_told() -> None:
    value = parse_json('{"type": "data",\n "name": "Tea", "flexibleVersionsfields": []}')
    assert isinstance(value, JsonObject)
    (merged,) = read_newer_words(value, NAMES)
    assert (merged.line, merged.word, merged.read_as) == (2, "flexibleVersionsfields", "fields")


def test_an_older_key_that_was_misspelt_is_told() -> None:
    value = parse_json('{"flexibleVersionflexibleVersions": "0+", "typename": "Tea"}')
    assert isinstance(value, JsonObject)
    merged = {word.word: word.misspelt_key for word in read_newer_words(value, NAMES)}
    assert merged == {"flexibleVersionflexibleVersions": "flexibleVersion", "typename": ""}


def test_names_of_a_page() -> None:
    page = '{"name": "Tea", "type": "data", "f": [{"name": "Cup", "type": "[]Cup"}]}'
    assert names_in([page, page]) == {"Tea": 2, "Cup": 4}


def test_any_words_have_an_answer() -> None:
    for length in (1, 100, 10_000):
        field(f'{{"name": "{"Ab" * length}", "versions": "{"1" * length}"}}')
        field(f'{{"{"nametype" * length}": "{"[]A" * length}"}}')
