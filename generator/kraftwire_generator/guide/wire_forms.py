"""Lists the fields of each version of a message on the wire; equal versions share a form.

Rules:
- fields are in wire order: ordinary ones as declared, then tagged ones by tag;
- a form shows the fields of a struct once, at its first use. Other uses refer to the first, since
  common structs can form far more paths than there are structs;
- a message whose forms have too many fields in total is an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from kraftwire_generator.checks.structs import ResolvedMessage
from kraftwire_generator.errors import Finding, SpecError
from kraftwire_generator.guide.wire_type import WireType, wire_type
from kraftwire_generator.language.header_versions import header_version, header_versions
from kraftwire_generator.language.spec import FieldSpec, field_path
from kraftwire_generator.language.versions import VersionRange

MOST_FIELDS = 20_000
"""The limit on the fields of all forms of one message; Kafka's largest has 237."""


@dataclass(frozen=True, slots=True)
class WireField:
    """A field in one version.

    `path` consists of spec names and is unique within the form. `tag` is None for an ordinary
    field. `body` has the fields of its struct; it is None for a primitive, and for a struct whose
    fields are shown at the path `same_as`.
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
    """A struct in one version: its ordinary fields, and its tag section if it has one."""

    fields: tuple[WireField, ...]
    tagged: tuple[WireField, ...]
    has_tag_section: bool

    def rows(self) -> Iterator[WireField]:
        """Yield every field at any depth, in wire order, parents before children."""
        waiting = [*reversed((*self.fields, *self.tagged))]
        while waiting:
            field = waiting.pop()
            yield field
            if field.body is not None:
                waiting += reversed((*field.body.fields, *field.body.tagged))


@dataclass(frozen=True, slots=True)
class WireForm:
    """Neighbouring versions that are equal on the wire, headers included."""

    versions: VersionRange
    body: WireStruct
    flexible: bool
    header_version: int | None
    deprecated: bool


def wire_forms(message: ResolvedMessage) -> tuple[WireForm, ...]:
    """Return the forms of a message in ascending order; none if no version is valid."""
    spec = message.spec
    headers = (body for body, _ in header_versions(spec))
    ranges = [spec.flexible_versions, spec.deprecated_versions, *headers]
    for fields in (spec.fields, *(struct.fields for struct in message.structs.values())):
        ranges += [bound for field in fields for bound in field.bounds]
    fields_shown = 0
    forms: list[WireForm] = []
    for span in spec.valid_versions.split(ranges):
        version = span.lowest
        form = WireForm(
            span,
            wire_struct(message, version),
            version in spec.flexible_versions,
            header_version(spec, version),
            version in spec.deprecated_versions,
        )
        fields_shown += sum(1 for _ in form.body.rows())
        if fields_shown > MOST_FIELDS:
            problem = f"its versions have more than {MOST_FIELDS} fields in total; use fewer"
            raise SpecError([Finding(spec.file, spec.line, "", problem)])
        if forms and replace(form, versions=forms[-1].versions) == forms[-1]:
            span = VersionRange(forms.pop().versions.lowest, span.highest)
        forms.append(replace(form, versions=span))
    return tuple(forms)


def wire_struct(message: ResolvedMessage, version: int) -> WireStruct:
    """Return the fields that one version of a message has."""
    return _StructWalk(message, version).struct(message.spec.fields, "", 0)


class _StructWalk:
    """Walks the structs of a message once, in one version."""

    def __init__(self, message: ResolvedMessage, version: int) -> None:
        self._structs = message.structs
        self._version = version
        self._flexible = version in message.spec.flexible_versions
        self._places: dict[str, str] = {}

    def struct(self, fields: tuple[FieldSpec, ...], path: str, depth: int) -> WireStruct:
        ordinary = [field for field in fields if field.is_ordinary_in(self._version)]
        tagged = [field for field in fields if self._flexible and field.is_tagged_in(self._version)]
        tagged.sort(key=lambda field: field.tag or 0)
        return WireStruct(
            tuple(self._field(field, path, depth, None) for field in ordinary),
            tuple(self._field(field, path, depth, field.tag) for field in tagged),
            self._flexible,
        )

    def _field(self, spec: FieldSpec, path: str, depth: int, tag: int | None) -> WireField:
        path = field_path(path, spec.name)
        form = wire_type(spec, self._version, flexible=self._flexible, tagged=tag is not None)
        name = spec.struct_name
        if name is None:
            return WireField(spec, path, depth, form, tag)
        first = self._places.setdefault(name, path)
        if first != path:
            return WireField(spec, path, depth, form, tag, same_as=first)
        body = self.struct(self._structs[name].fields, path, depth + 1)
        return WireField(spec, path, depth, form, tag, body)
