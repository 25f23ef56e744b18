"""The front half decides as Kafka's generator does, apart from the listed deviations."""

from __future__ import annotations

import base64
import json
import math
import uuid
from collections.abc import Callable
from typing import Any

from kraftwire_generator.checks.field_rules import ENTITY_TYPES
from kraftwire_generator.errors import Finding
from kraftwire_generator.language import names
from kraftwire_generator.language.defaults import default_value
from kraftwire_generator.language.field_types import Primitive, Struct
from kraftwire_generator.language.spec import MessageSpec
from kraftwire_generator.language.versions import VersionRange
from kraftwire_generator.parser.message_parser import parse_message

from codec_tests import oracle_deviations
from codec_tests.oracle import oracle_section, report_oracle_count
from codec_tests.spec_files import check_json


def test_names() -> None:
    cases = oracle_section("names")
    functions: dict[str, Callable[..., object]] = {
        "capitalizeFirst": names.capitalize_first,
        "toSnakeCase": names.to_snake_case,
    }
    for name, function in functions.items():
        for text, expected in cases[name]:
            assert function(text) == expected, (name, text)
    report_oracle_count("names", sum(len(cases[name]) for name in functions), 0)


def test_entity_types() -> None:
    cases = oracle_section("entity_types")
    ours = {name: wanted and wanted.name for name, wanted in ENTITY_TYPES.items()}
    assert ours == cases
    report_oracle_count("entity_types", len(cases), 0)


def test_versions() -> None:
    cases = oracle_section("versions")
    seen = {
        f"parse {text}": _parse(text, default) == result for text, default, result in cases["parse"]
    }
    seen |= {f"refuse {text}": _parse(text, None) is None for text in cases["parse_errors"]}
    for operation in ("intersect", "subtract", "contains_version", "contains_range"):
        for left, right, expected in cases[operation]:
            outcome = _operate(operation, VersionRange.parse(left), right)
            seen[f"{operation} {left} {right}"] = outcome == expected
    _compare("versions", seen, oracle_deviations.VERSIONS)


def _parse(text: str | None, default: str | None) -> str | None:
    """What a range prints as; None where it cannot be read."""
    try:
        return str(VersionRange.parse(text if text and text.strip() else default or ""))
    except ValueError:
        return "none" if default == "NONE" and not text else None


def _operate(operation: str, left: VersionRange, right: Any) -> object:
    if operation == "contains_version":
        return right in left
    other = VersionRange.parse(right)
    if operation == "contains_range":
        return left.covers(other)
    result = left.intersect(other) if operation == "intersect" else left.subtract(other)
    return None if result is None else str(result)


def test_spec_validation() -> None:
    seen = {}
    for case in oracle_section("spec_validation"):
        refused = any(finding.severity == "error" for finding in _findings(case))
        seen[case["id"]] = refused == (case["outcome"] != "ok")
    _compare("spec_validation", seen, oracle_deviations.SPEC_VALIDATION)


def _text(case: dict[str, Any]) -> str:
    return case["spec_text"] if "spec_text" in case else json.dumps(case["spec"])


def _findings(case: dict[str, Any]) -> list[Finding]:
    return check_json(_text(case))[1]


def test_default_values() -> None:
    """`default_value` returns what Kafka's converter prints for a new message."""
    seen = {}
    for case in oracle_section("spec_validation"):
        spec, _ = parse_message(_text(case), "case.json")
        listed = case["id"] in oracle_deviations.SPEC_VALIDATION
        if spec is not None and not listed and "default_json" in case:
            seen[case["id"]] = all(
                _prints_defaults(spec, json.loads(text)) for text in case["default_json"].values()
            )
    _compare("spec_validation, values of defaults", seen, oracle_deviations.DEFAULT_VALUES)


def _prints_defaults(spec: MessageSpec, printed: dict[str, object]) -> bool:
    # Kafka prints records as their size, and structs field by field.
    fields = {
        field.name[:1].lower() + field.name[1:]: field
        for field in spec.fields
        if field.type != Primitive("records") and not isinstance(field.type, Struct)
    }
    return all(
        _as_json(default_value(fields[name])) == value
        for name, value in printed.items()
        if name in fields
    )


def _as_json(value: object) -> object:
    if isinstance(value, uuid.UUID):
        return base64.urlsafe_b64encode(value.bytes).decode().rstrip("=")
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else f"{'-' if value < 0 else ''}Infinity"
    return [] if value == () else value


def _compare(section: str, agrees: dict[str, bool], deviations: dict[str, str]) -> None:
    """Every case agrees with Kafka, or is listed and does not."""
    assert agrees
    unlisted = [case for case, agreed in agrees.items() if not agreed and case not in deviations]
    assert not unlisted, f"{section}: these cases deviate and are not listed: {unlisted}"
    stale = [case for case in deviations if agrees.get(case, True)]
    assert not stale, f"{section}: these cases are listed and do not deviate: {stale}"
    report_oracle_count(section, len(agrees), len(deviations))
