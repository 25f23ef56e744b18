"""Messages as the containers that parsing their bytes gives."""

from __future__ import annotations

from typing import Any

import construct as c  # type: ignore[import-untyped]

from kraftwire.construct_schema.tags import UNKNOWN_TAGS
from kraftwire_wire.defaults import differs
from kraftwire_wire.errors import UnsupportedVersion
from kraftwire_wire.message import Message, Struct


def as_container(message: Message, version: int) -> Any:
    """What parsing the message's encoding in a version gives."""
    check_version(type(message), version)
    return _container(message, type(message), version)


def check_version(message: type[Message], version: int) -> None:
    """`UnsupportedVersion` where a message does not have a version."""
    if version not in message.VALID_VERSIONS:
        raise UnsupportedVersion(message.__name__, version, message.VALID_VERSIONS)


def _container(value: Struct, message: type[Message], version: int) -> Any:
    result = c.Container()
    layout = value.LAYOUT
    # In the order of the bytes: tags come last, and ascend.
    tag_order = {field.name: field.tag or 0 for field in layout.fields if version in field.tagged}
    for field in sorted(layout.fields, key=lambda field: tag_order.get(field.name, -1)):
        item = getattr(value, field.name)
        if version in field.tagged:
            if not differs(message, field, item):
                continue
        elif version not in field.versions:
            continue
        elif item is None and field.is_optional_struct:
            item = getattr(message, field.type)()
        result[field.name] = _plain(item, message, version)
    if version in layout.flexible:
        result[UNKNOWN_TAGS] = list(value.unknown_tagged_fields)
    return result


def _plain(item: Any, message: type[Message], version: int) -> Any:
    if isinstance(item, Struct):
        return _container(item, message, version)
    if isinstance(item, list):
        return c.ListContainer(_plain(element, message, version) for element in item)
    return item
