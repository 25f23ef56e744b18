"""Describes what changed from one version of a message to the next.

The fields of a struct are compared if both versions have the struct; otherwise the change lists
them. A version that becomes flexible has one change for that, not one for every length.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from kraftwire_generator.guide.wire_forms import WireField, WireForm, WireStruct
from kraftwire_generator.language.spec import MessageSpec, field_path
from kraftwire_generator.language.versions import VersionRange


@dataclass(frozen=True, slots=True)
class VersionChange:
    """One change; `path` is the field's path, empty for the whole message."""

    kind: Literal["added", "removed", "changed"]
    path: str
    text: str


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """The changes from the version before to the first of some equal versions."""

    versions: VersionRange
    changes: tuple[VersionChange, ...]
    is_first: bool


def history(spec: MessageSpec, forms: tuple[WireForm, ...]) -> tuple[HistoryEntry, ...]:
    """Return an entry for each form, in ascending order."""
    later = (
        HistoryEntry(new.versions, tuple(_changes(spec, old, new)), is_first=False)
        for old, new in pairwise(forms)
    )
    return (*(HistoryEntry(form.versions, (), is_first=True) for form in forms[:1]), *later)


def _changes(spec: MessageSpec, old: WireForm, new: WireForm) -> Iterator[VersionChange]:
    if new.flexible != old.flexible:
        yield VersionChange("changed", "", _flexible_text(spec, new))
    elif new.header_version != old.header_version:
        yield VersionChange("changed", "", f"{spec.type} header version {new.header_version}")
    if new.deprecated != old.deprecated:
        text = "deprecated from here on" if new.deprecated else "no longer deprecated"
        yield VersionChange("changed", "", text)
    before, after = _structs(old.body), _structs(new.body)
    for name, (path, struct) in after.items():
        if name in before:
            yield from _field_changes(before[name][1], struct, path, old, new)


def _flexible_text(spec: MessageSpec, new: WireForm) -> str:
    text = "flexible from here on: compact lengths, and a tag section at the end of every struct"
    if new.header_version is None:
        return text
    return f"{text}; {spec.type} header version {new.header_version}"


def _structs(body: WireStruct) -> dict[str, tuple[str, WireStruct]]:
    found = {"": ("", body)}
    for field in body.rows():
        if field.body is not None:
            found[field.type.struct] = (field.path, field.body)
    return found


def _field_changes(
    old: WireStruct, new: WireStruct, path: str, old_form: WireForm, new_form: WireForm
) -> Iterator[VersionChange]:
    before = {field.spec.name: field for field in (*old.fields, *old.tagged)}
    after = {field.spec.name: field for field in (*new.fields, *new.tagged)}
    became_flexible = old_form.flexible != new_form.flexible
    for name in dict.fromkeys((*after, *before)):
        here = field_path(path, name)
        if name not in before:
            yield VersionChange("added", here, _whole(after[name]))
        elif name not in after:
            yield VersionChange("removed", here, _whole(before[name]))
        else:
            texts = list(_differences(before[name], after[name], became_flexible))
            if texts:
                yield VersionChange("changed", here, "; ".join(texts))


def _whole(field: WireField) -> str:
    """Describe an added or removed field, with the names of the fields in it."""
    text = field.type.text if field.tag is None else f"{field.type.text}, tag {field.tag}"
    if field.body is None:
        return text
    names = [child.spec.name for child in (*field.body.fields, *field.body.tagged)]
    return f"{text}: {', '.join(names)}" if names else text


def _differences(old: WireField, new: WireField, became_flexible: bool) -> Iterator[str]:
    if old.type.nullable != new.type.nullable:
        yield "can be null" if new.type.nullable else "can no longer be null"
    if old.tag != new.tag:
        yield "an ordinary field" if new.tag is None else f"a tagged field, tag {new.tag}"
    if old.type.compact != new.type.compact and not became_flexible:
        yield "a compact length" if new.type.compact else "a classic length"
    if became_flexible and new.type.compact == old.type.compact and _has_own_length(new):
        yield "keeps its classic length"


def _has_own_length(field: WireField) -> bool:
    return not field.type.bytes_fixed and field.spec.flexible_versions is not None
