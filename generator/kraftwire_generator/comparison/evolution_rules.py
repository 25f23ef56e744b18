"""What a change of one field means in one version that both specs have; a function per rule.

The wire breaks (error) where bytes of that version that were written by the old spec are
read differently or not at all by the new one, or the other way round:
- type          another type. bytes and records are the same bytes: a warning
- nullability   null came, and old readers fail on it, or went, and old data with null is lost
- tagged        a tagged field became an ordinary one, or the reverse
- tag           the field has another tag
- encoding      a string or bytes changed between the classic and the compact form
- default       of a tagged field: left out means another value now. So do the defaults
                inside of a struct that is left out as a whole
- removed, added, versions, moved    the ordinary fields are not the same in the same order
- reused        a tag belongs to a field of another name that looks different
- versions, reused    of a tag that the other side has in later versions only: readers refuse
                a tag that they know, in a version that lacks it

Only users of the code notice (warning):
- default       of an ordinary field: other values are written where nobody set it, and read
                where the version lacks it
- ignorable     encoding refuses a value, in a version that lacks the field, that it dropped
- renamed       the same bytes under another name, in code and in JSON
- struct        the struct of a field has another name
- removed       of a tagged field: readers skip an unknown tag, so that its value is lost

No finding: a tag that nobody had, in a version that is flexible already, and whatever has no
wire effect (ignorable switched on, mapKey, entityType, zeroCopy, about).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from kraftwire_generator.checks.structs import struct_name
from kraftwire_generator.comparison.pairs import same_shape, shape, wire_shape
from kraftwire_generator.errors import Severity
from kraftwire_generator.language.defaults import default_value
from kraftwire_generator.language.spec import FieldSpec


class Judgement(NamedTuple):
    """What a rule has to say; `field` is where it stands in its file."""

    rule: str
    severity: Severity
    text: str
    field: FieldSpec


@dataclass(frozen=True, slots=True)
class Place:
    """One version of both specs; `can_be_left_out` inside of a struct whose absence is a value."""

    version: int
    both_flexible: bool
    can_be_left_out: bool = False


PairRule = Callable[[FieldSpec, FieldSpec, Place], Judgement | None]


def is_tagged(field: FieldSpec, version: int) -> bool:
    """True where the field goes into the tag section."""
    return version in field.versions and version in field.tagged_versions


def is_ordinary(field: FieldSpec, version: int) -> bool:
    """True where the field stands in line with the others."""
    return version in field.versions and version not in field.tagged_versions


# -- one field of both specs -----------------------------------------------------------------


def type_changed(old: FieldSpec, new: FieldSpec, place: Place) -> Judgement | None:
    """The value takes other bytes, or the same bytes are another value."""
    if same_shape(old, new):
        return None
    text = f"the type was {old.type}, is {new.type}"
    if wire_shape(old) == wire_shape(new):
        return Judgement("type", "warning", f"{text}: the same bytes on the wire", new)
    return Judgement("type", "error", text, new)


def nullability_changed(old: FieldSpec, new: FieldSpec, place: Place) -> Judgement | None:
    """Null can be read on one side only."""
    before, after = (place.version in field.nullable_versions for field in (old, new))
    if before == after or wire_shape(old) != wire_shape(new):
        return None
    if shape(old) == (False, "struct"):
        consequence = "a byte that says so stands before it on one side only"
    else:
        consequence = "older readers fail on null" if after else "null that was written is refused"
    text = "can be null now" if after else "cannot be null any more"
    return Judgement("nullability", "error", f"{text}: {consequence}", new)


def tagging_changed(old: FieldSpec, new: FieldSpec, place: Place) -> Judgement | None:
    """The field is in line in one spec and in the tag section in the other."""
    before, after = (is_tagged(field, place.version) for field in (old, new))
    if before == after:
        return None
    text = f"got tag {new.tag}, stood in line" if after else f"had tag {old.tag}, stands in line"
    return Judgement("tagged", "error", text, new)


def tag_changed(old: FieldSpec, new: FieldSpec, place: Place) -> Judgement | None:
    """Readers look for the field under another tag."""
    tagged = is_tagged(old, place.version) and is_tagged(new, place.version)
    if not tagged or old.tag == new.tag:
        return None
    return Judgement("tag", "error", f"the tag was {old.tag}, is {new.tag}", new)


def encoding_changed(old: FieldSpec, new: FieldSpec, place: Place) -> Judgement | None:
    """The field's own flexibleVersions decide between two forms of its length."""
    if not place.both_flexible:
        return None
    before, after = (
        field.flexible_versions is None or place.version in field.flexible_versions
        for field in (old, new)
    )
    if before == after:
        return None
    form = "compact" if after else "classic"
    return Judgement("encoding", "error", f"its length is written in the {form} form now", new)


