"""Lists every difference of two sides: messages, keys of messages, fields, and error codes.

A fact is a key of a spec file with its value. Keys without a meaning for wire or code (`about`,
comments, the order of keys) are ignored. Rules:
- messages and fields are paired as in `pairs`; a field that replaces a removed one of the same
  type, versions and tag was renamed;
- an added or removed message is one difference. So is a field; the fields inside it follow;
- defaults are compared as values: `0x10` and `16` are equal;
- the path of a difference in an inline struct starts with the path of the field, in a common struct
  with the name of the struct.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from kraftwire_generator.checks.structs import placed_fields
from kraftwire_generator.comparison.evolution_rules import differ_in_default
from kraftwire_generator.comparison.pairs import pair_fields, pair_messages, same_shape, shape
from kraftwire_generator.comparison.sides import ComparedSide, SideMessage
from kraftwire_generator.importer.spec_text import field_facts, message_facts
from kraftwire_generator.language.spec import FieldSpec, field_path, walk_fields

DifferenceKind = Literal["added", "removed", "changed", "renamed", "moved"]
Facts = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class SpecDifference:
    """One difference.

    `message` and `module` are empty for an error code; `path` is the field path, empty for the
    message itself. `fact` is the key that changed; it is `message`, `field` or `error code` if a
    whole one was added or removed, and then `old` or `new` has its facts.
    """

    kind: DifferenceKind
    module: str
    message: str
    path: str
    fact: str
    old: object = None
    new: object = None


def diff_sides(old: ComparedSide, new: ComparedSide) -> list[SpecDifference]:
    """Return every difference: messages in the order of module and name, then error codes."""
    found: list[SpecDifference] = []
    for before, after in pair_messages(old, new):
        if before is not None and after is not None:
            found += _MessageDiff(before, after).changes()
        elif before is not None:
            found.append(_whole("removed", before, _summary(before), None))
        elif after is not None:
            found.append(_whole("added", after, None, _summary(after)))
    found.sort(key=lambda change: (change.module, change.message))
    found += _error_codes(old.error_codes, new.error_codes)
    return found


def _whole(
    kind: DifferenceKind, message: SideMessage, old: Facts | None, new: Facts | None
) -> SpecDifference:
    return SpecDifference(kind, message.module, message.spec.name, "", "message", old, new)


def _summary(message: SideMessage) -> Facts:
    facts = {key: value for key, value in message_facts(message.spec).items() if key != "name"}
    return facts | {"fields": sum(1 for _ in placed_fields(message.spec))}


class _MessageDiff:
    """Compares two specs of one message."""

    def __init__(self, old: SideMessage, new: SideMessage) -> None:
        self._old = old
        self._new = new
        # Paired common structs that are not compared yet.
        self._common: deque[tuple[str, str]] = deque()

    def changes(self) -> Iterator[SpecDifference]:
        """Yield every difference, those of the message before those of its fields."""
        old, new = self._old, self._new
        if old.spec.name != new.spec.name:
            yield self._change("renamed", "", "name", old.spec.name, new.spec.name)
        if old.module != new.module and old.module and new.module:  # a single file has none
            yield self._change("changed", "", "module", old.module, new.module)
        for key, before, after in _differences(message_facts(old.spec), message_facts(new.spec)):
            yield self._change("changed", "", key, before, after)
        yield from self._fields(old.spec.fields, new.spec.fields, "")
        for before_name, after_name in self._common_structs():
            first, second = old.resolved.structs[before_name], new.resolved.structs[after_name]
            if first.versions != second.versions:
                versions = str(first.versions), str(second.versions)
                yield self._change("changed", after_name, "versions", *versions)
            yield from self._fields(first.fields, second.fields, after_name)

    def _common_structs(self) -> Iterator[tuple[str, str]]:
        """Yield the paired common structs; comparing them may add those within them."""
        known: set[tuple[str, str]] = set()
        while self._common:
            names = self._common.popleft()
            if names not in known:
                known.add(names)
                yield names

    def _change(
        self, kind: DifferenceKind, path: str, fact: str, old: object = None, new: object = None
    ) -> SpecDifference:
        return SpecDifference(kind, self._new.module, self._new.spec.name, path, fact, old, new)

    def _fields(
        self, old: tuple[FieldSpec, ...], new: tuple[FieldSpec, ...], within: str
    ) -> Iterator[SpecDifference]:
        pairs = pair_fields(old, new, _look)
        for item in pairs.removed:
            yield from self._whole_fields("removed", item, within)
        for before, after in pairs.pairs:
            path = field_path(within, after.name)
            if before.name != after.name:
                yield self._change("renamed", path, "name", before.name, after.name)
            elif after.name in pairs.moved:
                yield self._change("moved", path, "field")
            yield from self._facts(before, after, path)
            yield from self._within(before, after, path)
        for item in pairs.added:
            yield from self._whole_fields("added", item, within)

    def _within(self, old: FieldSpec, new: FieldSpec, path: str) -> Iterator[SpecDifference]:
        before, after = old.struct_name, new.struct_name
        if before is None or after is None or not same_shape(old, new):
            return
        if old.fields or new.fields:  # one of them is inline
            first, second = self._old.resolved.structs[before], self._new.resolved.structs[after]
            yield from self._fields(first.fields, second.fields, path)
        else:
            self._common.append((before, after))

    def _facts(self, old: FieldSpec, new: FieldSpec, path: str) -> Iterator[SpecDifference]:
        same_default = same_shape(old, new) and not differ_in_default(old, new)
        for key, before, after in _differences(field_facts(old), field_facts(new)):
            if key != "default" or not same_default:
                yield self._change("changed", path, key, before, after)

    def _whole_fields(
        self, kind: DifferenceKind, top: FieldSpec, within: str
    ) -> Iterator[SpecDifference]:
        for path, item in walk_fields((top,), within):
            facts = {key: value for key, value in field_facts(item).items() if key != "name"}
            sides = (facts, None) if kind == "removed" else (None, facts)
            yield self._change(kind, path, "field", *sides)


def _look(field: FieldSpec) -> object:
    """Return what must be equal in a removed and an added field for it to be renamed."""
    return shape(field), field.versions, field.tag


def _differences(old: Facts, new: Facts) -> Iterator[tuple[str, object, object]]:
    """Yield the keys, except the name, whose values differ; None if a side lacks the key."""
    for key in dict.fromkeys((*old, *new)):
        if key != "name" and old.get(key) != new.get(key):
            yield key, old.get(key), new.get(key)


def _error_codes(
    old: Mapping[str, int] | None, new: Mapping[str, int] | None
) -> Iterator[SpecDifference]:
    if old is None or new is None:
        return
    codes = sorted({*old.values(), *new.values()})
    names = [{code: name for name, code in side.items()} for side in (old, new)]
    for code in codes:
        before, after = (side.get(code) for side in names)
        if before == after:
            continue
        kind: DifferenceKind = (
            "added" if before is None else "removed" if after is None else "renamed"
        )
        yield SpecDifference(kind, "", "", str(code), "error code", before, after)
