"""A decoded message as the rows of a table: one row for each field, nested ones indented.

The rows are made from the JSON form, so that a table shows what the JSON has, and from
LAYOUT, which says what each value is.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

from kraftwire.cli.messages.envelope import Envelope
from kraftwire.cli.messages.named_numbers import with_name
from kraftwire_wire.errors import count_of
from kraftwire_wire.json_form import UNKNOWN_TAGS
from kraftwire_wire.layout import Field
from kraftwire_wire.message import Message, Struct

Row = tuple[str, str]

COLUMNS = ("field", "value")

_INDENT = "  "
_MAX_SHOWN_BYTES = 64


def title(envelope: Envelope) -> str:
    """The line above the table."""
    text = f"{envelope.name} version {envelope.version}"
    layout = envelope.message.LAYOUT
    if envelope.record:
        place = envelope.record
        return f"{text}, the {place.part} of {place.log} record {place.id}"
    if layout.type in ("request", "response"):
        return f"{text}, API key {layout.api_key}"
    return text


def envelope_rows(envelope: Envelope) -> Iterator[Row]:
    """The rows of the header, where there is one, and of the message."""
    message, version = envelope.message, envelope.version
    if envelope.header is None:
        yield from _message_rows(message, version, 0)
        return
    yield "header", f"{type(envelope.header).__name__} version {envelope.header_version}"
    yield from _message_rows(envelope.header, envelope.header_version, 1)
    yield "message", ""
    yield from _message_rows(message, version, 1)


def _message_rows(message: Message, version: int, depth: int) -> Iterator[Row]:
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
    struct: type[Struct] = getattr(message, field.element_type)
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
    """Bytes as hex; long ones are cut off, the JSON has them whole."""
    raw = base64.b64decode(value)
    more = "..." if len(raw) > _MAX_SHOWN_BYTES else ""
    count = count_of(len(raw), "byte")
    return f"{count}: {raw[:_MAX_SHOWN_BYTES].hex(' ', -4)}{more}" if raw else count
