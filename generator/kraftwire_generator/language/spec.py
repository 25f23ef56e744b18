"""A message spec as written in its file: one dataclass per JSON object, one attribute per key.

Absent keys have the language's defaults. `line` is the line of the file on which the object starts,
counted from 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from kraftwire_generator.language.field_types import FieldType, Struct, element_of
from kraftwire_generator.language.versions import VersionRange

MessageType = Literal[
    "request", "response", "header", "metadata", "data", "coordinator-key", "coordinator-value"
]

# Units, by the last word of a field's name.
_UNITS = (("Ms", "milliseconds"), ("Nanos", "nanoseconds"), ("Bytes", "bytes"))
_TYPES_WITH_UNIT = ("int16", "int32", "uint32", "int64")


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """One field of a message or struct.

    If the key `versions` is absent, `versions` equals `tagged_versions`. `default` is the spec's
    text (numbers and booleans as in JSON), or None if the key is absent. `flexible_versions` is
    None unless the field overrides those of its message.
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

    @property
    def struct_name(self) -> str | None:
        """The struct that is the type of the field or of its elements; None for primitives."""
        element = element_of(self.type)
        return element.name if isinstance(element, Struct) else None

    @property
    def is_optional_struct(self) -> bool:
        """Whether the field is a tagged struct that is never null; None means "not sent"."""
        is_tagged_struct = isinstance(self.type, Struct) and bool(self.tagged_versions)
        return is_tagged_struct and not self.nullable_versions

    @property
    def unit(self) -> str:
        """The unit in the name of a number, such as milliseconds for `TimeoutMs`, or ""."""
        if str(self.type) not in _TYPES_WITH_UNIT:
            return ""
        return next((unit for suffix, unit in _UNITS if self.name.endswith(suffix)), "")

    @property
    def bounds(self) -> tuple[VersionRange, ...]:
        """The ranges at whose ends the field's encoding can change."""
        own = () if self.flexible_versions is None else (self.flexible_versions,)
        return (self.versions, self.nullable_versions, self.tagged_versions, *own)

    def is_tagged_in(self, version: int) -> bool:
        """Whether the version has the field in the tag section."""
        return version in self.versions and version in self.tagged_versions

    def is_ordinary_in(self, version: int) -> bool:
        """Whether the version has the field outside the tag section, in the order of the spec."""
        return version in self.versions and version not in self.tagged_versions


@dataclass(frozen=True, slots=True)
class StructSpec:
    """A struct: one of `commonStructs`, or one that a field defines inline."""

    name: str
    versions: VersionRange
    fields: tuple[FieldSpec, ...]
    line: int = 1


@dataclass(frozen=True, slots=True)
class MessageSpec:
    """One spec file.

    `header_versions` holds the pairs of body versions and header version in `headerVersions`
    (KIP-1313), in ascending order; it is None if the key is absent.
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


def field_path(parent: str, name: str) -> str:
    """Return the path of a field below `parent`, which is empty for the message itself."""
    return f"{parent}.{name}" if parent else name


def walk_fields(fields: tuple[FieldSpec, ...], parent: str = "") -> Iterator[tuple[str, FieldSpec]]:
    """Yield every field with its path, parents before children."""
    for field in fields:
        path = field_path(parent, field.name)
        yield path, field
        yield from walk_fields(field.fields, path)
