"""Compares values with their defaults: a tag section leaves out fields at their default.

The rule is Java's: a tagged struct that was not sent is a struct of defaults, and two structs are
equal if their fields and unknown tagged fields are. So None and a struct of defaults count as
equal here, at any depth, although `==` distinguishes them.
"""

from __future__ import annotations

from typing import Any

from kraftwire_wire.layout import Field
from kraftwire_wire.structs import Struct


def differs(message: type[Struct], field: Field, value: Any) -> bool:
    """Whether the value of a field differs from the field's default."""
    default = field.default
    if field.has_struct_default:
        if value is None:
            return not field.is_optional_struct
        return struct_differs(message, field.struct_class(message), value)
    if default is None or isinstance(default, bool):
        return value is not default
    return bool(value != ([] if default == () else default))


def struct_differs(message: type[Struct], struct: type[Struct], value: Any) -> bool:
    """Whether a value differs from a struct of defaults; True if it is of another type."""
    if not issubclass(type(value), struct):
        return True
    plain, others = _field_groups.get(struct) or _group_fields(struct)
    for name, default in plain:
        if getattr(value, name) != default:
            return True
    for field in others:
        if differs(message, field, getattr(value, field.name)):
            return True
    return bool(value.unknown_tagged_fields)


FieldGroups = tuple[list[tuple[str, object]], list[Field]]
_field_groups: dict[type[Struct], FieldGroups] = {}


def _group_fields(struct: type[Struct]) -> FieldGroups:
    """Return the fields that `!=` can compare, with their defaults, and the others."""
    plain: list[tuple[str, object]] = []
    others: list[Field] = []
    for field in struct.LAYOUT.fields:
        if field.default is None or field.default == ():
            others.append(field)
        else:
            plain.append((field.name, field.default))
    _field_groups[struct] = plain, others
    return plain, others
