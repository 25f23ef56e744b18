"""How one field is written in one version: the name of its type, its size, and its default.

Names of types are those of Kafka's protocol guide (`COMPACT_NULLABLE_STRING`), with one rule
for all: COMPACT where the length is an unsigned varint, NULLABLE where null can be written.
Every function is total over the field types.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from kraftwire_generator.language.field_types import Array, Primitive, Struct
from kraftwire_generator.language.spec import FieldSpec
from kraftwire_generator.plan.field_code import FieldCode

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
    """A field on the wire of one version.

    `struct` is the name of its struct or its elements' struct, empty for primitives; `label`
    is what comes before it. `size` says in words what its bytes are, `bytes_fixed` how many
    there are, 0 where that depends on the value.
    """

    label: str
    struct: str
    size: str
    bytes_fixed: int
    nullable: bool
    compact: bool

    @property
    def text(self) -> str:
        """The type in full."""
        return f"{self.label} {self.struct}".strip()


def wire_type(spec: FieldSpec, version: int, *, flexible: bool, tagged: bool) -> WireType:
    """The form of a field that a version has; `flexible` is what the version is."""
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
    """The struct of an array's elements, or the name of their type; and the size of each."""
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
    """How the length n is written."""
    if compact:
        return "uvarint n + 1 (0: null)" if nullable else "uvarint n + 1"
    return f"{classic} n (-1: null)" if nullable else f"{classic} n"


def _struct_size(*, nullable: bool, tagged: bool) -> str:
    if not nullable:
        return "its fields"
    return "uvarint 1 (0: null), its fields" if tagged else "int8 1 (-1: null), its fields"


def _bytes_text(count: int) -> str:
    return "1 byte" if count == 1 else f"{count} bytes"


def default_text(spec: FieldSpec) -> str:
    """The default as a person would write it; empty for a struct, which has those of its fields."""
    code = FieldCode(spec, "")
    default = code.default
    if default is None:
        return "not sent" if code.is_optional_struct else "null"
    if default == ():
        return "[]" if isinstance(spec.type, Array) else ""
    match default:
        case bool():
            return "true" if default else "false"
        case int() | float():
            return str(default)
        case bytes():
            return "empty"  # the language has no other default
        case UUID():
            return str(default) if default.int else "zero"
        case str():
            return f'"{default}"'
        case _:
            raise TypeError(f"no text for the default {default!r}")
