"""Formats a decoded message as rows of a table: one for each field, nested ones indented.

The rows show the values of the JSON form; LAYOUT has their types.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

from kraftwire.cli.messages.decoded_message import DecodedMessage
from kraftwire.cli.messages.named_numbers import with_name
from kraftwire_wire.errors import count_of
from kraftwire_wire.json_form import UNKNOWN_TAGS
from kraftwire_wire.layout import Field
from kraftwire_wire.message import Message, Struct

Row = tuple[str, str]

COLUMNS = ("field", "value")

_INDENT = "  "
_MAX_SHOWN_BYTES = 64


def title(decoded: DecodedMessage) -> str:
    """Return the line above the table."""
    text = f"{decoded.name} version {decoded.version}"
    layout = decoded.message.LAYOUT
    if decoded.record:
        record = decoded.record
        return f"{text}, the {record.part} of {record.log} record {record.id}"
    if layout.type in ("request", "response"):
        return f"{text}, API key {layout.api_key}"
    return text


def message_rows(decoded: DecodedMessage) -> Iterator[Row]:
    """Yield the rows of the header, if there is one, and of the message."""
    message, version = decoded.message, decoded.version
    if decoded.header is None:
        yield from _rows(message, version, 0)
        return
    yield "header", f"{type(decoded.header).__name__} version {decoded.header_version}"
    yield from _rows(decoded.header, decoded.header_version, 1)
    yield "message", ""
    yield from _rows(message, version, 1)


def _rows(message: Message, version: int, depth: int) -> Iterator[Row]:
    return _struct_rows(type(message), type(message), message.to_json(version), depth)


def _struct_rows(
    message: type[Message], struct: type[Struct], obj: dict[str, Any], depth: int
) -> Iterator[Row]:
    fields = {field.json_name: field for field in struct.LAYOUT.fields}
    for key, value in obj.items():
        if key == UNKNOWN_TAGS:
            for item in value:
                yield _INDENT * depth + f"unknown tag {item['tag']}", _bytes(item["data"])
        else:
            yield from _field_rows(message, fields[key], value, depth)


def _field_rows(message: type[Message], field: Field, value: Any, depth: int) -> Iterator[Row]:
    name = _INDENT * depth + field.name
    if not field.is_struct or value is None:
        yield name, _text(field, value)
        return
    struct: type[Struct] = field.struct_class(message)
    if not field.is_array:
        yield name, ""
        yield from _struct_rows(message, struct, value, depth + 1)
        return
    yield name, f"{len(value)} {field.element_type}" if value else "empty"
    for index, item in enumerate(value):
        yield _INDENT * (depth + 1) + f"[{index}]", ""
        yield from _struct_rows(message, struct, item, depth + 2)


def _text(field: Field, value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, list):
        return ", ".join(_text(field, item) for item in value) if value else "empty"
    match field.element_type:
        case "bool":
            return "true" if value else "false"
        case "string":
            return json.dumps(value, ensure_ascii=False)
        case "records":
            return count_of(len(base64.b64decode(value)), "byte")
        case "bytes":
            return _bytes(value)
        case "uuid" | "float64":
            return str(value)
    return with_name(field.name, value)


def _bytes(value: str) -> str:
    """Return bytes as hex; cut long ones, which the JSON has in full."""
    raw = base64.b64decode(value)
    more = "..." if len(raw) > _MAX_SHOWN_BYTES else ""
    count = count_of(len(raw), "byte")
    return f"{count}: {raw[:_MAX_SHOWN_BYTES].hex(' ', -4)}{more}" if raw else count
