"""The JSON form is that of Kafka's own converter, apart from the listed deviations."""

from __future__ import annotations

import base64
import json
import math
import uuid
from typing import Any

import pytest

from kraftwire_generator.errors import SpecError
from kraftwire_wire.errors import DecodeError, EncodeError
from kraftwire_wire.layout import Field
from kraftwire_wire.message import Message, Struct

from codec_tests import oracle_deviations
from codec_tests.compile_spec import compile_spec
from codec_tests.oracle import oracle_section, report_oracle_count
from codec_tests.strategies import same

_WRAPPED = "128 to 256 are no int8; Java lets them wrap around"
_STRAY_KEY = "a key that the version does not have is a slip; Java ignores it or keeps the value"
_FLOATS = "a whole number and NaN are float64 too; Java cannot read back the NaN that it prints"

DEVIATIONS: dict[int | str, str] = {
    19: _WRAPPED,
    21: _WRAPPED,
    25: _WRAPPED,
    32: _STRAY_KEY,
    66: _STRAY_KEY,
    36: _FLOATS,
    38: _FLOATS,
    "json records false": "the size in place of records is read, and never printed",
    "json nullable struct2 null v0": "null has no encoding in version 0; Java prints it",
}


def _test_message(name: str) -> type[Any]:
    return compile_spec(oracle_section("test_specs")[name])


def test_oracle_json_read() -> None:
    cases = oracle_section("json_read")
    agrees = {index: _reads_as_java(case) for index, case in enumerate(cases)}
    _compare("json_read", agrees, {key for key in DEVIATIONS if isinstance(key, int)})


def _reads_as_java(case: dict[str, Any]) -> bool:
    message_type = _test_message(case["message"])
    obj = case.get("json")
    if obj is None:
        assert case["base"] == "default_json_v1"
        obj = {**message_type().to_json(1, style="java"), **case["override"]}
    try:
        message = message_type.from_json(obj, case["version"])
    except DecodeError:
        return "error" in case
    return "error" not in case and _java_text(message, "Data") == case["java_toString"]


def _java_text(value: Any, suffix: str = "") -> str:
    """What toString of Kafka's class prints."""
    layout = value.LAYOUT
    texts = [
        f"{field.json_name}={_java_field(type(value), field, getattr(value, field.name))}"
        for field in layout.fields
    ]
    return f"{layout.name}{suffix}({', '.join(texts)})"


def _java_field(owner: type[Any], field: Field, value: Any) -> str:
    if value is None and field.is_optional_struct:
        return _java_text(field.struct_class(owner)())
    if field.zero_copy and value is not None:
        return f"java.nio.HeapByteBuffer[pos=0 lim={len(value)} cap={len(value)}]"
    if isinstance(value, list):
        return f"[{', '.join(_java_value(item) for item in value)}]"
    return _java_value(value)


def _java_value(value: object) -> str:
    match value:
        case None:
            return "null"
        case str():
            return f"'{value}'"
        case uuid.UUID():
            return base64.urlsafe_b64encode(value.bytes).decode().rstrip("=")
        case bytes():
            return str(list(memoryview(value).cast("b")))
        case Struct():
            return _java_text(value)
    return str(value)


def test_oracle_misc_encode() -> None:
    cases = {
        case["what"]: case["result"]
        for case in oracle_section("misc_encode")
        if case["what"].startswith("json ")
    }
    agrees = {what: _prints_as_java(what, result) for what, result in cases.items()}
    listed = {key for key in DEVIATIONS if isinstance(key, str)}
    _compare("misc_encode, json", agrees, listed)


def _prints_as_java(what: str, result: str) -> bool:
    message, version = _misc_message(what, result)
    if message is None:
        return False
    try:
        printed = message.to_json(version, style="java")
    except EncodeError:
        return result.startswith("!")
    return json.dumps(printed, separators=(",", ":")) == result


def _misc_message(what: str, result: str) -> tuple[Message | None, int]:
    """The message that a case is about, as the case's name describes it."""
    example = _test_message("SimpleExampleMessage")
    records, nullable = map(_test_message, ("SimpleRecordsMessage", "NullableStructMessage"))
    kind, last_word = what.removeprefix("json "), what.rpartition(" ")[2]
    version = int(last_word[1:]) if last_word in ("v0", "v1", "v2") else 1
    made: dict[str, Message | None] = {
        "nan": example(my_float64=math.nan),
        "unk tags lost": example(unknown_tagged_fields=[(1000, b"\x01")]),
        "write nonignorable": example(my_struct=example.MyStruct(struct_id=1)),
        "records true": records(topic="foo", record_set=b"\x01\x02\x03"),
        "records false": None,
        "records null false": records(topic="foo", record_set=None),
        "nullable structs": nullable(nullable_struct4=None),
        "nullable structs default": nullable(),
        "nullable struct2 null v0": nullable(nullable_struct2=None),
    }
    if kind.startswith("default "):
        return example(), version
    if kind.startswith("full "):
        return example.from_json(json.loads(result), version), version
    if kind == "records false":
        assert records.from_json(json.loads(result), version) == records(
            topic="foo", record_set=b""
        )
    return made[kind], version


@pytest.mark.slow
def test_oracle_default_json() -> None:
    agrees: dict[int | str, bool] = {}
    for case in oracle_section("spec_validation"):
        if "default_json" in case and case["id"] not in oracle_deviations.SPEC_VALIDATION:
            agrees[case["id"]] = _defaults_as_java(case)
    listed: set[int | str] = set(oracle_deviations.DEFAULT_VALUES)
    _compare("spec_validation, default_json", agrees, listed)


def _defaults_as_java(case: dict[str, Any]) -> bool:
    try:
        message_type = compile_spec(case["spec_text"] if "spec_text" in case else case["spec"])
    except SpecError as error:
        pytest.fail(f"{case['id']}: {error}")
    return all(
        _form_of_defaults(message_type, int(version)) == json.dumps(json.loads(text))
        for version, text in case["default_json"].items()
        if int(version) in message_type.VALID_VERSIONS
    )


def _form_of_defaults(message_type: type[Message], version: int) -> str:
    """As text, which tells 0 from 0.0 and -0.0; read back on the way."""
    written = message_type().to_json(version, style="java")
    assert same(message_type.from_json(json.loads(json.dumps(written)), version), message_type())
    return json.dumps(written)


def _compare(section: str, agrees: dict[Any, bool], listed: set[Any]) -> None:
    """Every case agrees with Kafka, or is listed and does not."""
    assert agrees
    deviating = {case for case, agreed in agrees.items() if not agreed}
    assert deviating == listed, section
    report_oracle_count(section, len(agrees), len(listed))
