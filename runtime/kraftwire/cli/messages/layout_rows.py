"""A message's LAYOUT as rows for people: what each version has on the wire.

`wire_rows` yields one version in wire order: untagged fields in the order of the spec, then, in
a flexible version, the struct's tag section with the tagged fields by ascending tag.
`version_rows` yields all versions: in which each field is present, nullable and tagged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from typing import Any
from uuid import UUID

from kraftwire_wire.layout import NEVER, Field
from kraftwire_wire.message import Message, Struct

_UNITS = (("_ms", "milliseconds"), ("_nanos", "nanoseconds"), ("_bytes", "bytes"))
_WITH_UNITS = frozenset({"int16", "int32", "uint32", "int64"})
_COMPACT_TYPES = frozenset({"string", "bytes", "records"})
_ZEROS = (0, "", b"", False, (), UUID(int=0))


@dataclass(frozen=True, slots=True)
class FieldRow:
    """One field of a message: where it stands, and what it is.

    `field` is None for a tag section, whose tagged fields follow one level deeper.
    """

    path: str
    depth: int
    field: Field | None
    type: str

    @property
    def unit(self) -> str | None:
        """The unit that the name says a number is in."""
        if self.field is None or self.field.type not in _WITH_UNITS:
            return None
        name = self.field.name
        return next((unit for suffix, unit in _UNITS if name.endswith(suffix)), None)

    @property
    def label(self) -> str:
        """The attribute, and the spec's name where the two differ in more than case."""
        if self.field is None:
            return "tag section"
        name, spec_name = self.field.name, self.field.spec_name
        same = name.replace("_", "") == spec_name.lower()
        return name if same else f"{name} ({spec_name})"


def wire_rows(message: type[Message], version: int) -> Iterator[FieldRow]:
    """The fields of one version, in wire order."""
    return _Walk(message, version).struct(message, "", 0, ())


def version_rows(message: type[Message]) -> Iterator[FieldRow]:
    """The fields of all versions, in the order of the spec."""
    return _Walk(message, None).struct(message, "", 0, ())


class _Walk:
    """Goes through a message's fields, in one version or in all of them."""

    def __init__(self, message: type[Message], version: int | None) -> None:
        self._message = message
        self._version = version

    def struct(
        self, struct: type[Struct], path: str, depth: int, within: tuple[type[Struct], ...]
    ) -> Iterator[FieldRow]:
        """The rows of a struct; one that holds itself is shown once."""
        if struct in within:
            return
        fields = struct.LAYOUT.fields
        within = (*within, struct)
        for field in fields:
            if not self._is_tagged(field) and self._is_there(field):
                yield from self._field(field, path, depth, within)
        if self._version is None or self._version not in self._message.FLEXIBLE_VERSIONS:
            return
        tagged = sorted(filter(self._is_tagged, fields), key=lambda field: field.tag or 0)
        known = f"{len(tagged)} known" if tagged else "none known"
        yield FieldRow(path, depth, None, known)
        for field in tagged:
            yield from self._field(field, path, depth + 1, within)

    def _field(
        self, field: Field, path: str, depth: int, within: tuple[type[Struct], ...]
    ) -> Iterator[FieldRow]:
        path = f"{path}.{field.name}" if path else field.name
        yield FieldRow(path, depth, field, self._type(field))
        if field.is_struct:
            struct: type[Struct] = getattr(self._message, field.element_type)
            inner = f"{path}[]" if field.is_array else path
            yield from self.struct(struct, inner, depth + 1, within)

    def _is_there(self, field: Field) -> bool:
        return self._version is None or self._version in field.versions

    def _is_tagged(self, field: Field) -> bool:
        return self._version is not None and self._version in field.tagged

    def _type(self, field: Field) -> str:
        """The type in its wire form; `compact` where lengths are unsigned varints."""
        compact = self._version is not None and self._version in self._message.FLEXIBLE_VERSIONS
        element = field.element_type
        element_compact = compact and (field.flexible is None or self._version in field.flexible)
        if element_compact and element in _COMPACT_TYPES:
            element = f"compact {element}"
        if not field.is_array:
            return element
        return f"compact array of {element}" if compact else f"array of {element}"


def shown_default(field: Field) -> str | None:
    """The default, where it is not the zero of the type."""
    default = field.default
    if default is None:
        return "not sent" if field.is_optional_struct else "null"
    if any(default == zero and type(default) is type(zero) for zero in _ZEROS):
        return None
    if isinstance(default, bool):
        return "true" if default else "false"
    return f'"{default}"' if isinstance(default, str) else str(default)


def json_default(field: Field) -> Any:
    """The default as JSON; a struct of defaults is an empty object."""
    default = field.default
    if default == ():
        return [] if field.is_array else {}
    if default is None or isinstance(default, bool | int | str):
        return default
    if isinstance(default, float) and isfinite(default):
        return default
    return default.hex() if isinstance(default, bytes) else str(default)


def shown_versions(versions: range, within: range) -> str:
    """Versions as specs write them, open at the end where they last."""
    if versions == NEVER or not versions:
        return ""
    if versions[-1] < within[-1]:
        return f"{versions[0]}-{versions[-1]}" if len(versions) > 1 else f"{versions[0]}"
    return f"{versions[0]}+"
