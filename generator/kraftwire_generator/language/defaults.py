"""Computes the default value of a field, by the rules of Kafka's generator.

An absent default and an empty one are equal. Kafka's generator copies integers into Java
source, so a leading 0 makes a number octal here as well.
"""

from __future__ import annotations

import base64
import re
import uuid

from kraftwire_generator.language.field_types import INTEGER_BOUNDS, Array, Primitive
from kraftwire_generator.language.spec import FieldSpec

_DECIMAL = re.compile(r"([+-]?)(0|[1-9][0-9]{0,29})")
_OCTAL = re.compile(r"([+-]?)0([0-7]{1,29})")
_HEXADECIMAL = re.compile(r"0x([0-9a-fA-F]{1,29})")

# What Java's Double.parseDouble reads, apart from hexadecimal digits.
_FLOAT = re.compile(
    r"([+-]?(?:NaN|Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?))[fFdD]?"
)
_HEX_FLOAT = re.compile(
    r"([+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[fFdD]?"
)
_CONTROLS_AND_SPACE = "".join(map(chr, range(0x21)))
_UUID = re.compile(r"([A-Za-z0-9_-]{22})(?:==)?")


def default_value(field: FieldSpec) -> object:
    """Return the field's default: bool, int, float, str, bytes, uuid.UUID or None.

    () means an empty array, or a struct whose fields have their defaults. Raises `ValueError` with
    a message that says what to write instead.
    """
    text = field.default or ""
    nullable = field.nullable_versions.covers(field.versions)
    if not isinstance(field.type, Primitive):
        return _null_or_empty(field, nullable, empty=())
    name = field.type.name
    if name == "bytes":
        return _null_or_empty(field, nullable, empty=b"")
    if name == "records":
        # Java's default is always null, which some messages cannot encode. A message of defaults
        # must encode here, so the default is null only if every version allows null.
        return _null_or_empty(field, nullable, empty=None if nullable else b"")
    if name == "string":
        return _null_or_empty(field, nullable, empty="") if text == "null" else text
    if name == "bool":
        return _bool(text)
    if name == "float64":
        return _float(text)
    if name == "uuid":
        return _uuid(text)
    return _integer(text, name)


def initial_value(field: FieldSpec) -> object:
    """Return the attribute's value in a new instance: None for a tagged struct that is not sent."""
    return None if field.is_optional_struct else default_value(field)


def default_text(value: object) -> str:
    """Return a default other than () as a person would write it."""
    if value is None:
        return "null"
    if value == b"":
        return "empty"
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


def _null_or_empty(field: FieldSpec, nullable: bool, empty: object) -> object:
    if not field.default:
        return empty
    if field.default != "null":
        kind = "an array" if isinstance(field.type, Array) else field.type
        raise ValueError(f'the default of {kind} is "" or "null", not {field.default!r}')
    if not nullable:
        raise ValueError(
            f"null cannot be the default: nullableVersions ({field.nullable_versions}) "
            f"must cover versions ({field.versions})"
        )
    return None


def _bool(text: str) -> bool:
    if text.lower() not in ("true", "false", ""):
        raise ValueError(f"{text!r} cannot be the default of a bool; write true or false")
    return text.lower() == "true"


def _integer(text: str, type_name: str) -> int:
    if not text:
        return 0
    if match := _DECIMAL.fullmatch(text):
        value = int(match[0])
    elif match := _OCTAL.fullmatch(text):
        value = int(match[1] + match[2], 8)
    elif match := _HEXADECIMAL.fullmatch(text):
        value = int(match[1], 16)
    else:
        raise ValueError(
            f"{text!r} cannot be the default of an integer; "
            "write for example -1, 0x7f or 010 (octal)"
        )
    lowest, highest = INTEGER_BOUNDS[type_name]
    if not lowest <= value <= highest:
        raise ValueError(f"{text} does not fit {type_name}; write {lowest} to {highest}")
    return value


def _float(text: str) -> float:
    if not text:
        return 0.0
    trimmed = text.strip(_CONTROLS_AND_SPACE)
    if match := _FLOAT.fullmatch(trimmed):
        return float(match[1])
    if match := _HEX_FLOAT.fullmatch(trimmed):
        try:
            return float.fromhex(match[1])
        except OverflowError:
            return float("-inf" if trimmed.startswith("-") else "inf")
    raise ValueError(
        f"{text!r} cannot be the default of a float64; "
        "write for example 1.5, 2e10, NaN or -Infinity"
    )


def _uuid(text: str) -> uuid.UUID:
    if not text:
        return uuid.UUID(int=0)
    match = _UUID.fullmatch(text)
    if text == "null":
        raise ValueError(
            "a uuid is never null; remove the default (Kafka uses the zero uuid for 'none')"
        )
    if match is None:
        raise ValueError(f"{text!r} cannot be the default of a uuid; write base64url of 16 bytes")
    return uuid.UUID(bytes=base64.urlsafe_b64decode(match[1] + "=="))
