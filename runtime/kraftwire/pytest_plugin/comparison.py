"""Compares messages for `assert_same_message`, and words its error."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from kraftwire.difference import as_tree, differences, first_difference, format_differences, path_at
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.message import Message

_CONTEXT = 8


def explain_difference(
    actual: Any,
    expected: Any,
    message: type[Message] | None,
    version: int | None,
    ignore: Collection[str],
) -> str | None:
    """Return how two messages differ; None if only ignored fields do."""
    kind = message or next(
        (type(one) for one in (actual, expected) if isinstance(one, Message)), None
    )
    kinds = [type(one).__name__ for one in (actual, expected) if isinstance(one, Message)]
    if len(set(kinds)) > 1:
        return f"{kinds[0]}, expected {kinds[1]}"
    trees = [
        _tree(one, kind, version, side)
        for one, side in ((actual, "actual"), (expected, "expected"))
    ]
    name = "message" if kind is None else kind.__name__
    found = differences(*trees, name=name, ignore=ignore)
    both_bytes = isinstance(actual, bytes | bytearray) and isinstance(expected, bytes | bytearray)
    where = None
    if both_bytes and kind is not None and version is not None:
        where = _first_byte(bytes(actual), bytes(expected), kind, version)
    if not found and (where is None or ignore):
        return None
    label = name if version is None else f"{name} version {version}"
    lines = [f"{label} differs from the expected one:"]
    if found:
        lines.append(format_differences(found))
    else:
        lines.append("  all fields are equal, but their encodings differ")
    if where is not None:
        lines.append(where)
    return "\n".join(lines)


def _tree(value: Any, kind: type[Message] | None, version: int | None, side: str) -> Any:
    if isinstance(value, bytes | bytearray):
        if kind is None or version is None:
            raise TypeError("to compare bytes by fields, pass message= and version=")
        try:
            value = kind.decode(bytes(value), version)
        except KraftwireError as error:
            raise AssertionError(
                f"{side} is not {kind.__name__} version {version}: {error}"
            ) from None
    return as_tree(value, version)


def _first_byte(actual: bytes, expected: bytes, kind: type[Message], version: int) -> str | None:
    at = first_difference(actual, expected)
    if at is None:
        return None
    longer = expected if at >= len(actual) else actual
    path = path_at(kind, version, longer, at)
    field = f" in {path}" if path else ""
    return (
        f"first differing byte: {at}{field}\n"
        f"  actual    {_hex(actual, at)}\n"
        f"  expected  {_hex(expected, at)}"
    )


def _hex(data: bytes, at: int) -> str:
    """Return the bytes around an offset, with that byte in brackets."""
    start = max(0, at - _CONTEXT)
    before = data[start:at].hex(" ")
    here = f"[{data[at]:02x}]" if at < len(data) else "[end]"
    return " ".join(word for word in (before, here, data[at + 1 : at + _CONTEXT].hex(" ")) if word)
