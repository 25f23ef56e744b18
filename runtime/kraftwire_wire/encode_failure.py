"""Finds the field whose value raised an unexpected error while its struct was encoded."""

from __future__ import annotations

from kraftwire_wire.errors import EncodeError
from kraftwire_wire.layout import StructType
from kraftwire_wire.primitives import type_name
from kraftwire_wire.structs import Struct


def failed_field_error(struct: Struct, error: Exception) -> EncodeError:
    """Return the `EncodeError` for a struct whose encoding raised `error`, with the field's path.

    This happens if an attribute was deleted, or if a value's own `__eq__` or the like raises.
    """
    path = _raising_field(struct, type(error), set())
    if path and issubclass(type(error), AttributeError):
        return EncodeError("the attribute is missing; set it, if only to its default", path)
    return EncodeError(f"reading or comparing the value raised {type_name(error)}", path)


def _raising_field(struct: Struct, kind: type[Exception], seen: set[int]) -> str:
    """Return the path of the first field that raises an error of this type again, or "".

    `seen` holds the ids of the structs searched so far: a hostile struct may contain itself.
    """
    seen.add(id(struct))
    for field in struct.LAYOUT.fields:
        try:
            value = getattr(struct, field.name)
            if isinstance(field.type, StructType):
                is_struct = "LAYOUT" in vars(type(value)) and id(value) not in seen
                inner = _raising_field(value, kind, seen) if is_struct else ""
                if inner:
                    return f"{field.name}.{inner}"
            elif field.default is not None and not isinstance(field.default, bool):
                bool(value != ([] if field.default == () else field.default))
        except Exception as error:  # noqa: BLE001 - from the value's own code
            if type(error) is kind:
                return field.name
    try:
        bool(struct.unknown_tagged_fields)
    except Exception:  # noqa: BLE001 - from the list's own code
        return "unknown_tagged_fields"
    return ""
