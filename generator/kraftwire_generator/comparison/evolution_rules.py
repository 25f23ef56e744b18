"""Judges the change of one field in one version that both specs have; one function per rule.

The wire format breaks (error) if one spec reads the bytes that the other wrote differently, or not
at all:
- type          another type; bytes and records are the same bytes, so that is a warning
- nullability   null was added and old readers fail on it, or removed and old data is lost
- tagged        a tagged field became an ordinary one, or the reverse
- tag           the field has another tag
- encoding      a string or bytes changed between the classic and the compact form
- default       of a tagged field, because its absence now means another value; also the defaults
                in a struct whose absence means a struct of defaults
- removed, added, versions, moved    the ordinary fields or their order changed
- reused        a tag belongs to a field with another name and another type
- versions, reused    one side sends a tag that the other side has in later versions only: readers
                refuse a known tag in a version that lacks it

Only code or JSON that uses the message is affected (warning):
- default       of an ordinary field: another value is written if nobody sets it, and read in
                versions that lack it
- ignorable     encoding refuses a value that it used to drop in versions that lack the field
- renamed       the same bytes under another name
- struct        the struct of a field has another name
- removed       of a tagged field: readers skip an unknown tag, so its value is lost

No finding: a new tag in a version that was flexible already, and everything without an effect on
the wire (ignorable switched on, mapKey, entityType, zeroCopy, about).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from kraftwire_generator.comparison.pairs import same_shape, shape, wire_shape
from kraftwire_generator.errors import Severity
from kraftwire_generator.language.defaults import default_text, default_value
from kraftwire_generator.language.spec import FieldSpec


class Judgement(NamedTuple):
    """The result of a rule; `field` gives the line in the file."""

    rule: str
    severity: Severity
    text: str
    field: FieldSpec


@dataclass(frozen=True, slots=True)
class VersionContext:
    """One version of both specs; `can_be_left_out` is True in a struct whose absence is a value."""

    version: int
    both_flexible: bool
    can_be_left_out: bool = False


PairRule = Callable[[FieldSpec, FieldSpec, VersionContext], Judgement | None]


# -- one field of both specs -----------------------------------------------------------------


def _type_changed(old: FieldSpec, new: FieldSpec, context: VersionContext) -> Judgement | None:
    if same_shape(old, new):
        return None
    text = f"the type was {old.type}, is {new.type}"
    if wire_shape(old) == wire_shape(new):
        return Judgement("type", "warning", f"{text}: the same bytes on the wire", new)
    return Judgement("type", "error", text, new)


def _nullability_changed(
    old: FieldSpec, new: FieldSpec, context: VersionContext
) -> Judgement | None:
    before, after = (context.version in field.nullable_versions for field in (old, new))
    if before == after or wire_shape(old) != wire_shape(new):
        return None
    if shape(old) == (False, "struct"):
        consequence = "the byte that marks null precedes it on one side only"
    else:
        consequence = "older readers fail on null" if after else "null in old data is refused"
    text = "can be null now" if after else "can no longer be null"
    return Judgement("nullability", "error", f"{text}: {consequence}", new)


def _tagging_changed(old: FieldSpec, new: FieldSpec, context: VersionContext) -> Judgement | None:
    before, after = (field.is_tagged_in(context.version) for field in (old, new))
    if before == after:
        return None
    text = f"got tag {new.tag}, was ordinary" if after else f"had tag {old.tag}, is ordinary"
    return Judgement("tagged", "error", text, new)


def _tag_changed(old: FieldSpec, new: FieldSpec, context: VersionContext) -> Judgement | None:
    tagged = old.is_tagged_in(context.version) and new.is_tagged_in(context.version)
    if not tagged or old.tag == new.tag:
        return None
    return Judgement("tag", "error", f"the tag was {old.tag}, is {new.tag}", new)


def _encoding_changed(old: FieldSpec, new: FieldSpec, context: VersionContext) -> Judgement | None:
    if not context.both_flexible:
        return None
    before, after = (
        field.flexible_versions is None or context.version in field.flexible_versions
        for field in (old, new)
    )
    if before == after:
        return None
    form = "compact" if after else "classic"
    return Judgement("encoding", "error", f"its length now has the {form} form", new)


def _default_changed(old: FieldSpec, new: FieldSpec, context: VersionContext) -> Judgement | None:
    if wire_shape(old) != wire_shape(new) or not differ_in_default(old, new):
        return None
    text = f"the default was {_default_of(old)}, is {_default_of(new)}"
    tagged = old.is_tagged_in(context.version) and new.is_tagged_in(context.version)
    if tagged or (context.can_be_left_out and old.is_ordinary_in(context.version)):
        what = "a tagged field" if tagged else "the tagged struct around it"
        why = f"{what} is left out if it has its default"
        return Judgement("default", "error", f"{text}: {why}", new)
    if context.version in old.versions:
        why = "another value is written if nobody sets it"
    else:
        why = "another value is read, since this version lacks the field"
    return Judgement("default", "warning", f"{text}: {why}", new)


def _ignorable_dropped(old: FieldSpec, new: FieldSpec, context: VersionContext) -> Judgement | None:
    if new.ignorable or not old.ignorable:
        return None
    text = "is no longer ignorable: encoding refuses values that this version cannot hold"
    return Judgement("ignorable", "warning", text, new)


def _renamed(old: FieldSpec, new: FieldSpec, context: VersionContext) -> Judgement | None:
    if old.name == new.name:
        return None
    return Judgement("renamed", "warning", f"was called {old.name}", new)


def _struct_renamed(old: FieldSpec, new: FieldSpec, context: VersionContext) -> Judgement | None:
    before, after = old.struct_name, new.struct_name
    if before == after or before is None or after is None:
        return None
    return Judgement("struct", "warning", f"its struct was called {before}, is {after}", new)


# The rules for fields that the version has in both specs, and for fields that it has in neither.
PRESENT_RULES: tuple[PairRule, ...] = (
    _type_changed,
    _nullability_changed,
    _tagging_changed,
    _tag_changed,
    _encoding_changed,
    _default_changed,
    _renamed,
    _struct_renamed,
)
ABSENT_RULES: tuple[PairRule, ...] = (_default_changed, _ignorable_dropped)


# -- a field of one spec ---------------------------------------------------------------------


def ordinary_removed(old: FieldSpec, namesake: FieldSpec | None) -> Judgement:
    """Judge a removed field; `namesake` is the field in other versions of the new spec."""
    if namesake is None:
        text = f"removed ({old.type}): the fields after it are read from the wrong byte"
        return Judgement("removed", "error", text, old)
    return _versions_changed(old, namesake, "this version had the field")


def ordinary_added(new: FieldSpec, namesake: FieldSpec | None) -> Judgement:
    """Judge an added field; `namesake` is the field in other versions of the old spec."""
    if namesake is None:
        text = f"added ({new.type}) to a version that exists already"
        return Judgement("added", "error", text, new)
    return _versions_changed(namesake, new, "this version lacked the field")


def _versions_changed(old: FieldSpec, new: FieldSpec, what: str) -> Judgement:
    text = f"the versions were {old.versions}, are {new.versions}: {what}"
    return Judgement("versions", "error", text, new)


def moved(field: FieldSpec) -> Judgement:
    """Judge a field that moved, so that its bytes are read as another field."""
    return Judgement("moved", "error", "moved to another position among the fields", field)


def tag_removed(old: FieldSpec) -> Judgement:
    """Judge a tagged field that was removed from this version."""
    text = f"tag {old.tag} removed: readers skip it, and its value is lost"
    return Judgement("removed", "warning", text, old)


def tag_reused(old: FieldSpec, new: FieldSpec) -> Judgement:
    """Judge a tag that moved to a field of another name."""
    text = f"tag {new.tag} was {old.name} ({old.type}), is {new.name} ({new.type})"
    return Judgement("reused", "error", text, new)


def tag_refused(old: FieldSpec, new: FieldSpec, *, is_new: bool) -> Judgement:
    """Judge a tag that one side sends, and that the other side has in other versions only."""
    rule = "versions" if old.name == new.name else "reused"
    if is_new:
        text = f"tag {new.tag} is new in this version: older readers refuse it, since they know it"
        known = old
    else:
        text = f"tag {old.tag} was sent in this version, and is refused now, since it is known"
        known = new
    return Judgement(rule, "error", f"{text} in {known.tagged_versions} ({known.name})", new)


# -- defaults --------------------------------------------------------------------------------


def differ_in_default(old: FieldSpec, new: FieldSpec) -> bool:
    """Whether the defaults differ as values, however they are written."""
    before, after = default_value(old), default_value(new)
    # repr, since NaN is not equal to itself, and -0.0 is equal to 0.0 but has other bytes
    return repr(before) != repr(after)


def _default_of(field: FieldSpec) -> str:
    default = default_value(field)
    return "empty" if default == () else default_text(default)