def default_changed(old: FieldSpec, new: FieldSpec, place: Place) -> Judgement | None:
    """Another value where the field is left out, or where nobody set it."""
    if wire_shape(old) != wire_shape(new) or not differ_in_default(old, new):
        return None
    text = f"the default was {default_text(old)}, is {default_text(new)}"
    tagged = is_tagged(old, place.version) and is_tagged(new, place.version)
    if tagged or (place.can_be_left_out and is_ordinary(old, place.version)):
        what = "a tagged field" if tagged else "the tagged struct around it"
        why = f"{what} is left out where it holds its default"
        return Judgement("default", "error", f"{text}: {why}", new)
    if place.version in old.versions:
        why = "other values are written where nobody sets it"
    else:
        why = "other values are read, since this version lacks the field"
    return Judgement("default", "warning", f"{text}: {why}", new)


def ignorable_dropped(old: FieldSpec, new: FieldSpec, place: Place) -> Judgement | None:
    """Versions that lack the field refuse what they dropped."""
    if new.ignorable or not old.ignorable:
        return None
    text = "is not ignorable any more: encoding refuses values that this version cannot hold"
    return Judgement("ignorable", "warning", text, new)


def renamed(old: FieldSpec, new: FieldSpec, place: Place) -> Judgement | None:
    """Code and JSON that use the old name break."""
    if old.name == new.name:
        return None
    return Judgement("renamed", "warning", f"was called {old.name}", new)


def struct_renamed(old: FieldSpec, new: FieldSpec, place: Place) -> Judgement | None:
    """Code that names the class breaks."""
    before, after = struct_name(old.type), struct_name(new.type)
    if before == after or before is None or after is None:
        return None
    return Judgement("struct", "warning", f"its struct was called {before}, is {after}", new)


# Of fields that the version has in both specs, and of those that it has in neither.
PRESENT_RULES: tuple[PairRule, ...] = (
    type_changed,
    nullability_changed,
    tagging_changed,
    tag_changed,
    encoding_changed,
    default_changed,
    renamed,
    struct_renamed,
)
ABSENT_RULES: tuple[PairRule, ...] = (default_changed, ignorable_dropped)


# -- a field of one spec ---------------------------------------------------------------------


def ordinary_removed(old: FieldSpec, namesake: FieldSpec | None) -> Judgement:
    """An ordinary field that this version had; `namesake` is in other versions of the new spec."""
    if namesake is None:
        text = f"removed ({old.type}): what follows it is read from the wrong byte"
        return Judgement("removed", "error", text, old)
    return _versions_changed(old, namesake, "this version had the field")


def ordinary_added(new: FieldSpec, namesake: FieldSpec | None) -> Judgement:
    """An ordinary field that this version lacked; `namesake` is in other versions of the old."""
    if namesake is None:
        text = f"added ({new.type}) to a version that exists already"
        return Judgement("added", "error", text, new)
    return _versions_changed(namesake, new, "this version lacked the field")


def _versions_changed(old: FieldSpec, new: FieldSpec, what: str) -> Judgement:
    text = f"the versions were {old.versions}, are {new.versions}: {what}"
    return Judgement("versions", "error", text, new)


def moved(field: FieldSpec) -> Judgement:
    """Old bytes give its value to another field."""
    return Judgement("moved", "error", "stands at another place among the fields", field)


def tag_removed(old: FieldSpec) -> Judgement:
    """A tagged field that this version had."""
    text = f"tag {old.tag} removed: readers skip it, and its value is lost"
    return Judgement("removed", "warning", text, old)


def tag_reused(old: FieldSpec, new: FieldSpec) -> Judgement:
    """A tag that goes to a field of another name."""
    text = f"tag {new.tag} was {old.name} ({old.type}), is {new.name} ({new.type})"
    return Judgement("reused", "error", text, new)


def tag_refused(old: FieldSpec, new: FieldSpec, *, came: bool) -> Judgement:
    """A tag that one side sends, and that the other knows, but not in this version."""
    rule = "versions" if old.name == new.name else "reused"
    if came:
        text = f"tag {new.tag} is new in this version: older readers refuse it, since they have it"
        known = old
    else:
        text = f"tag {old.tag} was sent in this version, and is refused now: it is known"
        known = new
    return Judgement(rule, "error", f"{text} in {known.tagged_versions} ({known.name})", new)


# -- defaults --------------------------------------------------------------------------------


def differ_in_default(old: FieldSpec, new: FieldSpec) -> bool:
    """True where the two values are not the same, however they are written."""
    before, after = default_value(old), default_value(new)
    # repr: NaN is not equal to itself, and -0.0 is equal to 0.0 but not the same bytes
    return repr(before) != repr(after)


def default_text(field: FieldSpec) -> str:
    """The default as a person would write it."""
    value = default_value(field)
    if value is None:
        return "null"
    if value == () or value == b"":
        return "empty"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    return str(value)
