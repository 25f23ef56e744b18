"""Formats a message's LAYOUT as rows: the fields of one version, or of all.

`wire_rows` yields one version in wire order: untagged fields in the order of the spec, then, in
a flexible version, the struct's tag section with the tagged fields by ascending tag.
`version_rows` yields the fields of all versions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from typing import Any
from uuid import UUID

from kraftwire_wire.layout import NEVER, Array, Field, Type, VersionField
from kraftwire_wire.message import Message, Struct

_UNITS = (("_ms", "milliseconds"), ("_nanos", "nanoseconds"), ("_bytes", "bytes"))
_WITH_UNITS = frozenset({"int16", "int32", "uint32", "int64"})
_COMPACT_TYPES = frozenset({"string", "bytes", "records"})
_ZEROS = (0, "", b"", False, (), UUID(int=0))


@dataclass(frozen=True, slots=True)
class FieldRow:
    """One field of a message: its place and its type.

    `field` is None for a tag section, whose tagged fields follow one level deeper. `in_version`
    is the field in the version that the rows show; None if they show all versions.
    """

    path: str
    depth: int
    field: Field | None
    type: str
    in_version: VersionField | None = None

    @property
    def unit(self) -> str | None:
        """The unit of a number, according to its name."""
        if self.field is None or self.field.type not in _WITH_UNITS:
            return None
        name = self.field.name
        return next((unit for suffix, unit in _UNITS if name.endswith(suffix)), None)

    @property
    def label(self) -> str:
        """The attribute, and the spec's name if the two differ in more than case."""
        if self.field is None:
            return "tag section"
        name, spec_name = self.field.name, self.field.spec_name
        same = name.replace("_", "") == spec_name.lower()
        return name if same else f"{name} ({spec_name})"


def wire_rows(message: type[Message], version: int) -> Iterator[FieldRow]:
    """Yield the fields of one version, in wire order."""
    return _Walk(message, version).struct(message, "", 0, ())


def version_rows(message: type[Message]) -> Iterator[FieldRow]:
    """Yield the fields of all versions, in the order of the spec."""
    return _Walk(message, None).struct(message, "", 0, ())


class _Walk:
    """Goes through a message's fields, in one version or in all of them."""

    def __init__(self, message: type[Message], version: int | None) -> None:
        self._message = message
        self._version = version

    def struct(
        self, struct: type[Struct], path: str, depth: int, within: tuple[type[Struct], ...]
    ) -> Iterator[FieldRow]:
        """Yield the rows of a struct; show a recursive one only once."""
        if struct in within:
            return
        within = (*within, struct)
        if self._version is None:
            for each in struct.LAYOUT.fields:
                yield from self._field(each, None, path, depth, within)
            return
        layout = struct.LAYOUT.at(self._version)
        for field in layout.ordinary:
            yield from self._field(field.spec, field, path, depth, within)
        if not layout.flexible:
            return
        known = f"{len(layout.tagged)} known" if layout.tagged else "none known"
        yield FieldRow(path, depth, None, known)
        for field in layout.tagged:
            yield from self._field(field.spec, field, path, depth + 1, within)

    def _field(
        self,
        field: Field,
        placed: VersionField | None,
        path: str,
        depth: int,
        within: tuple[type[Struct], ...],
    ) -> Iterator[FieldRow]:
        path = f"{path}.{field.name}" if path else field.name
        kind = _format_type(field.type, compact=placed is not None and placed.compact)
        yield FieldRow(path, depth, field, kind, placed)
        if field.is_struct:
            inner = f"{path}[]" if field.is_array else path
            yield from self.struct(field.struct_class(self._message), inner, depth + 1, within)


def _format_type(kind: Type, *, compact: bool) -> str:
    """Return the type in its wire form; with `compact`, lengths are unsigned varints."""
    if isinstance(kind, Array):
        shown = f"array of {_format_type(kind.element, compact=compact)}"
    elif kind in _COMPACT_TYPES:
        shown = str(kind)
    else:
        return str(kind)
    return f"compact {shown}" if compact else shown


def format_default(field: Field) -> str | None:
    """Return the default; None if it is the zero of the type."""
    default = field.default
    if default is None:
        return "not sent" if field.is_optional_struct else "null"
    if any(default == zero and type(default) is type(zero) for zero in _ZEROS):
        return None
    if isinstance(default, bool):
        return "true" if default else "false"
    return f'"{default}"' if isinstance(default, str) else str(default)


def json_default(field: Field) -> Any:
    """Return the default as JSON; a struct of defaults is an empty object."""
    default = field.default
    if default == ():
        return [] if field.is_array else {}
    if default is None or isinstance(default, bool | int | str):
        return default
    if isinstance(default, float) and isfinite(default):
        return default
    return default.hex() if isinstance(default, bytes) else str(default)


def spec_versions(versions: range, within: range) -> str:
    """Return versions as specs write them: `2+` if they include the last of `within`."""
    if versions == NEVER or not versions:
        return ""
    if versions[-1] < within[-1]:
        return f"{versions[0]}-{versions[-1]}" if len(versions) > 1 else f"{versions[0]}"
    return f"{versions[0]}+"
