"""A message spec as its file says it, one dataclass per JSON object and one field per key.

Nothing is derived here: absent keys hold the language's defaults, and `line` is where the
object starts in the file, counted from 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from kraftwire_generator.language.field_types import FieldType
from kraftwire_generator.language.versions import VersionRange

MessageType = Literal[
    "request", "response", "header", "metadata", "data", "coordinator-key", "coordinator-value"
]


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """One field of a message or struct.

    `versions` already has the language's fallback to `tagged_versions`. `default` is the
    spec's text (numbers and booleans as JSON writes them), None when the key is absent.
    `flexible_versions` is None unless the field overrides its message's.
    """

    name: str
    type: FieldType
    versions: VersionRange
    nullable_versions: VersionRange = VersionRange.NONE
    tagged_versions: VersionRange = VersionRange.NONE
    flexible_versions: VersionRange | None = None
    tag: int | None = None
    default: str | None = None
    ignorable: bool = False
    map_key: bool = False
    entity_type: str | None = None
    zero_copy: bool = False
    about: str = ""
    fields: tuple[FieldSpec, ...] = ()
    line: int = 1


@dataclass(frozen=True, slots=True)
class StructSpec:
    """A struct: one of `commonStructs`, or one defined inline by a field."""

    name: str
    versions: VersionRange
    fields: tuple[FieldSpec, ...]
    line: int = 1


@dataclass(frozen=True, slots=True)
class MessageSpec:
    """One spec file.

    `header_versions` is the newer dialect's `headerVersions`: pairs of body versions and
    header version, in ascending order; None when the key is absent.
    """

    name: str
    type: MessageType
    valid_versions: VersionRange
    flexible_versions: VersionRange
    fields: tuple[FieldSpec, ...] = ()
    api_key: int | None = None
    deprecated_versions: VersionRange = VersionRange.NONE
    common_structs: tuple[StructSpec, ...] = ()
    listeners: tuple[str, ...] = ()
    latest_version_unstable: bool = False
    header_versions: tuple[tuple[VersionRange, int], ...] | None = None
    file: str = ""
    line: int = 1


def walk_fields(
    fields: tuple[FieldSpec, ...], path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], FieldSpec]]:
    """Every field with its path of spec names, parents before children."""
    for field in fields:
        here = (*path, field.name)
        yield here, field
        yield from walk_fields(field.fields, here)
