"""Whatever the attributes hold, an encoder returns bytes or raises `EncodeError`.

Every field of every message and struct is set to values of every wrong kind, in every
version; an error names the field.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from kraftwire_messages.kafka import registry
from kraftwire_wire.errors import EncodeError
from kraftwire_wire.layout import Field
from kraftwire_wire.message import Message, Struct

WRONG: tuple[object, ...] = (
    *(None, True, -1, 2**15, 2**31, 2**63, 10**30, 1.5, float("nan"), 1j),
    *("", "text", "\ud800", "x" * 32768, b"", b"\x00", bytearray(b"x"), memoryview(b"x")),
    *((), [], [None], [[]], ["x"], [1], [2**63], [1.5], [b""], {}, {1}, object(), Struct()),
    *(uuid.UUID(int=1), [uuid.UUID(int=1)], range(3), int, Ellipsis),
)


@pytest.mark.parametrize("name", list(registry))
def test_wrong_values_are_encode_errors(name: str) -> None:
    cls = registry.message(name)
    for version in cls.VALID_VERSIONS:
        for struct, field, message in _slots(cls, version):
            original = getattr(struct, field.name)
            for value in WRONG:
                setattr(struct, field.name, value)
                _encode(message, version, field)
            setattr(struct, field.name, original)


def _encode(message: Message, version: int, field: Field) -> None:
    try:
        message.encode(version)
    except EncodeError as error:
        assert field.name in error.path, (version, error)


def _slots(cls: type[Message], version: int) -> Iterator[tuple[Any, Field, Message]]:
    """Every field of a message in which each struct occurs once."""
    message = cls()
    yield from _walk(cls, message, message, version)


def _walk(
    cls: type[Message], struct: Any, message: Message, version: int
) -> Iterator[tuple[Any, Field, Message]]:
    for field in struct.LAYOUT.fields:
        yield struct, field, message
        if field.is_struct and version in field.versions:
            inner = field.struct_class(cls)()
            setattr(struct, field.name, [inner] if field.is_array else inner)
            yield from _walk(cls, inner, message, version)


@pytest.mark.parametrize(
    "tags",
    [None, [1], [(1,)], [("1", b"")], [(1, "x")], [(-1, b"")], [(2**31, b"")], [(3, b""), (3, b"")],
     [(4, b""), (3, b"")], 5, "x", {}, [(1, b"", 2)], [(1.5, b"")]],
)  # fmt: skip
def test_wrong_unknown_tags_are_encode_errors(tags: Any) -> None:
    message = registry.message("VoteRequest")()
    message.unknown_tagged_fields = tags  # type: ignore[attr-defined]
    if tags in (None, {}):  # nothing to write
        assert message.encode(0) == registry.message("VoteRequest")().encode(0)
        return
    with pytest.raises(EncodeError, match="unknown_tagged_fields"):
        message.encode(0)
