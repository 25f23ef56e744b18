"""The types of LAYOUT, the table that describes a message's wire format.

Everything that handles messages without their emitted code (the JSON form, the engines, columns,
the construct schema, tables of fields) reads these tables. They are complete: the emitted code
contains nothing that its table does not.

`Layout.at(version)` selects the fields of a version; no other code compares versions with the
ranges of a field. A primitive type is its name in the spec language, such as `"int32"`.
"""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Any, Final

NEVER: Final = range(0)

StructClass = type[Any]

HeaderVersions = tuple[tuple[range, int], ...]
"""Pairs of body versions and the header version that goes with them."""


@dataclass(frozen=True, slots=True)
class StructType:
    """A struct, by the name of its class inside the message's class."""

    name: str

    def class_in(self, message: StructClass) -> StructClass:
        found: StructClass = getattr(message, self.name)
        return found

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Array:
    """An array; the spec language has no arrays of arrays."""

    element: str | StructType

    def __str__(self) -> str:
        return f"[]{self.element}"


Type = str | StructType | Array


@dataclass(frozen=True, slots=True)
class Field:
    """One field in all versions: its attribute, its name in the spec, and how it is written.

    `default` is the Python value; `()` stands for an empty array or a struct of defaults.
    None stands for null, or for "not sent" if the field is a tagged struct that is not nullable.
    `flexible` overrides the message's flexible versions (string and bytes only).
    """

    name: str
    spec_name: str
    type: Type
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
        return isinstance(self.type, Array)

    @property
    def element_type(self) -> str | StructType:
        """The type of an array's elements, or of the value itself."""
        return self.type.element if isinstance(self.type, Array) else self.type

    @property
    def is_struct(self) -> bool:
        """True if the value or the array's elements are structs."""
        return isinstance(self.element_type, StructType)

    def struct_class(self, message: StructClass) -> StructClass:
        """Return the class of a struct or of the structs in an array."""
        assert isinstance(self.element_type, StructType)
        return self.element_type.class_in(message)

    @property
    def is_optional_struct(self) -> bool:
        """True for a tagged struct whose None means that it was not sent."""
        is_tagged_struct = self.tag is not None and isinstance(self.type, StructType)
        return is_tagged_struct and self.default is None and not self.nullable

    @property
    def has_struct_default(self) -> bool:
        """True if a struct of defaults counts as the field's default."""
        is_single = isinstance(self.type, StructType)
        return is_single and (self.default == () or self.is_optional_struct)

    @property
    def json_name(self) -> str:
        """The key in Kafka's JSON form."""
        return self.spec_name[:1].lower() + self.spec_name[1:]


@dataclass(frozen=True, slots=True)
class VersionField:
    """One field in one version; `spec` describes it in all versions.

    `tag` is None unless this version writes the field into the tag section. If `compact`, lengths
    are varints.
    """

    spec: Field
    name: str
    type: Type
    tag: int | None
    nullable: bool
    compact: bool


@dataclass(frozen=True, slots=True)
class VersionLayout:
    """The fields of a message or struct in one version.

    - `ordinary`: the fields outside the tag section, in wire order;
    - `tagged`: the fields inside it, in order of their tags;
    - `present`: both, in the order of the spec;
    - `absent`: the fields that only other versions have;
    - `refused`: the fields that only other versions tag. In this version their tags are errors.
    """

    version: int
    flexible: bool
    present: tuple[VersionField, ...]
    ordinary: tuple[VersionField, ...]
    tagged: tuple[VersionField, ...]
    absent: tuple[VersionField, ...]
    refused: tuple[Field, ...]

    def takes_bytes(self, message: StructClass) -> bool:
        """Whether a struct takes at least one byte, so that the input's size limits the count."""
        return self.flexible or any(
            not isinstance(field.type, StructType)
            or field.type.class_in(message).LAYOUT.at(self.version).takes_bytes(message)
            for field in self.ordinary
        )


@dataclass(frozen=True, slots=True)
class Layout:
    """A message, or a struct of it: the versions it exists in, and its fields in order.

    Only messages have `type`, `api_key` and `headers`.
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
    _versions: dict[int, VersionLayout] = dataclass_field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def at(self, version: int) -> VersionLayout:
        """Return the fields of a version; the caller has checked that the version exists."""
        found = self._versions.get(version)
        if found is None:
            found = self._versions[version] = self._make(version)
        return found

    def _make(self, version: int) -> VersionLayout:
        flexible = version in self.flexible
        fields = [
            VersionField(
                spec=field,
                name=field.name,
                type=field.type,
                tag=field.tag if version in field.tagged else None,
                nullable=version in field.nullable,
                compact=flexible and (field.flexible is None or version in field.flexible),
            )
            for field in self.fields
        ]
        present = [field for field in fields if version in field.spec.versions]
        tagged = [field for field in present if field.tag is not None]
        return VersionLayout(
            version=version,
            flexible=flexible,
            present=tuple(present),
            ordinary=tuple(field for field in present if field.tag is None),
            tagged=tuple(sorted(tagged, key=lambda field: field.tag or 0)),
            absent=tuple(field for field in fields if version not in field.spec.versions),
            refused=tuple(
                field.spec for field in fields if field.spec.tag is not None and field.tag is None
            ),
        )
