"""Rows of messages, and what every list of rows must be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from kraftwire.explain.messages import explain_message
from kraftwire.explain.rows import ByteRow, RowReport, Scope
from kraftwire_messages.kafka import registry
from kraftwire_wire.errors import DecodeError
from kraftwire_wire.layout import Field
from kraftwire_wire.message import Message, Struct


def explained(explain: Callable[[Scope], Any]) -> tuple[list[ByteRow], list[DecodeError]]:
    """The rows that a function makes, and the findings."""
    rows: list[ByteRow] = []
    report = RowReport(rows.append)
    explain(Scope(report))
    return rows, report.findings


def message_rows(
    message: type[Message], version: int, data: bytes
) -> tuple[list[ByteRow], DecodeError | None]:
    """The rows of a bare message, and the error that ended it."""
    rows: list[ByteRow] = []
    error = explain_message(registry, message, version, data, Scope(RowReport(rows.append)))
    return rows, error


def check_cover(rows: list[ByteRow], data: bytes) -> None:
    """Every byte is in exactly one leaf, and the leaves are in order."""
    position = 0
    for row in rows:
        if row.is_leaf and not row.view:
            assert row.start == position, row
            assert row.data == data[row.start : row.end], row
            position = row.end
    assert position == len(data)


def own_rows(rows: list[ByteRow]) -> Iterator[ByteRow]:
    """The rows without those within bytes that were opened."""
    within: int | None = None
    for row in rows:
        if within is not None and row.depth > within:
            continue
        within = row.depth if row.role == "opened" else None
        yield row


def unknown_tags(value: Any) -> Iterator[bytes]:
    """The payloads of unknown tagged fields."""
    for field in value.LAYOUT.fields:
        item = getattr(value, field.name)
        for one in item if isinstance(item, list) else [item]:
            if isinstance(one, Struct):
                yield from unknown_tags(one)
    for _, payload in value.unknown_tagged_fields:
        yield payload


def field_values(
    message: type[Message], value: Struct, version: int, path: str = ""
) -> Iterator[tuple[str, object, bool]]:
    """Path, value, and whether it must have been sent, of all fields."""
    for field in value.LAYOUT.fields:
        if version not in field.versions:
            continue
        inner = f"{path}.{field.name}" if path else field.name
        item = getattr(value, field.name)
        for step, one in _elements(field, item):
            if isinstance(one, Struct):
                for name, leaf, sent in field_values(message, one, version, inner + step):
                    yield name, leaf, sent and version not in field.tagged
            elif one is not None:
                yield inner + step, one, version not in field.tagged


def _elements(field: Field, item: Any) -> list[tuple[str, Any]]:
    if not field.is_array:
        return [("", item)]
    return [(f"[{index}]", one) for index, one in enumerate(item or [])]
