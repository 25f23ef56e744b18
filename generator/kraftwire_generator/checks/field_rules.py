"""The rules for a single field.

`field_errors` yields every error of a field, each as a message that says what to write instead. The
public `*_problem` functions are single rules, which `lint` also applies one by one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kraftwire_generator.checks.structs import PlacedField
from kraftwire_generator.language.defaults import default_value
from kraftwire_generator.language.field_types import Primitive, element_of

NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*")
NAME_ADVICE = "write letters and digits, a letter first"

# Entity types, each with the type that its fields must have; None if any type is allowed.
ENTITY_TYPES: dict[str, Primitive | None] = {
    "unknown": None,
    "transactionalId": Primitive("string"),
    "producerId": Primitive("int64"),
    "groupId": Primitive("string"),
    "topicName": Primitive("string"),
    "brokerId": Primitive("int32"),
}


def field_errors(place: PlacedField) -> Iterator[str]:
    """Yield the message of each error of a field."""
    if not NAME.fullmatch(place.field.name):
        yield f"{place.field.name!r} cannot be a field name; {NAME_ADVICE}"
    yield from _type_errors(place)
    yield from _key_errors(place)
    yield from _tag_errors(place)
    if misses_parent(place):
        yield (
            f"versions {place.field.versions} do not overlap {place.within}, "
            "the versions of what contains it; change or remove the field"
        )
    if problem := default_problem(place):
        yield problem


def _type_errors(place: PlacedField) -> Iterator[str]:
    field = place.field
    if problem := null_problem(place):
        yield problem
    if field.entity_type is not None and field.entity_type not in ENTITY_TYPES:
        known = ", ".join(ENTITY_TYPES)
        yield f"unknown entityType {field.entity_type!r}; write one of {known}"
    elif field.entity_type is not None:
        entity, element = ENTITY_TYPES[field.entity_type], element_of(field.type)
        if entity not in (None, element):
            yield f"a {field.entity_type} is of type {entity}, not {element}; change one of the two"
    own, around = field.flexible_versions, place.message.flexible_versions
    if own is not None and not _is(place, "string", "bytes"):
        yield "only a string or bytes field has its own flexibleVersions; remove the key"
    if own is not None and not around.covers(own):
        yield f"flexibleVersions {own} must be within those of the message, {around}"
    if field.zero_copy and not _is(place, "bytes"):
        yield "only a bytes field can have zeroCopy; remove the key"


def _key_errors(place: PlacedField) -> Iterator[str]:
    if place.field.map_key and place.is_top_level:
        yield "a field of the message itself cannot be a mapKey; remove the key"
    if place.field.map_key and _is_tagged(place):
        yield "a mapKey cannot be tagged; remove mapKey, or tag and taggedVersions"


def _tag_errors(place: PlacedField) -> Iterator[str]:
    field = place.field
    tag, tagged, nullable = field.tag, field.tagged_versions, field.nullable_versions
    if tag is not None and not tagged:
        yield f"tag {tag} needs taggedVersions; add for example 2+, or remove the tag"
    if tag is None and tagged:
        yield f"taggedVersions {tagged} needs a tag; add one, or remove the key"
    if tag is not None and tag < 0:
        yield f"tag {tag} is negative; tags count from 0"
    if problem := tagged_versions_problem(place):
        yield problem
    if not field.versions.covers(tagged):
        yield f"taggedVersions {tagged} must be within versions {field.versions}"
    own = field.flexible_versions
    flexible = place.message.flexible_versions if own is None else own
    if tagged and not flexible.covers(tagged):
        yield (
            f"taggedVersions {tagged} must be within flexibleVersions {flexible}, "
            "since only flexible versions have tags"
        )
    if tagged.intersect(nullable) and not nullable.covers(tagged):
        yield f"nullableVersions {nullable} must cover all of taggedVersions {tagged} or none of it"
    if _is(place, "records") and _is_tagged(place):
        yield "records cannot be tagged; remove tag and taggedVersions, or use bytes"


def null_problem(place: PlacedField) -> str | None:
    """Return what is wrong with `nullableVersions` on a field whose type is never null."""
    field = place.field
    nullable = not isinstance(field.type, Primitive) or _is(place, "string", "bytes", "records")
    if nullable or not field.nullable_versions:
        return None
    return (
        f"{field.type} cannot be null; remove nullableVersions, "
        "or use string, bytes, records, a struct or an array"
    )


def tagged_versions_problem(place: PlacedField) -> str | None:
    """Return what is wrong with `taggedVersions` that have an end."""
    tagged = place.field.tagged_versions
    if tagged and not tagged.is_open:
        return f"taggedVersions {tagged} must have no end; write {tagged.lowest}+"
    return None


def default_problem(place: PlacedField) -> str | None:
    """Return what is wrong with the default of a field."""
    try:
        default_value(place.field)
    except ValueError as error:
        return str(error)
    return None


def occurrence_problem(place: PlacedField) -> str | None:
    """Return the warning about a field that never occurs and does not define a struct."""
    if _occurs(place) or misses_parent(place):
        return None
    return (
        f"versions {place.field.versions} are outside {place.within}, "
        "the versions of what contains it: the field never occurs"
    )


def misses_parent(place: PlacedField) -> bool:
    """Whether the field defines a struct that exists in no version of its parent."""
    field = place.field
    return bool(field.fields) and field.struct_name is not None and not _occurs(place)


def _occurs(place: PlacedField) -> bool:
    # Nothing occurs in a parent without versions, but the parent has a finding already.
    return not place.within or bool(place.effective_versions)


def _is(place: PlacedField, *names: str) -> bool:
    return isinstance(place.field.type, Primitive) and place.field.type.name in names


def _is_tagged(place: PlacedField) -> bool:
    return place.field.tag is not None or bool(place.field.tagged_versions)
