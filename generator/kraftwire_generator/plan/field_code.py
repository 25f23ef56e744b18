"""The statements that read and write one field, in one version.

The names of the methods are those of `kraftwire_wire.reader` and `kraftwire_wire.writer`.
Every function is total over the field types.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from kraftwire_generator.language.defaults import default_value
from kraftwire_generator.language.field_types import (
    INTEGER_BOUNDS,
    Array,
    Primitive,
    Struct,
    element_of,
)
from kraftwire_generator.language.names import attribute_name
from kraftwire_generator.language.spec import FieldSpec
from kraftwire_generator.language.versions import VersionRange
from kraftwire_generator.plan.literals import hint, literal
from kraftwire_generator.plan.plan_data import Branch, Statement

_FIXED_SIZE = frozenset({"bool", *INTEGER_BOUNDS, "float64"})
_NULLABLE_PRIMITIVES = frozenset({"string", "bytes", "records"})


@dataclass(frozen=True, slots=True)
class FixedField:
    """A field of fixed size: neighbours of this kind are read and written in one call."""

    attribute: str
    type: str


Action = Statement | FixedField


@dataclass(frozen=True, slots=True)
class FieldCode:
    """One field of a struct of `message_class`, and the source text around it."""

    spec: FieldSpec
    message_class: str

    @property
    def attribute(self) -> str:
        """The attribute of the generated class."""
        return attribute_name(self.spec.name)

    @property
    def value(self) -> str:
        """The attribute as `_encode` sees it."""
        return f"self.{self.attribute}"

    @property
    def default(self) -> object:
        """The value of an instance that nobody touched.

        A tagged struct that is not nullable is None then: it was not sent.
        """
        if self.is_optional_struct:
            return None
        return default_value(self.spec)

    @property
    def is_optional_struct(self) -> bool:
        """True for a tagged struct that is not nullable, whose None means `not sent`."""
        spec = self.spec
        tagged_struct = isinstance(spec.type, Struct) and bool(spec.tagged_versions)
        return tagged_struct and not spec.nullable_versions

    @property
    def hint(self) -> str:
        """The type hint of the attribute."""
        base = hint(self.spec.type, self.message_class)
        optional = bool(self.spec.nullable_versions) or self.default is None
        return f"{base} | None" if optional else base

    @property
    def struct_class(self) -> str:
        """The class of a struct or of the structs of an array."""
        return hint(element_of(self.spec.type), self.message_class)

    @property
    def default_expression(self) -> str:
        """What stands behind `=` in the class body."""
        if self.default != ():
            return literal(self.default)
        if isinstance(self.spec.type, Array):
            return "field(default_factory=list)"
        return f"field(default_factory=lambda: {self.struct_class}())"

    @property
    def differs_from_default(self) -> str:
        """The test that says whether the field has to be written where it may be left out."""
        default = self.default
        if _is_nan(default):
            return f"{self.value} == {self.value}"  # only NaN is not equal to itself
        if self.is_optional_struct:
            return f"{self.value} is not None and {self._struct_differs}"
        if default is None or isinstance(default, bool):
            return f"{self.value} is not {literal(default)}"
        if default == ():
            is_array = isinstance(self.spec.type, Array)
            return f"{self.value} != []" if is_array else self._struct_differs
        return f"{self.value} != {literal(default)}"

    @property
    def _struct_differs(self) -> str:
        """The test that says whether a struct has anything but defaults, at any depth."""
        return f"writer.struct_differs({self.message_class}, {self.struct_class}, {self.value})"

    # -- reading ---------------------------------------------------------------------------

    def read(self, version: int) -> tuple[Action, ...]:
        """What `_decode` does with the field outside tag sections."""
        if not self._is_ordinary(version):
            return ()
        if self._is_fixed_size():
            return (FixedField(self.attribute, str(self.spec.type)),)
        return (f"message.{self.attribute} = reader.read_{self._call(version)}",)

    def read_tagged(self, version: int) -> str:
        """The statement that reads the payload of the field's tag."""
        call = self._call(version, tagged=True)
        if isinstance(self.spec.type, Struct) and (self.is_optional_struct or self.default == ()):
            # A struct of defaults is read as what the field holds if nothing was sent.
            optional = "tagged_" if self.is_optional_struct else ""
            call = f"{optional}{call.removesuffix(')')}, {self.message_class})"
        return f"message.{self.attribute} = reader.read_{call}"

    # -- writing ---------------------------------------------------------------------------

    def write(self, version: int) -> tuple[Action, ...]:
        """What `_encode` does with the field outside tag sections."""
        spec = self.spec
        if version in spec.tagged_versions:
            return ()
        if version not in spec.versions:
            if spec.ignorable:
                return ()
            refuse = f'raise writer.field_not_in_version("{self.attribute}", version)'
            return (Branch(f"if {self.differs_from_default}:", (refuse,)),)
        if self._is_fixed_size() and spec.type != Primitive("bool"):
            return (FixedField(self.attribute, str(spec.type)),)
        value = self.value
        if self.is_optional_struct:
            value = f"{self.struct_class}() if {value} is None else {value}"
        return (f"writer.write_{self._call(version, value=value)}",)

    def write_tagged(self, version: int, when: str) -> Branch:
        """The block that adds the field to a tag section; `when` goes before its condition."""
        call = self._call(version, value=self.value, tagged=True)
        add = f"tags.add({self.spec.tag}).write_{call}"
        differs = self.differs_from_default
        if _is_nan(self.default):
            # As in Kafka, which compares with != and so writes NaN always.
            differs = f"{self.value} != {literal(self.default)}"
        return Branch(f"if {when}{differs}:", (add,))

    # -- both ------------------------------------------------------------------------------

    def _is_ordinary(self, version: int) -> bool:
        return version in self.spec.versions and version not in self.spec.tagged_versions

    def _is_fixed_size(self) -> bool:
        field_type = self.spec.type
        return isinstance(field_type, Primitive) and field_type.name in _FIXED_SIZE

    def _call(self, version: int, *, value: str = "", tagged: bool = False) -> str:
        """The method behind `read_` or `write_` with its arguments."""
        field_type = self.spec.type
        element = element_of(field_type)
        method = self._method(version, tagged=tagged)
        arguments = [f'"{self.attribute}"']
        if isinstance(element, Struct):
            arguments.append(self.struct_class)
        elif isinstance(field_type, Array):
            arguments.append(f'"{element}"')
        if value:
            arguments.append(value)
        if isinstance(element, Struct):
            arguments.append("version")
        return f"{method}({', '.join(arguments)})"

    def _method(self, version: int, *, tagged: bool) -> str:
        spec, field_type = self.spec, self.spec.type
        nullable = "nullable_" if version in spec.nullable_versions else ""
        match field_type:
            case Array(Struct()):
                return f"{nullable}structs"
            case Array(Primitive()):
                return f"{nullable}array"
            case Struct():
                return f"tagged_{nullable}struct" if tagged and nullable else f"{nullable}struct"
            case Primitive(name) if name in _FIXED_SIZE or name == "uuid":
                return name
            case Primitive(name) if name in _NULLABLE_PRIMITIVES:
                flexible = spec.flexible_versions
                classic = flexible is not None and version not in flexible
                return f"classic_{nullable}{name}" if classic else f"{nullable}{name}"
            case _:
                raise TypeError(f"no method reads or writes {field_type!r}")


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


def bounds(spec: FieldSpec, versions: VersionRange) -> tuple[VersionRange, ...]:
    """The ranges at whose ends the field's form can change."""
    flexible = versions if spec.flexible_versions is None else spec.flexible_versions
    return (spec.versions, spec.nullable_versions, spec.tagged_versions, flexible)
