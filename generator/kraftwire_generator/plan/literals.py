"""Writes values, types, version ranges and docstrings as Python source.

Strings from specs enter generated code only through `literal` and `docstring_text`. Unknown values
raise `TypeError`.
"""

from __future__ import annotations

import math
from uuid import UUID

from kraftwire_generator.language.field_types import (
    INTEGER_BOUNDS,
    Array,
    FieldType,
    Primitive,
    Struct,
)
from kraftwire_generator.language.names import struct_class_name
from kraftwire_generator.language.versions import VersionRange

_HINTS = {
    "bool": "bool",
    **dict.fromkeys(INTEGER_BOUNDS, "int"),
    "float64": "float",
    "string": "str",
    "uuid": "UUID",
    "bytes": "bytes",
    "records": "bytes",
}


def literal(value: object) -> str:
    """Return the expression for a default value; () stands for an empty array or struct."""
    if value is None or value == () or isinstance(value, (bool, int, str, bytes)):
        return repr(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else f'float("{value}")'
    if isinstance(value, UUID):
        return f"UUID({str(value)!r})" if value.int else "ZERO_UUID"
    raise TypeError(f"no Python literal for {value!r}")


def docstring_text(text: str) -> str:
    """Escape any string for use between triple quotes.

    Control characters become visible escapes, so that `help` prints them harmlessly.
    """
    visible = "".join(
        char if char.isprintable() or char == "\n" else char.encode("unicode_escape").decode()
        for char in text
    )
    return visible.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')


def version_range(versions: VersionRange) -> str:
    """Return a version range as the source of a `range`."""
    return f"range({versions.lowest}, {versions.highest + 1})" if versions else "NEVER"


def hint(field_type: FieldType, message_class: str) -> str:
    """Return the type hint of a value, without null."""
    if isinstance(field_type, Array):
        return f"list[{hint(field_type.element, message_class)}]"
    if isinstance(field_type, Struct):
        return f"{message_class}.{struct_class_name(field_type.name, message_class)}"
    return _HINTS[field_type.name]


def type_expression(field_type: FieldType, message_class: str) -> str:
    """Return the expression for a type in LAYOUT, which refers to structs by class name."""
    if isinstance(field_type, Array):
        return f"Array({type_expression(field_type.element, message_class)})"
    if isinstance(field_type, Primitive):
        return f'"{field_type.name}"'
    return f'StructType("{struct_class_name(field_type.name, message_class)}")'
