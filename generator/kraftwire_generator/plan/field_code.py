"""Writes the statements that read and write one field in one version.

They call the methods of `kraftwire_wire.reader` and `kraftwire_wire.writer`. Every function handles
all field types.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from kraftwire_generator.language.defaults import initial_value
from kraftwire_generator.language.field_types import (
    INTEGER_BOUNDS,
    Array,
    Primitive,
    Struct,
    element_of,
)
from kraftwire_generator.language.names import attribute_name
from kraftwire_generator.language.spec import FieldSpec
from kraftwire_generator.plan.literals import hint, literal
from kraftwire_generator.plan.plan_data import Branch, Statement

_FIXED_SIZE = frozenset({"bool", *INTEGER_BOUNDS, "float64"})
_NULLABLE_PRIMITIVES = frozenset({"string", "bytes", "records"})


@dataclass(frozen=True, slots=True)
class FixedField:
    """A field of fixed size; neighbouring ones are read, and written, in one call."""

    attribute: str
    type: str


Action = Statement | FixedField


@dataclass(frozen=True, slots=True)
class FieldCode:
    """The Python source for one field of `message_class` or of a struct in it."""

    spec: FieldSpec
    message_class: str

    @property
    def attribute(self) -> str:
        return attribute_name(self.spec.name)

    @property
    def value(self) -> str:
        return f"self.{self.attribute}"

    @property
    def default(self) -> object:
        return initial_value(self.spec)

    @property
    def hint(self) -> str:
        """The type hint of the attribute."""
        base = hint(self.spec.type, self.message_class)
        optional = bool(self.spec.nullable_versions) or self.default is None
        return f"{base} | None" if optional else base

    @property
    def struct_class(self) -> str:
        """The class of the struct, or of the elements of an array of structs."""
        return hint(element_of(self.spec.type), self.message_class)

    @property
    def default_expression(self) -> str:
        """The default value, as written in the class body."""
        if self.default != ():
            return literal(self.default)
        if isinstance(self.spec.type, Array):
            return "field(default_factory=list)"
        return f"field(default_factory=lambda: {self.struct_class}())"

    @property
    def differs_from_default(self) -> str:
        """The condition under which the value is not the default and must be written."""
        default = self.default
        if _is_nan(default):
            return f"{self.value} == {self.value}"  # only NaN is not equal to itself
        if self.spec.is_optional_struct:
            return f"{self.value} is not None and {self._struct_differs}"
        if default is None or isinstance(default, bool):
            return f"{self.value} is not {literal(default)}"
        if default == ():
            is_array = isinstance(self.spec.type, Array)
            return f"{self.value} != []" if is_array else self._struct_differs
        return f"{self.value} != {literal(default)}"

    @property
    def _struct_differs(self) -> str:
        """The condition under which a struct has a value other than a default, at any depth."""
        return f"writer.struct_differs({self.message_class}, {self.struct_class}, {self.value})"

    # -- reading ---------------------------------------------------------------------------

    def read(self, version: int) -> tuple[Action, ...]:
        """Return what `_decode` does with the field outside tag sections."""
        if not self.spec.is_ordinary_in(version):
            return ()
        if self._is_fixed_size():
            return (FixedField(self.attribute, str(self.spec.type)),)
        return (f"message.{self.attribute} = reader.read_{self._call(version)}",)

    def read_tagged(self, version: int) -> str:
        """Return the statement that reads the value of the field's tag."""
        call = self._call(version, tagged=True)
        if isinstance(self.spec.type, Struct) and (
            self.spec.is_optional_struct or self.default == ()
        ):
            # The tag of a struct with all defaults reads as if it had not been sent.
            optional = "tagged_" if self.spec.is_optional_struct else ""
            call = f"{optional}{call.removesuffix(')')}, {self.message_class})"
        return f"message.{self.attribute} = reader.read_{call}"

    # -- writing ---------------------------------------------------------------------------

    def write(self, version: int) -> tuple[Action, ...]:
        """Return what `_encode` does with the field outside tag sections."""
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
        if self.spec.is_optional_struct:
            value = f"{self.struct_class}() if {value} is None else {value}"
        return (f"writer.write_{self._call(version, value=value)}",)

    def write_tagged(self, version: int, when: str) -> Branch:
        """Return the `if` that adds the field to the tag section if it differs from its default.

        `when` is a further condition that ends in `and`, or "".
        """
        call = self._call(version, value=self.value, tagged=True)
        add = f"tags.add({self.spec.tag}).write_{call}"
        differs = self.differs_from_default
        if _is_nan(self.default):
            # Kafka compares with != and therefore always writes NaN.
            differs = f"{self.value} != {literal(self.default)}"
        return Branch(f"if {when}{differs}:", (add,))

    # -- both ------------------------------------------------------------------------------

    def _is_fixed_size(self) -> bool:
        field_type = self.spec.type
        return isinstance(field_type, Primitive) and field_type.name in _FIXED_SIZE

    def _call(self, version: int, *, value: str = "", tagged: bool = False) -> str:
        """Return the call of a method, without its `read_` or `write_`."""
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
