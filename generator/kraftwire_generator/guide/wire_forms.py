"""What each version of a message has on the wire; versions that are alike share one form.

Rules:
- fields stand in wire order: ordinary ones as they are declared, then the tagged ones by tag;
- a form shows the fields of a struct once. A second use of a common struct points to the
  first, since common structs can make up far more paths than there are structs;
- a message whose forms have too many fields together is refused, not cut short.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kraftwire_generator.checks.structs import ResolvedMessage, struct_name
from kraftwire_generator.errors import Finding, SpecError
from kraftwire_generator.guide.wire_type import WireType, wire_type
from kraftwire_generator.language.header_versions import header_versions
from kraftwire_generator.language.spec import FieldSpec
from kraftwire_generator.language.versions import VersionRange
from kraftwire_generator.plan.conditions import split_cases
from kraftwire_generator.plan.field_code import bounds

MOST_FIELDS = 20_000
"""The most fields that all forms of one message may have; Kafka's largest has 237."""


@dataclass(frozen=True, slots=True)
class WireField:
    """A field in one version.

    `path` is made of spec names and unique within the form. `tag` is None for an ordinary
    field. `body` are the fields of its struct, None for a primitive and where `same_as`, the
    path of a field of the same struct, has them already.
    """

    spec: FieldSpec
    path: str
    depth: int
    type: WireType
    tag: int | None
    body: WireStruct | None = None
    same_as: str = ""


@dataclass(frozen=True, slots=True)
class WireStruct:
    """A struct in one version: its ordinary fields, and its tag section where it has one."""

    fields: tuple[WireField, ...]
    tagged: tuple[WireField, ...]
    has_tag_section: bool

    def rows(self) -> Iterator[WireField]:
        """Every field below, in wire order, parents before children."""
        waiting = [*reversed((*self.fields, *self.tagged))]
        while waiting:
            field = waiting.pop()
            yield field
            if field.body is not None:
                waiting += reversed((*field.body.fields, *field.body.tagged))


@dataclass(frozen=True, slots=True)
class Form:
    """What neighbouring versions have in common on the wire, headers included."""

    versions: VersionRange
    body: WireStruct
    flexible: bool
    header_version: int | None
    deprecated: bool


def wire_forms(message: ResolvedMessage) -> tuple[Form, ...]:
    """The forms of a message in ascending order; none where no version is valid."""
    spec = message.spec
    headers = header_versions(spec)
    ranges = [spec.flexible_versions, spec.deprecated_versions, *(body for body, _ in headers)]
    for fields in (spec.fields, *(struct.fields for struct in message.structs.values())):
        ranges += [item for field in fields for item in bounds(field, spec.valid_versions)]
    fields_shown = 0

    def facts(version: int) -> tuple[tuple[WireStruct, bool, int | None, bool]]:
        nonlocal fields_shown
        body = wire_struct(message, version)
        fields_shown += sum(1 for _ in body.rows())
        if fields_shown > MOST_FIELDS:
            problem = f"its versions have more than {MOST_FIELDS} fields together; use fewer"
            raise SpecError([Finding(spec.file, spec.line, "", problem)])
        header = next((number for within, number in headers if version in within), None)
        return ((body, version in spec.flexible_versions, header, _deprecated(message, version)),)

    cases = split_cases(spec.valid_versions, ranges, facts)
    pairs = zip(cases.spans, cases.actions, strict=True)
    return tuple(Form(versions, *found[0]) for versions, found in pairs)


def wire_struct(message: ResolvedMessage, version: int) -> WireStruct:
    """The fields that one version of a message has."""
    return _Walk(message, version).struct(message.spec.fields, "", 0)


def _deprecated(message: ResolvedMessage, version: int) -> bool:
    return version in message.spec.deprecated_versions


class _Walk:
    """Goes once through the structs of a message, in one version."""

    def __init__(self, message: ResolvedMessage, version: int) -> None:
        self._structs = message.structs
        self._version = version
        self._flexible = version in message.spec.flexible_versions
        self._places: dict[str, str] = {}

    def struct(self, fields: tuple[FieldSpec, ...], path: str, depth: int) -> WireStruct:
        """A struct whose fields stand below `path`."""
        there = [field for field in fields if self._version in field.versions]
        ordinary: list[WireField] = []
        tagged: list[WireField] = []
        for field in there:
            if self._version not in field.tagged_versions:
                ordinary.append(self._field(field, path, depth, None))
        if self._flexible:
            there.sort(key=lambda field: field.tag or 0)
            for field in there:
                if self._version in field.tagged_versions:
                    tagged.append(self._field(field, path, depth, field.tag))
        return WireStruct(tuple(ordinary), tuple(tagged), self._flexible)

    def _field(self, spec: FieldSpec, path: str, depth: int, tag: int | None) -> WireField:
        path = f"{path}.{spec.name}" if path else spec.name
        form = wire_type(spec, self._version, flexible=self._flexible, tagged=tag is not None)
        name = struct_name(spec.type)
        if name is None:
            return WireField(spec, path, depth, form, tag)
        first = self._places.setdefault(name, path)
        if first != path:
            return WireField(spec, path, depth, form, tag, same_as=first)
        body = self.struct(self._structs[name].fields, path, depth + 1)
        return WireField(spec, path, depth, form, tag, body)
