"""The text of a default -> its value, type by type."""

from __future__ import annotations

import math
import uuid

import pytest

from kraftwire_generator.language.defaults import default_value
from kraftwire_generator.language.field_types import parse_type
from kraftwire_generator.language.spec import FieldSpec
from kraftwire_generator.language.versions import VersionRange

ALL = VersionRange.parse("0+")
SOME = VersionRange.parse("1+")
NEVER = VersionRange.NONE


def value_of(type_text: str, default: str | None, nullable: VersionRange = NEVER) -> object:
    field = FieldSpec("A", parse_type(type_text), ALL, nullable_versions=nullable, default=default)
    return default_value(field)


@pytest.mark.parametrize("text", [None, ""])
@pytest.mark.parametrize("nullable", [NEVER, SOME, ALL])
@pytest.mark.parametrize(
    ("type_text", "value"),
    [("string", ""), ("bytes", b""), ("S", ()), ("[]int8", ()), ("[]S", ())],
)
def test_absent_is_empty_even_where_nullable(
    type_text: str, value: object, nullable: VersionRange, text: str | None
) -> None:
    assert value_of(type_text, text, nullable) == value


@pytest.mark.parametrize("text", [None, ""])
@pytest.mark.parametrize(
    ("type_text", "value"),
    [("bool", False), ("int8", 0), ("uint32", 0), ("float64", 0.0), ("uuid", uuid.UUID(int=0))],
)
def test_absent_is_zero(type_text: str, value: object, text: str | None) -> None:
    found = value_of(type_text, text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(("nullable", "value"), [(NEVER, b""), (SOME, b""), (ALL, None)])
def test_absent_records_are_null_only_where_they_may_be(
    nullable: VersionRange, value: object
) -> None:
    assert value_of("records", None, nullable) == value


@pytest.mark.parametrize("type_text", ["string", "bytes", "records", "S", "[]int8", "[]S"])
def test_null_needs_every_version_nullable(type_text: str) -> None:
    assert value_of(type_text, "null", ALL) is None
    for nullable in (SOME, NEVER):
        with pytest.raises(
            ValueError, match=r"nullableVersions \(.*\) must cover versions \(0\+\)"
        ):
            value_of(type_text, "null", nullable)


@pytest.mark.parametrize("type_text", ["bytes", "records", "S", "[]int8", "[]S"])
@pytest.mark.parametrize("text", ["foo", "[]", "{}", "NULL"])
def test_only_null_or_empty(type_text: str, text: str) -> None:
    with pytest.raises(ValueError, match='is "" or "null"'):
        value_of(type_text, text, ALL)


@pytest.mark.parametrize(
    ("type_text", "text", "value"),
    [
        ("bool", "true", True),
        ("bool", "TRUE", True),
        ("bool", "False", False),
        ("int8", "-128", -128),
        ("int8", "0x7f", 127),
        ("int8", "+5", 5),
        ("int8", "010", 8),
        ("int8", "-010", -8),
        ("int8", "00", 0),
        ("int16", "0x7FFF", 32767),
        ("uint16", "65535", 65535),
        ("uint32", "0xffffffff", 4294967295),
        ("uint32", "4294967295", 4294967295),
        ("int64", "-9223372036854775808", -(2**63)),
        ("int64", "0xcafcacafcacafca", 0xCAFCACAFCACAFCA),
        ("float64", "1.5", 1.5),
        ("float64", " 1.5\t", 1.5),
        ("float64", "-.5e1", -5.0),
        ("float64", "2.", 2.0),
        ("float64", "1e400", math.inf),
        ("float64", "-Infinity", -math.inf),
        ("float64", "0x1p3", 8.0),
        ("float64", "-0x1p99999", -math.inf),
        ("float64", "1d", 1.0),
        ("float64", "1F", 1.0),
        ("uuid", "AAAAAAAAAAEAAAAAAAAAAg", uuid.UUID(int=(1 << 64) + 2)),
        ("uuid", "H3KKO4NTRPaCWtEmm3vW7A==", uuid.UUID("1f728a3b-8353-44f6-825a-d1269b7bd6ec")),
        ("string", "foo", "foo"),
        ("string", 'a"b\n', 'a"b\n'),
        ("string", "NULL", "NULL"),
    ],
)
def test_values(type_text: str, text: str, value: object) -> None:
    assert value_of(type_text, text) == value


def test_float_corners() -> None:
    nan, minus_zero = value_of("float64", "NaN"), value_of("float64", "-0.0")
    assert isinstance(nan, float)
    assert math.isnan(nan)
    assert isinstance(minus_zero, float)
    assert math.copysign(1, minus_zero) == -1


@pytest.mark.parametrize(
    ("type_text", "text", "phrase"),
    [
        ("bool", "1", "write true or false"),
        ("bool", "null", "write true or false"),
        ("int8", "128", "does not fit int8; write -128 to 127"),
        ("int8", "-129", "does not fit int8"),
        ("int8", "0x80", "does not fit int8"),
        ("uint16", "-1", "write 0 to 65535"),
        ("uint16", "0x10000", "does not fit uint16"),
        ("uint32", "4294967296", "does not fit uint32"),
        ("int32", "0xffffffff", "does not fit int32"),
        ("int64", "9223372036854775808", "does not fit int64"),
        *[
            ("int32", text, "cannot be the default of an integer")
            for text in ["null", " 1", "1 ", "1.0", "1e3", "1_000", "0X7f", "-0x1", "0x-1", "0x"]
        ],
        ("int32", "08", "010 \\(octal\\)"),
        ("int32", "\u0661", "cannot be the default"),
        ("int64", "5L", "cannot be the default"),
        ("int64", "9" * 5000, "cannot be the default"),
        *[
            ("float64", text, "cannot be the default of a float64")
            for text in [
                "inf",
                "nan",
                "abc",
                "null",
                "1_0",
                "\u00a01",
                "1e",
                ".",
                "0x1",
                "NaN1",
                " ",
            ]
        ],
        *[
            ("uuid", text, "base64url of 16 bytes")
            for text in ["abc", "A" * 24, "A" * 23 + "=", "H3KKO4NTRPaCWtEmm3vW7+"]
        ],
        ("uuid", "null", "a uuid is never null"),
        ("uuid", "00000000-0000-0000-0000-000000000000", "base64url"),
    ],
)
def test_refused(type_text: str, text: str, phrase: str) -> None:
    with pytest.raises(ValueError, match=phrase):
        value_of(type_text, text)
