"""Pairs the fields of two specs of one message, version by version, and judges them.

A version's fields are those on its wire, ordinary or tagged. Equal names belong together;
what is left is paired by place, or by tag, where it looks alike: a renamed field.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from kraftwire_generator.comparing.evolution_report import Report
from kraftwire_generator.comparing.evolution_rules import (
    ABSENT_RULES,
    PRESENT_RULES,
    Judgement,
    Place,
    is_ordinary,
    is_tagged,
    moved,
    ordinary_added,
    ordinary_removed,
    tag_removed,
    tag_reused,
)
from kraftwire_generator.comparing.pairing import pair_fields, same_shape
from kraftwire_generator.defaults import default_value
from kraftwire_generator.field_types import Struct
from kraftwire_generator.header_rules import header_versions
from kraftwire_generator.resolve import ResolvedMessage, placed_fields, struct_name
from kraftwire_generator.spec import FieldSpec, MessageSpec
from kraftwire_generator.versions import VersionRange

_FieldPair = tuple[FieldSpec, FieldSpec]


@dataclass(frozen=True, slots=True)
class FieldMatch:
    """The fields of two structs in one version.

    `present` are pairs on the wire of both, `absent` pairs on the wire of neither; `others`
    is what there is to say of fields that are on one side only, or at another place.
    """

    present: tuple[_FieldPair, ...]
    absent: tuple[_FieldPair, ...]
    others: tuple[Judgement, ...]


def match_fields(old: Sequence[FieldSpec], new: Sequence[FieldSpec], version: int) -> FieldMatch:
    """Pair the fields of two structs in a version."""
    namesakes = {item.name: item for item in new}
    shared = [(item, namesakes[item.name]) for item in old if item.name in namesakes]
    by_name = [pair for pair in shared if all(version in item.versions for item in pair)]
    absent = [pair for pair in shared if not any(version in item.versions for item in pair)]
    tagged = [pair for pair in by_name if any(is_tagged(item, version) for item in pair)]
    not_in_line = {item.name for item, _ in tagged}
    lines = pair_fields(
        _in_line(old, version, not_in_line),
        _in_line(new, version, not_in_line),
        lambda before, after: _alike(before, after, version),
    )
    others = [moved(namesakes[name]) for name in sorted(lines.moved)]
    others += [ordinary_removed(item, namesakes.get(item.name)) for item in lines.removed]
    predecessors = {item.name: item for item in old}
    others += [ordinary_added(item, predecessors.get(item.name)) for item in lines.added]
    renamed, other_tags = _match_tags(old, new, {item.name for item, _ in by_name}, version)
    return FieldMatch((*lines.pairs, *tagged, *renamed), tuple(absent), (*others, *other_tags))


def _match_tags(
    old: Sequence[FieldSpec], new: Sequence[FieldSpec], named: set[str], version: int
) -> tuple[list[_FieldPair], list[Judgement]]:
    """Pair the tagged fields outside of `named`, the names that the version has on both sides."""
    gone = {item.tag: item for item in old if is_tagged(item, version)}
    come = {item.tag: item for item in new if is_tagged(item, version)}
    renamed: list[_FieldPair] = []
    others: list[Judgement] = []
    for tag, before in gone.items():
        after = come.get(tag)
        if after is None:
            if before.name not in named:
                others.append(tag_removed(before))
        elif after.name not in named:
            if before.name not in named and _alike(before, after, version):
                renamed.append((before, after))
            else:
                others.append(tag_reused(before, after))
    return renamed, others


def _in_line(fields: Sequence[FieldSpec], version: int, leave: set[str]) -> list[FieldSpec]:
    return [item for item in fields if is_ordinary(item, version) and item.name not in leave]


def _alike(old: FieldSpec, new: FieldSpec, version: int) -> bool:
    """True for fields that may be one under two names."""
    nullable = [version in item.nullable_versions for item in (old, new)]
    return same_shape(old, new) and nullable[0] == nullable[1]


def cut_versions(versions: VersionRange, bounds: Iterable[VersionRange]) -> list[VersionRange]:
    """The versions, cut wherever one of the bounds starts or ends."""
    if not versions:
        return []
    starts = {versions.lowest}
    for bound in bounds:
        if bound:
            starts |= {start for start in (bound.lowest, bound.highest + 1) if start in versions}
    edges = [*sorted(starts), versions.highest + 1]
    return [VersionRange(first, after - 1) for first, after in pairwise(edges)]


def message_bounds(*specs: MessageSpec) -> Iterator[VersionRange]:
    """The ranges at whose ends the form of a whole message can change."""
    for spec in specs:
        yield spec.flexible_versions
        yield from (body for body, _ in header_versions(spec))


@dataclass(frozen=True, slots=True)
class _Structs:
    """Two structs, or the two messages (""), that are one; `path` is how to name their fields."""

    path: str
    old: str
    new: str
    can_be_left_out: bool = False


class FieldJudge:
    """Walks the structs of two specs that belong together, span of versions by span."""

    def __init__(self, old: ResolvedMessage, new: ResolvedMessage, report: Report) -> None:
        self._old = old
        self._new = new
        self._report = report

    def run(self) -> None:
        """Judge every field, in every version that both specs have."""
        shared = self._old.spec.valid_versions.intersect(self._new.spec.valid_versions)
        bounds = [
            *message_bounds(self._old.spec, self._new.spec),
            *_field_bounds(self._old.spec),
            *_field_bounds(self._new.spec),
        ]
        for span in cut_versions(shared, bounds):
            # Common structs can make up far more paths than there are pairs of structs.
            known: set[tuple[str, str, bool]] = set()
            open_ends = [_Structs("", "", "")]
            while open_ends:
                structs = open_ends.pop()
                key = (structs.old, structs.new, structs.can_be_left_out)
                if key not in known:
                    known.add(key)
                    open_ends += self._judge(structs, span)

    def _judge(self, structs: _Structs, span: VersionRange) -> Iterator[_Structs]:
        """Judge the fields of two structs; the structs within them are yet to be judged."""
        version = span.lowest
        both_flexible = all(version in side.spec.flexible_versions for side in self._sides)
        place = Place(version, both_flexible, structs.can_be_left_out)
        old = _fields(self._old, structs.old)
        new = _fields(self._new, structs.new)
        match = match_fields(old, new, version)
        for rules, pairs in ((PRESENT_RULES, match.present), (ABSENT_RULES, match.absent)):
            for before, after in pairs:
                for rule in rules:
                    self._add(rule(before, after, place), structs, span)
        for judgement in match.others:
            self._add(judgement, structs, span)
        for before, after in match.present:
            yield from self._within(structs, before, after, version)

    @property
    def _sides(self) -> tuple[ResolvedMessage, ResolvedMessage]:
        return self._old, self._new

    def _within(
        self, structs: _Structs, old: FieldSpec, new: FieldSpec, version: int
    ) -> Iterator[_Structs]:
        """The structs of a field on both sides."""
        before, after = struct_name(old.type), struct_name(new.type)
        if before is None or after is None or not same_shape(old, new):
            return
        is_common = any(struct.name == after for struct in self._new.spec.common_structs)
        path = after if is_common else _path(structs.path, new)
        is_one = isinstance(old.type, Struct)
        starts_it = is_tagged(old, version) and None not in (default_value(old), default_value(new))
        left_out = is_one and (starts_it or structs.can_be_left_out)
        yield _Structs(path, before, after, left_out)

    def _add(self, judgement: Judgement | None, structs: _Structs, span: VersionRange) -> None:
        if judgement is None:
            return
        rule, severity, text, where = judgement
        spec = self._old.spec if rule == "removed" else self._new.spec
        path = _path(structs.path, where)
        self._report.add(rule, severity, text, spec, span, path, where.line)


def _field_bounds(spec: MessageSpec) -> Iterator[VersionRange]:
    for place in placed_fields(spec):
        item = place.field
        yield from (item.versions, item.nullable_versions, item.tagged_versions)
        if item.flexible_versions is not None:
            yield item.flexible_versions


def _fields(message: ResolvedMessage, struct: str) -> tuple[FieldSpec, ...]:
    return message.structs[struct].fields if struct else message.spec.fields


def _path(within: str, item: FieldSpec) -> str:
    return f"{within}.{item.name}" if within else item.name
