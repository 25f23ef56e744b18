"""Walks the structs of two specs that belong together, version by version, and judges them.

Versions in which neither spec changes its form make up a span, and are judged at once. What
the fields of a span are to each other, field_match says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

from kraftwire_generator.checks.structs import ResolvedMessage, placed_fields, struct_name
from kraftwire_generator.comparison.evolution_report import Report
from kraftwire_generator.comparison.evolution_rules import (
    ABSENT_RULES,
    PRESENT_RULES,
    Judgement,
    Place,
    is_tagged,
)
from kraftwire_generator.comparison.field_match import match_fields, renamed_fields
from kraftwire_generator.comparison.pairs import same_shape
from kraftwire_generator.language.defaults import default_value
from kraftwire_generator.language.field_types import Struct
from kraftwire_generator.language.header_versions import header_versions
from kraftwire_generator.language.spec import FieldSpec, MessageSpec
from kraftwire_generator.language.versions import VersionRange


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
    """Judges the fields of two specs of one message."""

    def __init__(self, old: ResolvedMessage, new: ResolvedMessage, report: Report) -> None:
        self._old = old
        self._new = new
        self._report = report
        self._common = {struct.name for struct in new.spec.common_structs}
        self._renamed: dict[tuple[str, str], Mapping[str, str]] = {}
        self._different: dict[tuple[int, int], bool] = {}
        self._weights = [_Weights(old), _Weights(new)]

    def run(self) -> None:
        """Judge every field, in every version that both specs have."""
        for span in self._spans:
            # Common structs can make up far more paths than there are pairs of structs.
            known: set[tuple[str, str, bool]] = set()
            open_ends = [_Structs("", "", "")]
            while open_ends:
                structs = open_ends.pop()
                key = (structs.old, structs.new, structs.can_be_left_out)
                if key not in known:
                    known.add(key)
                    open_ends += self._judge(structs, span)

    @cached_property
    def _spans(self) -> list[VersionRange]:
        shared = self._old.spec.valid_versions.intersect(self._new.spec.valid_versions)
        bounds = [
            *message_bounds(self._old.spec, self._new.spec),
            *_field_bounds(self._old.spec),
            *_field_bounds(self._new.spec),
        ]
        return cut_versions(shared, bounds)

    def _judge(self, structs: _Structs, span: VersionRange) -> Iterator[_Structs]:
        """Judge the fields of two structs; the structs within them are yet to be judged."""
        version = span.lowest
        both_flexible = all(
            version in side.spec.flexible_versions for side in (self._old, self._new)
        )
        place = Place(version, both_flexible, structs.can_be_left_out)
        old = _fields(self._old, structs.old)
        new = _fields(self._new, structs.new)
        match = match_fields(
            old, new, version, self._renames(structs), self._weightless(old, new, version)
        )
        for rules, pairs in ((PRESENT_RULES, match.present), (ABSENT_RULES, match.absent)):
            for before, after in pairs:
                if self._differ(before, after):
                    for rule in rules:
                        self._add(rule(before, after, place), structs, span)
        for judgement in match.others:
            self._add(judgement, structs, span)
        for before, after in match.present:
            yield from self._within(structs, before, after, version)

    def _renames(self, structs: _Structs) -> Mapping[str, str]:
        """The new names of fields, as any of the versions shows them."""
        names = (structs.old, structs.new)
        if names not in self._renamed:
            old, new = _fields(self._old, structs.old), _fields(self._new, structs.new)
            versions = (span.lowest for span in self._spans)
            self._renamed[names] = renamed_fields(old, new, versions)
        return self._renamed[names]

    def _differ(self, old: FieldSpec, new: FieldSpec) -> bool:
        """True for fields that differ in something that a rule looks at."""
        pair = (id(old), id(new))
        if pair not in self._different:
            same = replace(new, line=old.line, about=old.about, fields=old.fields)
            self._different[pair] = same != old
        return self._different[pair]

    def _weightless(
        self, old: Iterable[FieldSpec], new: Iterable[FieldSpec], version: int
    ) -> set[str]:
        """The names of ordinary fields without any bytes, on each side that has them."""
        sides = zip(self._weights, (old, new), strict=True)
        without, others = set[str](), set[str]()
        for weights, fields in sides:
            for item in fields:
                if version in item.versions:
                    (others if weights.has_bytes(item, version) else without).add(item.name)
        return without - others

    def _within(
        self, structs: _Structs, old: FieldSpec, new: FieldSpec, version: int
    ) -> Iterator[_Structs]:
        """The structs of a field on both sides."""
        before, after = struct_name(old.type), struct_name(new.type)
        if before is None or after is None or not same_shape(old, new):
            return
        path = after if after in self._common else _path(structs.path, new)
        # A struct that is null by default is sent whole, or is null: its defaults are no values.
        is_by_default = isinstance(old.type, Struct) and None not in map(default_value, (old, new))
        left_out = is_by_default and (is_tagged(old, version) or structs.can_be_left_out)
        yield _Structs(path, before, after, left_out)

    def _add(self, judgement: Judgement | None, structs: _Structs, span: VersionRange) -> None:
        if judgement is None:
            return
        rule, severity, text, where = judgement
        spec = self._old.spec if rule == "removed" else self._new.spec
        path = _path(structs.path, where)
        self._report.add(rule, severity, text, spec, span, path, where.line)


@dataclass(slots=True)
class _Weights:
    """Whether the ordinary fields of a message take any bytes.

    In classic versions a struct is no more than its fields, and it may have none of them.
    """

    message: ResolvedMessage
    _known: dict[tuple[str, int], bool] = field(default_factory=dict)

    def has_bytes(self, item: FieldSpec, version: int) -> bool:
        """True unless the field is a struct without bytes."""
        if not isinstance(item.type, Struct) or version in item.nullable_versions:
            return True
        if version in self.message.spec.flexible_versions:
            return True
        key = (item.type.name, version)
        if key not in self._known:
            self._known[key] = any(
                version in inner.versions and self.has_bytes(inner, version)
                for inner in self.message.structs[item.type.name].fields
            )
        return self._known[key]


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
