"""Copies values into their exact types before they are written.

A subclass may lie about its length and content, and a mutable value may change while it is
written. So these functions copy what the base class holds. They call no method of the subclass,
and not `isinstance`, which trusts a `__class__` property.
"""

from __future__ import annotations

from typing import Any

from kraftwire_wire.errors import EncodeError
from kraftwire_wire.forms import MAX_LENGTH
from kraftwire_wire.primitives import describe

_UNKNOWN = "unknown_tagged_fields"


def exact_bytes(field: str, value: Any) -> bytes:
    """Copy bytes of any kind without calling the methods of a subclass."""
    if issubclass(type(value), bytes):
        return bytes.__getitem__(value, slice(None))
    if issubclass(type(value), bytearray):
        return bytes(bytearray.__getitem__(value, slice(None)))
    if type(value) is memoryview:
        try:
            return value.tobytes()
        except ValueError:
            raise EncodeError("the memoryview was released", field) from None
    raise EncodeError(f"expected bytes, got {describe(value)}", field)


def exact_list(field: str, items: Any) -> list[Any]:
    """Copy a list or tuple without calling the methods of a subclass."""
    if issubclass(type(items), list):
        return list.copy(items)
    if issubclass(type(items), tuple):
        return list(tuple.__getitem__(items, slice(None)))
    raise EncodeError(f"expected a list, got {describe(items)}", field)


def exact_tags(unknown: object, known: set[int | None]) -> list[tuple[int, bytes]]:
    """Return the unknown tags as pairs of exact types; raise if they are not a valid section.

    Tags that the struct knows are refused since they may not decode again: the bytes may not fit
    the field, and versions without the field refuse its tag.
    """
    section: list[tuple[int, bytes]] = []
    for index, entry in enumerate(exact_list(_UNKNOWN, unknown)):
        where = f"{_UNKNOWN}[{index}]"
        if not (issubclass(type(entry), tuple) and tuple.__len__(entry) == 2):
            raise EncodeError(f"expected a pair of tag and bytes, got {describe(entry)}", where)
        tag, raw = tuple.__getitem__(entry, slice(None))
        if not (issubclass(type(tag), int) and issubclass(type(raw), bytes)):
            raise EncodeError("expected a pair of an int and bytes", where)
        tag, raw = int.__index__(tag), exact_bytes(where, raw)
        previous = section[-1][0] if section else -1
        if not 0 <= tag < MAX_LENGTH:
            raise EncodeError(f"tag {describe(tag)} is outside 0 to {MAX_LENGTH - 1}", where)
        if tag <= previous:
            raise EncodeError(f"tag {tag} after tag {previous}; tags must ascend", where)
        if tag in known:
            raise EncodeError(f"tag {tag} is a field of this struct and is set there", where)
        section.append((tag, raw))
    return section
