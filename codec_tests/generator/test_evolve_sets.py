"""The findings of `evolve` about whole messages and sets, compared with Kafka's own checker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kraftwire_generator.comparison.evolution import evolve_message, evolve_sides
from kraftwire_generator.comparison.evolution_report import EvolutionFinding
from kraftwire_generator.comparison.sides import read_side

from codec_tests.evolving import Spec, foo_spec, judge, read_two_sides, told
from codec_tests.oracle import REPOSITORY, oracle_section, report_oracle_count
from codec_tests.oracle_deviations import EVOLUTION
from codec_tests.spec_files import field_spec, message_spec, resolve_json

KAFKA = REPOSITORY / "message_specs/kafka"
A = field_spec("a")


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
    findings = judge(foo_spec(A, **old), foo_spec(A, **new))
    texts = [f"{f.severity} {f.rule} {f.versions_text}" for f in findings]
    assert len(texts) == len(expected)
    for text, wanted in zip(texts, expected, strict=True):
        assert text.startswith(wanted if wanted.startswith("warning") else f"error {wanted}")


def test_versions_taken_away_at_both_ends() -> None:
    findings = judge(foo_spec(A, **REQUEST), foo_spec(A, **REQUEST, validVersions="1"))
    assert told(findings) == ["warning versions  0", "error versions  2"]


# -- sets ------------------------------------------------------------------------------------


def evolve_sets(folder: Path, old: list[Spec], new: list[Spec]) -> list[EvolutionFinding]:
    return evolve_sides(*read_two_sides(folder, old, new))


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


def test_keys_of_records_got_a_type_of_their_own(tmp_path: Path) -> None:
    """OffsetCommitKey and its like, as Kafka 4.0 has them: the version became the apiKey."""
    group, topic = field_spec("group", "string"), field_spec("topic", "string", versions="1+")
    old = [
        message_spec("m/OffsetKey", group, topic, validVersions="0-2"),
        message_spec("m/OffsetValue", A, validVersions="0-1"),
    ]

    def key(name: str, record: int, *fields: Spec) -> Spec:
        return message_spec(name, *fields, type="coordinator-key", apiKey=record)

    everywhere = {**topic, "versions": "0"}
    value = message_spec(
        "m/OffsetValue", A, type="coordinator-value", apiKey=1, validVersions="0-1"
    )
    new = [key("m/OldKey", 0, group), key("m/OffsetKey", 1, group, everywhere), value]
    findings = evolve_sets(tmp_path / "same", old, new)
    assert [(f.message, f.rule, f.severity, f.versions_text) for f in findings] == [
        ("OldKey", "type", "warning", "0"),
        ("OldKey", "message-renamed", "warning", "0"),
        ("OffsetKey", "type", "warning", "0"),
        ("OffsetKey", "removed", "error", "2"),
        ("OffsetValue", "type", "warning", "0-1"),
    ]
    swapped = [key("m/OldKey", 0, group), key("m/OffsetKey", 1, group), value]
    errors = [f for f in evolve_sets(tmp_path / "broken", old, swapped) if f.severity == "error"]
    assert told(errors) == ["error removed topic 0", "error removed  2"]


def test_kafka_is_compatible_with_itself() -> None:
    side = read_side(str(KAFKA))
    assert evolve_sides(side, side) == []


def test_lines_are_those_of_the_new_file_or_of_the_old_one_where_it_has_none() -> None:
    texts = (
        '{"name": "Foo", "type": "data", "validVersions": "0", "flexibleVersions": "none",\n'
        ' "fields": [\n  {"name": "%s", "type": "int8", "versions": "0"}%s]}'
    )
    old, new = (resolve_json(texts % ("a", ""), file) for file in ("old.json", "new.json"))
    empty = resolve_json(texts.split("\n")[0] + '"fields": []}', "new.json")
    (finding,) = evolve_message(old, empty)
    assert (finding.file, finding.line) == ("old.json", 3)
    (finding,) = evolve_message(empty, new)
    assert (finding.file, finding.line) == ("new.json", 3)


# -- Kafka's own checker ---------------------------------------------------------------------


def test_kafkas_own_checker() -> None:
    cases = oracle_section("evolution_checker")
    deviating = set()
    for case in cases:
        findings = judge(case["message1"], case["message2"])
        if case["id"] == "rename":
            assert told(findings) == ["warning renamed z 0-1"]
        holds = all(finding.severity == "warning" for finding in findings)
        if holds != case["snapshot_outcome"].startswith("ok"):
            deviating.add(case["id"])
    assert deviating == set(EVOLUTION)
    report_oracle_count("evolution_checker", len(cases), len(deviating))
