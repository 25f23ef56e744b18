"""LAYOUT: the wire form of a message as a table, beside the code that implements it.

Everything that works on messages without their emitted code (the JSON form, the object
and column engines, the Spark and construct schemas) reads these tables. They hold the
same plan as the emitted code and leave nothing out.

Types are texts: a primitive (`int32`), the name of a struct class nested in the message
(`TopicData`), or `[]` before either. Versions are ranges within the message's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

NEVER: Final = range(0)

HeaderVersions = tuple[tuple[range, int], ...]
"""Which header version goes with which body versions."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field: its attribute, its name in the spec, and how each version writes it.

    `default` is the Python value; `()` stands for an empty array or a struct of defaults,
    and None for null or, with a tagged struct that is not nullable, for not sent.
    `flexible` overrides the message's flexible versions (string and bytes only).
    """

    name: str
    spec_name: str
    type: str
    versions: range
    default: object
    nullable: range = NEVER
    tag: int | None = None
    tagged: range = NEVER
    flexible: range | None = None
    ignorable: bool = False
    entity_type: str | None = None
    map_key: bool = False
    zero_copy: bool = False

    @property
    def is_array(self) -> bool:
        """True for `[]T`."""
        return self.type.startswith("[]")

    @property
    def element_type(self) -> str:
        """The type without `[]`."""
        return self.type.removeprefix("[]")

    @property
    def is_struct(self) -> bool:
        """True when the value, or the element of the array, is a struct."""
        return self.element_type[0].isupper()

    @property
    def is_optional_struct(self) -> bool:
        """True for a tagged struct whose None means `not sent`."""
        if self.tag is None or self.is_array or not self.is_struct:
            return False
        return self.default is None and not self.nullable

    @property
    def json_name(self) -> str:
        """The key in Kafka's JSON form."""
        return self.spec_name[:1].lower() + self.spec_name[1:]


@dataclass(frozen=True, slots=True)
class Layout:
    """One message, or one struct of it: the versions it exists in, and its fields in order.

    `type`, `api_key` and `headers` are the message's; structs have none.
    """

    name: str
    versions: range
    flexible: range
    fields: tuple[Field, ...]
    type: str = "struct"
    api_key: int | None = None
    headers: HeaderVersions = ()
    deprecated: range = NEVER
    listeners: tuple[str, ...] = ()
    latest_version_unstable: bool = False
