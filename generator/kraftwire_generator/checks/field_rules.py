"""The rules for a single field, one function each.

A rule takes a `PlacedField` and returns a sentence that says what to write instead, or
None. `FIELD_ERRORS` and `FIELD_WARNINGS` at the end list them all.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from kraftwire_generator.checks.structs import PlacedField, struct_name
from kraftwire_generator.language.defaults import default_value
from kraftwire_generator.language.field_types import Primitive, element_of

NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*")
NAME_ADVICE = "write letters and digits, a letter first"

# Entity types and the type that a field of each has; None where any will do.
ENTITY_TYPES: dict[str, Primitive | None] = {
    "unknown": None,
    "transactionalId": Primitive("string"),
    "producerId": Primitive("int64"),
    "groupId": Primitive("string"),
    "topicName": Primitive("string"),
    "brokerId": Primitive("int32"),
}

FieldRule = Callable[[PlacedField], str | None]


def name_is_identifier(place: PlacedField) -> str | None:
    """A name is letters and digits, a letter first."""
    if NAME.fullmatch(place.field.name):
        return None
    return f"{place.field.name!r} cannot be a field name; {NAME_ADVICE}"


def type_can_be_null(place: PlacedField) -> str | None:
    """Only strings, bytes, records, structs and arrays can be null."""
    field = place.field
    nullable = not isinstance(field.type, Primitive) or _is(place, "string", "bytes", "records")
    if nullable or not field.nullable_versions:
        return None
    return (
        f"{field.type} cannot be null; remove nullableVersions, "
        "or use string, bytes, records, a struct or an array"
    )


def entity_type_fits(place: PlacedField) -> str | None:
    """An entity type is a known one and goes with its type, or with arrays of it."""
    field = place.field
    if field.entity_type is None:
        return None
    if field.entity_type not in ENTITY_TYPES:
        known = ", ".join(ENTITY_TYPES)
        return f"unknown entityType {field.entity_type!r}; write one of {known}"
    wanted = ENTITY_TYPES[field.entity_type]
    element = element_of(field.type)
    if wanted is None or element == wanted:
        return None
    return f"a {field.entity_type} is of type {wanted}, not {element}; change one of the two"


def flexible_override_fits_type(place: PlacedField) -> str | None:
    """Only a string or bytes field keeps its classic form in flexible versions."""
    if place.field.flexible_versions is None or _is(place, "string", "bytes"):
        return None
    return "only a string or bytes field has flexibleVersions of its own; remove the key"


def flexible_override_within_message(place: PlacedField) -> str | None:
    """A field is flexible in versions in which its message is."""
    own, around = place.field.flexible_versions, place.message.flexible_versions
    if own is None or around.covers(own):
        return None
    return f"flexibleVersions {own} must lie within those of the message, {around}"


def zero_copy_fits_type(place: PlacedField) -> str | None:
    """Only bytes are read without a copy."""
    if place.field.zero_copy and not _is(place, "bytes"):
        return "only a bytes field can have zeroCopy; remove the key"
    return None


def map_key_below_top_level(place: PlacedField) -> str | None:
    """A map key is a field of a struct."""
    if place.field.map_key and place.is_top_level:
        return "mapKey has no place on a field of the message itself; remove the key"
    return None


def map_key_untagged(place: PlacedField) -> str | None:
    """A map key is always there, hence no tagged field."""
    if place.field.map_key and _is_tagged(place):
        return "a mapKey cannot be tagged; remove mapKey, or tag and taggedVersions"
    return None


def tag_and_tagged_versions_together(place: PlacedField) -> str | None:
    """A tag has taggedVersions, and the reverse."""
    field = place.field
    if field.tag is not None and not field.tagged_versions:
        return f"tag {field.tag} needs taggedVersions; add for example 2+, or remove the tag"
    if field.tag is None and field.tagged_versions:
        return f"taggedVersions {field.tagged_versions} needs a tag; add one, or remove the key"
    return None


def tag_not_negative(place: PlacedField) -> str | None:
    """Tags count from 0."""
    tag = place.field.tag
    if tag is not None and tag < 0:
        return f"tag {tag} is negative; tags count from 0"
    return None


def tagged_versions_open(place: PlacedField) -> str | None:
    """Once tagged, a field stays tagged."""
    tagged = place.field.tagged_versions
    if tagged and not tagged.is_open:
        return f"taggedVersions {tagged} must have no end; write {tagged.lowest}+"
    return None


def tagged_within_versions(place: PlacedField) -> str | None:
    """A field is tagged in versions that it has."""
    field = place.field
    if field.versions.covers(field.tagged_versions):
        return None
    return f"taggedVersions {field.tagged_versions} must lie within versions {field.versions}"


def tagged_within_flexible(place: PlacedField) -> str | None:
    """A field is tagged in versions in which it is flexible."""
    field = place.field
    own = field.flexible_versions
    flexible = place.message.flexible_versions if own is None else own
    if not field.tagged_versions or flexible.covers(field.tagged_versions):
        return None
    return (
        f"taggedVersions {field.tagged_versions} must lie within flexibleVersions {flexible}, "
        "since only flexible versions have tags"
    )


def tagged_wholly_nullable_or_not(place: PlacedField) -> str | None:
    """A tagged field is nullable in all of its tagged versions or in none."""
    tagged, nullable = place.field.tagged_versions, place.field.nullable_versions
    if not tagged.intersect(nullable) or nullable.covers(tagged):
        return None
    return f"nullableVersions {nullable} must cover all of taggedVersions {tagged} or none of it"


def records_untagged(place: PlacedField) -> str | None:
    """Records are never tagged."""
    if _is(place, "records") and _is_tagged(place):
        return "records cannot be tagged; remove tag and taggedVersions, or use bytes"
    return None


def inline_struct_within_parent(place: PlacedField) -> str | None:
    """A struct exists in some version of what is around it."""
    field = place.field
    if not field.fields or struct_name(field.type) is None or _occurs(place):
        return None
    return (
        f"versions {field.versions} have nothing in common with {place.within}, "
        "the versions around it; change or remove the field"
    )


def default_fits_type(place: PlacedField) -> str | None:
    """A default is a value of the field's type."""
    try:
        default_value(place.field)
    except ValueError as error:
        return str(error)
    return None


def lies_outside_message(place: PlacedField) -> str | None:
    """A field without a struct of its own may lie outside, but there it never occurs."""
    if _occurs(place) or inline_struct_within_parent(place):
        return None
    return (
        f"versions {place.field.versions} lie outside {place.within}, the versions around it: "
        "the field never occurs"
    )


def _occurs(place: PlacedField) -> bool:
    """True where the field has a version, or where its surroundings have none to give."""
    return not place.within or bool(place.effective_versions)


def _is(place: PlacedField, *names: str) -> bool:
    return isinstance(place.field.type, Primitive) and place.field.type.name in names


def _is_tagged(place: PlacedField) -> bool:
    return place.field.tag is not None or bool(place.field.tagged_versions)


FIELD_ERRORS: tuple[FieldRule, ...] = (
    name_is_identifier,
    type_can_be_null,
    entity_type_fits,
    flexible_override_fits_type,
    flexible_override_within_message,
    zero_copy_fits_type,
    map_key_below_top_level,
    map_key_untagged,
    tag_and_tagged_versions_together,
    tag_not_negative,
    tagged_versions_open,
    tagged_within_versions,
    tagged_within_flexible,
    tagged_wholly_nullable_or_not,
    records_untagged,
    inline_struct_within_parent,
    default_fits_type,
)
FIELD_WARNINGS: tuple[FieldRule, ...] = (lies_outside_message,)
