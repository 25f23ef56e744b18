"""Turns the names of a spec into names of Python classes, attributes and modules.

The case rules are those of Kafka's generator, so that fields have familiar names.
"""

from __future__ import annotations

import keyword

# Attributes of every generated class, and names that its body uses. A field with such a name would
# hide them.
_METHODS = frozenset(
    {"codec", "decode", "encode", "from_json", "to_json", "header_version", "is_canonical"}
)
_CLASS_BODY = frozenset(
    {"bool", "bytes", "classmethod", "dataclass", "field", "float", "int", "list", "range", "str"}
    | {"tuple"}
)
_RESERVED_ATTRIBUTES = _METHODS | _CLASS_BODY | {"unknown_tagged_fields"}

# Names that a generated module uses, and that a class of the same name would hide. Classes start
# with a capital, so names in lower case are safe.
_MODULE_NAMES = frozenset(
    {"Array", "ClassVar", "Field", "LAYOUT", "Layout", "Message", "NEVER", "Reader", "Registry"}
    | {"Self", "Struct", "StructType", "TYPE_CHECKING", "TagSection", "UUID", "Writer", "registry"}
)


def capitalize_first(text: str) -> str:
    """Return the text with its first letter in upper case and the rest unchanged."""
    return text[:1].upper() + text[1:]


def to_snake_case(text: str) -> str:
    """Return Kafka's snake case, in which a run of capitals is one word (`ISR` -> `isr`)."""
    words: list[str] = []
    previous_upper = True
    for char in text:
        if char.isupper() and not previous_upper:
            words.append("_")
        words.append(char.lower())
        previous_upper = char.isupper()
    return "".join(words)


def attribute_name(spec_name: str) -> str:
    """Return the attribute of a field: snake case, with `_` after a reserved name."""
    return _unless_taken(to_snake_case(spec_name), _RESERVED_ATTRIBUTES)


def class_name(spec_name: str) -> str:
    """Return the class of a message: the spec's name, with `_` after a reserved name."""
    return _unless_taken(capitalize_first(spec_name), _MODULE_NAMES)


def struct_class_name(spec_name: str, message_class: str) -> str:
    """Return the class of a struct; its name differs from that of the message class around it."""
    name = class_name(spec_name)
    return f"{name}_" if name == message_class else name


def module_name(message_name: str) -> str:
    """Return the module of a message; messages with the same class name share a module."""
    return _unless_taken(to_snake_case(capitalize_first(message_name)), _MODULE_NAMES)


def _unless_taken(name: str, taken: frozenset[str]) -> str:
    return f"{name}_" if keyword.iskeyword(name) or name in taken else name
