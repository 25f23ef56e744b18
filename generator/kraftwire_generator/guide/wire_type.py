"""Describes the type and the size of one field in one version.

Type names are those of Kafka's protocol guide, such as `COMPACT_NULLABLE_STRING`: COMPACT if the
length is an unsigned varint, NULLABLE if the value can be null. Every function handles all field
types.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from kraftwire_generator.language.defaults import default_text, default_value
from kraftwire_generator.language.field_types import Array, Primitive, Struct
from kraftwire_generator.language.spec import FieldSpec

FIXED_BYTES = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "int64": 8,
    "float64": 8,
    "uuid": 16,
}
"""The types of fixed size, in bytes."""

_CLASSIC_LENGTH = {"string": "int16", "bytes": "int32", "records": "int32"}


@dataclass(frozen=True, slots=True)
class WireType:
    """A field's type in one version.

    `struct` is the name of its struct or its elements' struct, or "" for primitives; `label` is the
    rest of the type. `size` describes the bytes in words. `bytes_fixed` is the number of bytes, or
    0 if it depends on the value.
    """

    label: str
    struct: str
    size: str
    bytes_fixed: int
    nullable: bool
    compact: bool

    @property
    def text(self) -> str:
        """The whole type."""
        return f"{self.label} {self.struct}".strip()


def wire_type(spec: FieldSpec, version: int, *, flexible: bool, tagged: bool) -> WireType:
    """Return the type of a field in a version."""
    nullable = version in spec.nullable_versions
    own = spec.flexible_versions
    compact = flexible and (own is None or version in own)
    match spec.type:
        case Primitive(name) if name in FIXED_BYTES:
            size = FIXED_BYTES[name]
            return WireType(name.upper(), "", _bytes_text(size), size, nullable, compact=False)
        case Primitive(name):
            length = _length(_CLASSIC_LENGTH[name], compact=compact, nullable=nullable)
            label = _prefixed(name.upper(), compact=compact, nullable=nullable)
            return WireType(label, "", f"{length}, n bytes", 0, nullable, compact)
        case Array(element):
            struct, of, each = _element(element, flexible=flexible)
            length = _length("int32", compact=flexible, nullable=nullable)
            label = f'{_prefixed("ARRAY", compact=flexible, nullable=nullable)} of {of}'.rstrip()
            size_text = f"{length}, n times {each}"
            return WireType(label, struct, size_text, 0, nullable, flexible)
        case Struct(name):
            size_text = _struct_size(nullable=nullable, tagged=tagged)
            label = "nullable" if nullable else ""
            return WireType(label, name, size_text, 0, nullable, compact=False)


def _element(element: Primitive | Struct, *, flexible: bool) -> tuple[str, str, str]:
    """Return the struct of an array's elements or "", their type name or "", and their size."""
    match element:
        case Struct(name):
            return name, "", name
        case Primitive(name) if name in FIXED_BYTES:
            return "", name.upper(), _bytes_text(FIXED_BYTES[name])
        case Primitive(name):
            label = _prefixed(name.upper(), compact=flexible, nullable=False)
            return "", label, label


def _prefixed(name: str, *, compact: bool, nullable: bool) -> str:
    return f"{'COMPACT_' if compact else ''}{'NULLABLE_' if nullable else ''}{name}"


def _length(classic: str, *, compact: bool, nullable: bool) -> str:
    if compact:
        return "uvarint n + 1 (0: null)" if nullable else "uvarint n + 1"
    return f"{classic} n (-1: null)" if nullable else f"{classic} n"


def _struct_size(*, nullable: bool, tagged: bool) -> str:
    if not nullable:
        return "its fields"
    return "uvarint 1 (0: null), its fields" if tagged else "int8 1 (-1: null), its fields"


def _bytes_text(count: int) -> str:
    return "1 byte" if count == 1 else f"{count} bytes"


def field_default(spec: FieldSpec) -> str:
    """Return the default in readable form; "" for a struct, whose fields have the defaults."""
    if spec.is_optional_struct:
        return "not sent"
    default = default_value(spec)
    if default == ():
        return "[]" if isinstance(spec.type, Array) else ""
    return "zero" if default == UUID(int=0) else default_text(default)
