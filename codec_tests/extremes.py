"""The messages at the edges of what a version can hold, made from `LAYOUT` alone.

- `full`: every field of the version is set and differs from its default; two of everything;
- `lowest`: null, empty, the smallest numbers;
- `highest`: the largest numbers, and texts, bytes and arrays whose lengths take two bytes.
"""

from __future__ import annotations

import sys
import uuid
from typing import Any, Literal, TypeVar

from kraftwire_wire.layout import Field, StructType
from kraftwire_wire.message import Message

from codec_tests.strategies import integer_bounds

M = TypeVar("M", bound=Message)
Edge = Literal["full", "lowest", "highest"]
EDGES: tuple[Edge, ...] = ("full", "lowest", "highest")

_VALUES: dict[Edge, dict[str, Any]] = {
    "full": {
        "string": "tea \u00e9\u4e2d\U0001f600",
        "bytes": b"\x00cup\xff",
        "uuid": uuid.UUID("00112233-4455-6677-8899-aabbccddeeff"),
        "bool": True,
        "float64": 1.25,
    },
    "lowest": {
        "string": "",
        "bytes": b"",
        "uuid": uuid.UUID(int=0),
        "bool": False,
        "float64": -sys.float_info.max,
    },
    "highest": {
        "string": "\u00e9" * 100,
        "bytes": bytes(range(256)),
        "uuid": uuid.UUID(int=2**128 - 1),
        "bool": True,
        "float64": sys.float_info.max,
    },
}
_COUNTS: dict[Edge, int] = {"full": 2, "lowest": 0, "highest": 3}
_LONG_COUNT = 130


def extreme_message(cls: type[M], version: int, edge: Edge) -> M:
    """The message at an edge of what the version can hold."""
    message: M = _struct(cls, cls, version, edge)
    return message


def _struct(message: type[Message], struct: type[Any], version: int, edge: Edge) -> Any:
    value = struct()
    for field in struct.LAYOUT.fields:
        if version in field.versions:
            made = _field(message, field, version, edge)
            if field.is_optional_struct and version in field.tagged and made == type(made)():
                made = None  # as which it would come back
            setattr(value, field.name, made)
    return value


def _field(message: type[Message], field: Field, version: int, edge: Edge) -> Any:
    if edge == "lowest" and version in field.nullable:
        return None
    if not field.is_array:
        return _value(message, field, version, edge)
    count = _COUNTS[edge]
    if edge == "highest" and not field.is_struct:
        count = _LONG_COUNT
    return [_value(message, field, version, edge) for _ in range(count)]


def _value(message: type[Message], field: Field, version: int, edge: Edge) -> Any:
    kind = "bytes" if field.element_type == "records" else field.element_type
    if isinstance(kind, StructType):
        return _struct(message, kind.class_in(message), version, edge)
    if kind in _VALUES[edge]:
        value = _VALUES[edge][kind]
        return not field.default if edge == "full" and kind == "bool" else value
    low, high = integer_bounds(kind)
    return {"lowest": low, "highest": high, "full": 42 if field.default != 42 else 43}[edge]
