"""Names: from the spelling of a spec to the spellings of Python and JSON.

The case rules are those of Kafka's generator, so that a field is found under the name
that people know from there.
"""

from __future__ import annotations

import keyword

# Attributes that every generated class has, and the names its body refers to: a field
# called one of these would hide it.
_METHODS = frozenset(
    {"codec", "decode", "encode", "from_json", "to_json", "header_version", "is_canonical"}
)
_CLASS_BODY = frozenset(
    {"bool", "bytes", "classmethod", "dataclass", "field", "float", "int", "list", "range", "str"}
    | {"tuple"}
)
_RESERVED_ATTRIBUTES = _METHODS | _CLASS_BODY | {"unknown_tagged_fields"}

# Names that a generated module refers to, which a class of the same name would hide. Those
# in lower case are no danger: a class starts with a capital.
_MODULE_NAMES = frozenset(
    {"ClassVar", "Field", "LAYOUT", "Layout", "Message", "NEVER", "Reader", "Registry", "Self"}
    | {"Struct", "TYPE_CHECKING", "TagSection", "UUID", "Writer", "registry"}
)


def capitalize_first(text: str) -> str:
    """The text with its first letter in upper case and the rest as it is."""
    return text[:1].upper() + text[1:]


def lower_case_first(text: str) -> str:
    """The text with its first letter in lower case and the rest as it is."""
    return text[:1].lower() + text[1:]


def first_is_capitalized(text: str) -> bool:
    """True when the text starts with an upper-case letter."""
    return text[:1].isupper()


def to_snake_case(text: str) -> str:
    """Snake case as Kafka writes it: a run of capitals counts as one word (`ISR` -> `isr`)."""
    words: list[str] = []
    previous_upper = True
    for char in text:
        if char.isupper() and not previous_upper:
            words.append("_")
        words.append(char.lower())
        previous_upper = char.isupper()
    return "".join(words)


def strip_suffix(text: str, suffix: str) -> str:
    """The text without its suffix; `ValueError` when it does not end with it."""
    if not text.endswith(suffix):
        raise ValueError(f"{text!r} does not end with {suffix!r}")
    return text[: len(text) - len(suffix)]


def attribute_name(spec_name: str) -> str:
    """The attribute of the generated class: snake case, out of the way of Python's own names."""
    name = to_snake_case(spec_name)
    taken = keyword.iskeyword(name) or name in _RESERVED_ATTRIBUTES
    return f"{name}_" if taken else name


def class_name(spec_name: str) -> str:
    """The name of a generated class: the spec's, as Kafka capitalises it.

    A name that Python or the module needs for itself takes a trailing underscore.
    """
    name = capitalize_first(spec_name)
    return f"{name}_" if keyword.iskeyword(name) or name in _MODULE_NAMES else name


def struct_class_name(spec_name: str, message_class: str) -> str:
    """The name of a class nested in the class of a message; never the same as that one's."""
    name = class_name(spec_name)
    return f"{name}_" if name == message_class else name


def module_name(message_name: str) -> str:
    """The module that holds a message; two messages of one class name share it too."""
    name = to_snake_case(capitalize_first(message_name))
    return f"{name}_" if keyword.iskeyword(name) or name in _MODULE_NAMES else name
