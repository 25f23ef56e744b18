"""Pairs the fields of a struct in one version of two specs.

Only fields that this version has on the wire are paired. Equal names come first. The other fields
are paired by position, or by tag, if the types match: they were renamed. A field that is renamed in
one version is renamed in all of them.

An ordinary struct that takes no bytes (possible in classic versions only) has no position, so it
may be added, removed and moved.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from kraftwire_generator.comparison.evolution_rules import (
    Judgement,
    moved,
    ordinary_added,
    ordinary_removed,
    tag_refused,
    tag_removed,
    tag_reused,
)
from kraftwire_generator.comparison.pairs import pair_fields, wire_shape
from kraftwire_generator.language.spec import FieldSpec

FieldPair = tuple[FieldSpec, FieldSpec]
Fields = Sequence[FieldSpec]


@dataclass(frozen=True, slots=True)
class FieldMatch:
    """The fields of two structs in one version.

    `present` has the pairs that both sides have on the wire, `absent` the pairs that neither has.
    `others` has judgements of fields that only one side has, or that moved.
    """

    present: tuple[FieldPair, ...]
    absent: tuple[FieldPair, ...]
    others: tuple[Judgement, ...]


def match_fields(
    old: Fields,
    new: Fields,
    version: int,
    renamed: Mapping[str, str],
    weightless: Collection[str] = (),
) -> FieldMatch:
    """Pair the fields of two structs in a version.

    `renamed` has the new names of fields that are renamed in other versions. `weightless` has the
    names of fields that take no bytes.
    """
    namesakes = {item.name: item for item in new}
    shared = [(item, namesakes[item.name]) for item in old if item.name in namesakes]
    by_name = [pair for pair in shared if all(version in item.versions for item in pair)]
    absent = [pair for pair in shared if not any(version in item.versions for item in pair)]
    out_of_line = [
        pair
        for pair in by_name
        if pair[0].name in weightless or any(item.is_tagged_in(version) for item in pair)
    ]
    leave = {*weightless, *(item.name for item, _ in out_of_line)}
    lines = pair_fields(
        _in_line(old, version, leave), _in_line(new, version, leave), _look(version), renamed
    )
    # For fields that one side lacks in this version: the same fields in its other versions.
    later = namesakes | {before: namesakes[after] for before, after in renamed.items()}
    former = {item.name: item for item in old}
    former |= {after: former[before] for before, after in renamed.items()}
    others = [moved(namesakes[name]) for name in sorted(lines.moved)]
    others += [ordinary_removed(item, later.get(item.name)) for item in lines.removed]
    others += [ordinary_added(item, former.get(item.name)) for item in lines.added]
    renamed_tags, other_tags = _match_tags(old, new, {item.name for item, _ in by_name}, version)
    present = (*lines.pairs, *out_of_line, *renamed_tags)
    return FieldMatch(present, tuple(absent), (*others, *other_tags))


def renamed_fields(old: Fields, new: Fields, versions: Iterable[int]) -> dict[str, str]:
    """Return the new names of ordinary fields that are renamed in any of the versions."""
    names = [{item.name for item in fields} for fields in (old, new)]
    if not names[0] - names[1] or not names[1] - names[0]:
        return {}
    found: dict[str, str] = {}
    for version in versions:
        pairs = pair_fields(_in_line(old, version), _in_line(new, version), _look(version))
        for before, after in pairs.counted.items():
            if before not in names[1] and after not in names[0]:
                found.setdefault(before, after)
    one_each: dict[str, str] = {}
    for before, after in found.items():
        one_each.setdefault(after, before)
    return {before: after for after, before in one_each.items()}


def _match_tags(
    old: Fields, new: Fields, named: set[str], version: int
) -> tuple[list[FieldPair], list[Judgement]]:
    """Pair the tagged fields that are not in `named`, the names that both sides have."""
    look = _look(version)
    known_before, known_after = (
        {item.tag: item for item in fields if item.tag is not None} for fields in (old, new)
    )
    sent_before, sent_after = (
        {tag: item for tag, item in side.items() if item.is_tagged_in(version)}
        for side in (known_before, known_after)
    )
    renamed: list[FieldPair] = []
    others: list[Judgement] = []
    for tag, before in sent_before.items():
        after = sent_after.get(tag)
        if after is None:
            if before.name not in named:
                known = known_after.get(tag)
                others.append(
                    tag_refused(before, known, is_new=False) if known else tag_removed(before)
                )
        elif not {before.name, after.name} & named and look(before) == look(after):
            renamed.append((before, after))
        elif not {before.name, after.name} <= named:
            others.append(tag_reused(before, after))
    for tag, after in sent_after.items():
        if tag in known_before and tag not in sent_before and after.name not in named:
            others.append(tag_refused(known_before[tag], after, is_new=True))
    return renamed, others


def _in_line(fields: Fields, version: int, leave: Collection[str] = ()) -> list[FieldSpec]:
    return [item for item in fields if item.is_ordinary_in(version) and item.name not in leave]


def _look(version: int) -> Callable[[FieldSpec], object]:
    return lambda item: (wire_shape(item), version in item.nullable_versions)
