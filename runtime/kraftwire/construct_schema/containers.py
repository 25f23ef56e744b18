"""Converts messages to the containers that parsing their bytes returns."""

from __future__ import annotations

from typing import Any

import construct as c  # type: ignore[import-untyped]

from kraftwire.construct_schema.tags import UNKNOWN_TAGS
from kraftwire_wire.defaults import differs
from kraftwire_wire.message import Message, Struct


def as_container(message: Message, version: int) -> Any:
    """Return the container that parsing the encoded message returns."""
    message.codec(version)  # raises UnsupportedVersion
    return _container(message, type(message), version)


def _container(value: Struct, message: type[Message], version: int) -> Any:
    result = c.Container()
    layout = value.LAYOUT.at(version)
    for field in layout.ordinary:
        item = getattr(value, field.name)
        if item is None and field.spec.is_optional_struct:
            item = field.spec.struct_class(message)()
        result[field.name] = _plain(item, message, version)
    for field in layout.tagged:
        item = getattr(value, field.name)
        if differs(message, field.spec, item):
            result[field.name] = _plain(item, message, version)
    if layout.flexible:
        result[UNKNOWN_TAGS] = list(value.unknown_tagged_fields)
    return result


def _plain(item: Any, message: type[Message], version: int) -> Any:
    if isinstance(item, Struct):
        return _container(item, message, version)
    if isinstance(item, list):
        return c.ListContainer(_plain(element, message, version) for element in item)
    return item
