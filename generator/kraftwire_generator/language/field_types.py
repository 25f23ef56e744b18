"""The types a field can have: primitives, structs, and arrays of either.

`parse_type` reads the `type` of a spec; all later steps work on the three classes here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

INTEGER_BOUNDS: dict[str, tuple[int, int]] = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
}

PRIMITIVES = ("bool", *INTEGER_BOUNDS, "float64", "string", "uuid", "bytes", "records")

_STRUCT_NAME = re.compile(r"[A-Z][A-Za-z0-9]*")


@dataclass(frozen=True, slots=True)
class Primitive:
    """One of `PRIMITIVES`."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Struct:
    """A struct, by its name within the message."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Array:
    """An array of primitives or structs; the language has no arrays of arrays."""

    element: Primitive | Struct

    def __str__(self) -> str:
        return f"[]{self.element}"


FieldType = Primitive | Struct | Array


def element_of(field_type: FieldType) -> Primitive | Struct:
    """Return the element type of an array, or any other type unchanged."""
    return field_type.element if isinstance(field_type, Array) else field_type


def parse_type(text: str) -> FieldType:
    """Parse a field type; raise `ValueError` with a message that says what to write instead."""
    text = text.strip(" \t\r\n")
    if not text.startswith("[]"):
        return _parse_element(text)
    element_text = text[2:].strip(" \t\r\n")
    if not element_text:
        raise ValueError("[] names no element type; write for example []int32")
    if element_text.startswith("[]"):
        raise ValueError(f"{text} is an array of arrays; put the inner array into a struct")
    element = _parse_element(element_text)
    if element in (Primitive("bytes"), Primitive("records")):
        raise ValueError(f"{text} is not a type; put the {element} into a struct")
    return Array(element)


def _parse_element(text: str) -> Primitive | Struct:
    if text in PRIMITIVES:
        return Primitive(text)
    if _STRUCT_NAME.fullmatch(text):
        return Struct(text)
    known = ", ".join(PRIMITIVES)
    raise ValueError(
        f"unknown type {text!r}; write one of {known}, "
        "the name of a struct (capitalised letters and digits), or [] before either"
    )
