"""Lint reports an error for exactly those specs that the generator refuses.

The tests damage specs as values and as text, and compare lint with the generator's own checks.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any

import pytest

from kraftwire_generator.errors import errors_of
from kraftwire_generator.lint.spec_lint import lint
from kraftwire_generator.parser.json_text import JsonNumber, JsonObject, JsonValue, parse_json

from codec_tests.compile_spec import compile_spec
from codec_tests.oracle import REPOSITORY
from codec_tests.spec_files import check_json

_ROUNDS = 1_500
_VERSIONS: list[Any] = [
    "0+",
    "0",
    "1+",
    "0-1",
    "none",
    "",
    "2-1",
    "+1",
    "12+",
    "40000",
    "NONE",
    None,
    2,
    [],
]
_VALUES: dict[str, list[Any]] = {
    "name": ["A", "9", "A-b", "", "TeaId", None, 5, "class", "a\0b"],
    "type": ["int8", "string", "uuid", "[]int8", "[]Tea", "Tea", "[Tea]", "[int8]", "[][]int8"],
    "apiKey": [1, "1", "TBD", "N", None, -1, 40000, 1.5, ""],
    "versions": _VERSIONS,
    "validVersions": _VERSIONS,
    "flexibleVersions": _VERSIONS,
    "nullableVersions": _VERSIONS,
    "taggedVersions": _VERSIONS,
    "tag": [0, 1, -1, "0", None, 2**31, True],
    "default": ["null", None, "0", -1, "0x10", "x", "true", []],
    "ignorable": ["true", "", 1, "yes"],
    "entityType": ["topicName", "brokerId", "tea", ""],
    "fields": [[], None, {}, "x", [None]],
    "listeners": [["broker"], "broker", ["tea"]],
    "headerVersions": [{"0+": "1"}, {"1+": "1"}, {"x": 1}],
    "about": ["tea", None, [], "a\u00a0b"],
    "version": ["0+"],
    "flexibleVersion": ["0+"],
    "tea": [1],
}
_JUNK: list[str] = [
    *"\",:{}[]#N'1-\\\0\t\n\xa0\u2028\ufeff\u201c",
    "//x\n",
    "/*x*/",
    "...",
    "01",
    "NaN",
    "",
]
_JUNK += ['"apiKey": N,', '"apiKey": 7,', '{ "x": 1 }']


def plain(value: JsonValue) -> Any:
    """What `json.loads` makes of the same text, comments aside."""
    if isinstance(value, JsonObject):
        return {key: plain(child) for key, child in value.members.items()}
    if isinstance(value, list):
        return [plain(child) for child in value]
    return json.loads(value.text) if isinstance(value, JsonNumber) else value


def objects_in(value: Any) -> list[dict[str, Any]]:
    children = value.values() if isinstance(value, dict) else value
    found = [value] if isinstance(value, dict) else []
    if isinstance(value, (dict, list)):
        found += [each for child in children for each in objects_in(child)]
    return found


def damage(spec: dict[str, Any], draw: random.Random) -> None:
    target = draw.choice(objects_in(spec))
    how = draw.random()
    key = draw.choice(list(target or _VALUES))
    if how < 0.6:
        key = key if key in _VALUES and how < 0.3 else draw.choice(list(_VALUES))
        target[key] = draw.choice(_VALUES[key])
    elif how < 0.7:
        target.pop(key, None)
    elif how < 0.85:
        target[key[:-1] or "s"] = target.pop(key, None)
    elif isinstance(target.get("fields"), list) and target["fields"]:
        target["fields"].append(draw.choice(target["fields"]))


def damaged_text(text: str, draw: random.Random) -> str:
    start = draw.randrange(len(text))
    return text[:start] + draw.choice(_JUNK) + text[start + draw.choice([0, 0, 1, 1, 5]) :]


def is_refused(text: str) -> bool:
    return bool(errors_of(check_json(text)[1]))


@pytest.mark.slow
def test_an_error_is_what_the_generator_refuses() -> None:
    files = sorted((REPOSITORY / "message_specs").glob("**/*.json"))
    small = [file.read_text("utf-8") for file in files if file.stat().st_size < 1_500]
    draw = random.Random(11)
    answers: Counter[bool] = Counter()
    for _ in range(_ROUNDS):
        spec = plain(parse_json(draw.choice(small)))
        for _ in range(draw.randrange(3)):
            damage(spec, draw)
        text = json.dumps(spec, ensure_ascii=False, indent=draw.choice([None, 1]))
        if draw.random() < 0.4:
            text = damaged_text(text, draw)
        findings = lint(text.encode(), "tea.json").findings
        has_error = any(finding.severity == "error" for finding in findings)
        assert has_error == is_refused(text), (text, findings)
        answers[has_error] += 1
        if not has_error and draw.random() < 0.1:  # the later steps take their time
            compile_spec(text)
    assert min(answers.values()) > 200
