"""The fields of a message at a version, by their dotted names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kraftwire_wire.layout import Layout
from kraftwire_wire.message import Message


def fields(kind: type[Message], version: int) -> set[str]:
    """All fields at a version, as `topics.partitions.leader_id`."""
    return set(_fields(kind, kind.LAYOUT, version))


def tagged(kind: type[Message], version: int) -> set[str]:
    """The fields of a version that are only sent where there is something to tell."""
    return set(_fields(kind, kind.LAYOUT, version, only_tagged=True))


def _fields(kind: Any, layout: Layout, version: int, *, only_tagged: bool = False) -> Iterator[str]:
    for field in layout.fields:
        if version not in field.versions:
            continue
        if version in field.tagged or not only_tagged:
            yield field.name
        if field.is_struct:
            struct = field.struct_class(kind).LAYOUT
            for name in _fields(kind, struct, version, only_tagged=only_tagged):
                yield f"{field.name}.{name}"
