"""Messages to columns in plain Python: the twin of the native engine, and what it falls back on."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pyarrow as pa

from kraftwire_wire.message import Message, Struct


def message_array(messages: list[Message | None], kind: pa.StructType) -> pa.StructArray:
    """Messages of one class as a struct array; None becomes null."""
    return pa.array([_plain(message) for message in messages], kind)


def _plain(value: Any) -> Any:
    """What pyarrow takes."""
    if isinstance(value, Struct):
        fields = value.LAYOUT.fields
        return {field.name: _plain(getattr(value, field.name)) for field in fields}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value.bytes if isinstance(value, UUID) else value
