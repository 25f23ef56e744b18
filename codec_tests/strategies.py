"""Random messages, made from `LAYOUT` alone: each of them encodes in its version.

`random_message` draws from a seeded generator and is fast enough for a sweep over every
version of every message; `messages` is a hypothesis strategy, which shrinks what fails.

Both make every value that a version can carry: nulls, empty and long values, text outside
ASCII, the ends of the integer ranges, NaN and -0.0, tagged fields that are sent or not,
unknown tagged fields beside known ones. Fields that the version lacks keep their default.
A tagged struct whose fields all have their defaults is left out in favour of None, as
which it would come back.
"""

from __future__ import annotations

import math
import random
import struct
import uuid
from collections.abc import Callable
from typing import Any, TypeVar

from hypothesis import strategies as st

from kraftwire_wire.forms import FIXED_FORMATS
from kraftwire_wire.layout import Field, Layout, StructType
from kraftwire_wire.message import Message, Struct

M = TypeVar("M", bound=Message)

MAX_TAG = 0x7FFFFFFE
_ALPHABET = 'ab z\u0000"\\/\n\u00e9\u0416\u20ac\u4e2d\uffff\U0001f600'
# Lengths around the sizes at which a varint of length + 1 grows.
_LENGTHS = (0, 0, 1, 2, 3, 5, 8, 13, 126, 127, 128)
_FLOATS = (0.0, -0.0, 1.5, -2.25, 1e300, 5e-324, math.inf, -math.inf, math.nan)


def integer_bounds(type_name: str) -> tuple[int, int]:
    """The smallest and the largest number of an integer type."""
    code = FIXED_FORMATS[type_name]
    bits = 8 * struct.calcsize(f">{code}")
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if code.islower() else (0, (1 << bits) - 1)


def same(left: object, right: object) -> bool:
    """Equality of messages under which NaN equals itself."""
    return left == right or repr(left) == repr(right)


# -- seeded ----------------------------------------------------------------------------------


def random_message(
    cls: type[M], version: int, rng: random.Random, *, unknown_tags: bool = True
) -> M:
    """A message that encodes in the version."""
    message: M = _Random(cls, version, rng, unknown_tags).struct(cls, depth=0)
    return message


class _Random:
    def __init__(
        self, message: type[Message], version: int, rng: random.Random, unknown_tags: bool
    ) -> None:
        self.message = message
        self.version = version
        self.rng = rng
        self.has_unknown_tags = unknown_tags

    def struct(self, struct_type: type[Any], depth: int) -> Any:
        value = struct_type()
        for field in struct_type.LAYOUT.fields:
            is_left_out = self.version in field.tagged and self.rng.random() < 0.4
            if self.version in field.versions and not is_left_out:
                setattr(value, field.name, self.field(field, depth))
        is_flexible = self.version in struct_type.LAYOUT.flexible
        if self.has_unknown_tags and is_flexible and self.rng.random() < 0.2:
            value.unknown_tagged_fields = self.unknown_tags(struct_type.LAYOUT)
        return value

    def unknown_tags(self, layout: Layout) -> list[tuple[int, bytes]]:
        numbers = {self.rng.choice((0, 1, 2, 7, 127, 128, 1000, MAX_TAG)) for _ in range(3)}
        numbers -= {field.tag for field in layout.fields}
        return [(number, self.bytes()) for number in sorted(numbers)]

    def field(self, field: Field, depth: int) -> Any:
        if self.version in field.nullable and self.rng.random() < 0.2:
            return None
        if field.is_array:
            count = self.rng.randrange(max(4 - depth, 2))
            return [self.value(field, depth) for _ in range(count)]
        value = self.value(field, depth)
        if field.is_optional_struct and self.version in field.tagged and value == type(value)():
            return None
        return value

    def value(self, field: Field, depth: int) -> Any:
        rng, name = self.rng, field.element_type
        if isinstance(name, StructType):
            return self.struct(name.class_in(self.message), depth + 1)
        makers: dict[str, Callable[[], Any]] = {
            "string": lambda: "".join(rng.choices(_ALPHABET, k=rng.choice(_LENGTHS))),
            "bytes": self.bytes,
            "records": self.bytes,
            "uuid": lambda: uuid.UUID(int=rng.choice((0, 1, rng.getrandbits(128)))),
            "bool": lambda: rng.random() < 0.5,
            "float64": lambda: rng.choice((*_FLOATS, rng.uniform(-1e6, 1e6))),
        }
        return makers[name]() if name in makers else self.integer(name)

    def bytes(self) -> bytes:
        return self.rng.randbytes(self.rng.choice(_LENGTHS))

    def integer(self, type_name: str) -> int:
        low, high = integer_bounds(type_name)
        small = self.rng.randint(max(low, -2), 5)
        return self.rng.choice((low, high, small, self.rng.randint(low, high)))


# -- hypothesis ------------------------------------------------------------------------------


def messages(cls: type[M], version: int) -> st.SearchStrategy[M]:
    """Messages that encode in the version."""
    strategy: st.SearchStrategy[M] = _structs(cls, cls, version)
    return strategy


def _structs(message: type[Message], struct_type: type[Any], version: int) -> Any:
    layout: Layout = struct_type.LAYOUT
    values: dict[str, st.SearchStrategy[Any]] = {
        field.name: _fields(message, field, version)
        for field in layout.fields
        if version in field.versions
    }
    if version in layout.flexible:
        values["unknown_tagged_fields"] = _unknown_tags(layout)
    return st.builds(struct_type, **values)


def _fields(message: type[Message], field: Field, version: int) -> st.SearchStrategy[Any]:
    values = _values(message, field, version)
    if field.is_array:
        values = st.lists(values, max_size=3)
    if field.is_optional_struct:
        values = values.map(lambda value: None if value == type(value)() else value)
    if version in field.nullable:
        values = st.none() | values
    if version in field.tagged and field.default != () and not field.is_optional_struct:
        values = st.just(field.default) | values
    return values


def _values(message: type[Message], field: Field, version: int) -> st.SearchStrategy[Any]:
    name = field.element_type
    if isinstance(name, StructType):
        struct_type: type[Struct] = name.class_in(message)
        return st.deferred(lambda: _structs(message, struct_type, version))
    simple: dict[str, st.SearchStrategy[Any]] = {
        "string": st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
        "bytes": st.binary(max_size=20),
        "records": st.binary(max_size=20),
        "uuid": st.uuids() | st.just(uuid.UUID(int=0)),
        "bool": st.booleans(),
        "float64": st.floats(),
    }
    return simple[name] if name in simple else st.integers(*integer_bounds(name))


def _unknown_tags(layout: Layout) -> st.SearchStrategy[list[tuple[int, bytes]]]:
    known = {field.tag for field in layout.fields}
    numbers = st.integers(0, 20) | st.integers(0, MAX_TAG)
    unknown = numbers.filter(lambda number: number not in known)
    sections = st.dictionaries(unknown, st.binary(max_size=8), max_size=3)
    return sections.map(lambda section: sorted(section.items()))
