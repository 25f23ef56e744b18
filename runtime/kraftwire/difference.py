"""Compares two messages field by field, and finds the first byte that differs.

`as_tree` turns a message into dicts, lists and plain values; `differences` compares two trees
leaf by leaf. Rules:

- paths are those of errors: `topics[2].partitions[0].error_code`;
- record batches are decoded, so that a difference names the record's key, value or header; the
  CRC and the lengths of a batch are left out, since they follow from the rest;
- an ignored path is `Message.field.field` without indexes, and includes the fields below it;
  `*` matches any text in either half (`*.throttle_time_ms`).

`path_at` finds the field of a byte by decoding only the bytes before it: the error names the field
that lacks bytes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from kraftwire_wire.errors import DecodeError, KraftwireError
from kraftwire_wire.message import Message, Struct

_INDEX = re.compile(r"\[\d+\]")
_MAX_SHOWN = 60
_DERIVED = frozenset({"position", "length", "crc"})


class _Absent:
    """The type of `ABSENT`, the value of a path that one side lacks."""

    def __repr__(self) -> str:
        return "(absent)"


ABSENT = _Absent()


class Difference(NamedTuple):
    """A path, and the two values that differ there."""

    path: str
    actual: object
    expected: object

    def __str__(self) -> str:
        return f"{self.path or '(all)'}: {_short(self.actual)}, expected {_short(self.expected)}"


def as_tree(value: object, version: int | None = None) -> Any:
    """Return a message, struct or dict as dicts and lists, without fields that `version` lacks."""
    if isinstance(value, Struct):
        tree = {}
        for field in value.LAYOUT.fields:
            if version is None or version in field.versions:
                inner = getattr(value, field.name)
                is_records = field.type == "records" and inner
                tree[field.name] = _open_records(inner) if is_records else as_tree(inner, version)
        if value.unknown_tagged_fields:
            tree["unknown_tagged_fields"] = [list(pair) for pair in value.unknown_tagged_fields]
        return tree
    if isinstance(value, dict):
        return {key: as_tree(inner, version) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [as_tree(item, version) for item in value]
    return value


def differences(
    actual: object, expected: object, *, name: str = "", ignore: Collection[str] = ()
) -> list[Difference]:
    """Return the differences of two trees, in the order of fields; `name` is the message's."""
    patterns = [split_pattern(text) for text in ignore]
    return [
        one
        for one in _compare(actual, expected, "")
        if not any(is_ignored(name, one.path, pattern) for pattern in patterns)
    ]


def split_pattern(text: str) -> tuple[str, str]:
    """Split `Message.path`; raise `ValueError` if it is something else."""
    name, _, path = text.partition(".")
    if not name or not path:
        raise ValueError(f"{text!r} is not Message.path, such as FetchRequest.max_wait_ms")
    return name, _INDEX.sub("", path)


def is_ignored(name: str, path: str, pattern: tuple[str, str]) -> bool:
    """Whether a pattern matches a path of a message, which may have indexes."""
    name_pattern, path_pattern = pattern
    bare = _INDEX.sub("", path)
    return fnmatchcase(name, name_pattern) and (
        fnmatchcase(bare, path_pattern) or fnmatchcase(bare, path_pattern + ".*")
    )


def first_difference(actual: bytes, expected: bytes) -> int | None:
    """Return the first offset at which bytes differ or one side ends; None if they are equal."""
    if actual == expected:
        return None
    pairs = enumerate(zip(actual, expected, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(actual), len(expected)))


def path_at(message: type[Message], version: int, data: bytes, offset: int) -> str:
    """Return the path of the field that has the byte; empty after the last field.

    The first byte of a list's element counts as the list's.
    """
    try:
        message.decode(data[:offset], version)
    except DecodeError as error:
        return error.path
    except KraftwireError:
        pass
    return ""


def format_differences(found: Sequence[Difference], *, limit: int = 50) -> str:
    """Return differences as the lines of a table: path, actual, expected."""
    lines = [
        (each.path or "(all)", _short(each.actual), _short(each.expected)) for each in found[:limit]
    ]
    rows = [("path", "actual", "expected"), *lines]
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    text = [f"  {a:<{widths[0]}}  {b:<{widths[1]}}  {c}" for a, b, c in rows]
    if len(found) > limit:
        text.append(f"  and {len(found) - limit} more")
    return "\n".join(text)


def _compare(actual: Any, expected: Any, path: str) -> Iterator[Difference]:
    if isinstance(actual, dict) and isinstance(expected, dict):
        for key in dict.fromkeys([*expected, *actual]):
            step = f"{path}.{key}" if path else str(key)
            yield from _compare(actual.get(key, ABSENT), expected.get(key, ABSENT), step)
    elif isinstance(actual, list) and isinstance(expected, list):
        for index in range(max(len(actual), len(expected))):
            one = actual[index] if index < len(actual) else ABSENT
            other = expected[index] if index < len(expected) else ABSENT
            yield from _compare(one, other, f"{path}[{index}]")
    elif not _are_same(actual, expected):
        yield Difference(path, actual, expected)


def _are_same(actual: object, expected: object) -> bool:
    if isinstance(actual, bool) is not isinstance(expected, bool):
        return False
    return actual == expected or (actual != actual and expected != expected)


def _open_records(data: bytes) -> Any:
    """Return record batches as trees, or the bytes if they are not batches or are too large."""
    from kraftwire.log.batches.batch import decode_batch
    from kraftwire.log.batches.large_records import RecordBudget
    from kraftwire.log.errors import CorruptBatch

    batches = []
    budget = RecordBudget()
    position = 0
    try:
        while position < len(data):
            batch = decode_batch(data, position)
            tree = {k: v for k, v in batch.header._asdict().items() if k not in _DERIVED}
            tree["records"] = [
                {**record._asdict(), "headers": [list(pair) for pair in record.headers]}
                for record in budget.hold(batch)
            ]
            batches.append(tree)
            position = batch.header.end
    except CorruptBatch:
        return data
    return batches


def _short(value: object) -> str:
    text = ascii(value) if isinstance(value, str) else repr(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 3]}..."
