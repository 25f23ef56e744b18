"""Walks the paired structs of two specs, version by version, and applies the rules to their fields.

Neighbouring versions that are equal in each spec form a span, and are judged together.
`field_match` pairs the fields of a span.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from kraftwire_generator.checks.structs import ResolvedMessage, placed_fields
from kraftwire_generator.comparison.evolution_report import EvolutionReport
from kraftwire_generator.comparison.evolution_rules import (
    ABSENT_RULES,
    PRESENT_RULES,
    Judgement,
    VersionContext,
)
from kraftwire_generator.comparison.field_match import match_fields, renamed_fields
from kraftwire_generator.comparison.pairs import same_shape
from kraftwire_generator.language.defaults import default_value
from kraftwire_generator.language.field_types import Struct
from kraftwire_generator.language.header_versions import header_versions
from kraftwire_generator.language.spec import FieldSpec, MessageSpec, field_path
from kraftwire_generator.language.versions import VersionRange


def message_bounds(*specs: MessageSpec) -> Iterator[VersionRange]:
    """Yield the ranges at whose ends the encoding of whole messages can change."""
    for spec in specs:
        yield spec.flexible_versions
        yield from (body for body, _ in header_versions(spec))


@dataclass(frozen=True, slots=True)
class _StructPair:
    """The names of two paired structs, or "" for the messages; `path` goes before field names."""

    path: str
    old: str
    new: str
    can_be_left_out: bool = False


class FieldJudge:
    """Judges the fields of two specs of one message."""

    def __init__(self, old: ResolvedMessage, new: ResolvedMessage, report: EvolutionReport) -> None:
        self._old = old
        self._new = new
        self._report = report
        self._common = {struct.name for struct in new.spec.common_structs}
        self._renamed: dict[tuple[str, str], Mapping[str, str]] = {}
        self._different: dict[tuple[int, int], bool] = {}
        self._weights = [_Weights(old), _Weights(new)]

    def run(self) -> None:
        """Judge every field in every version that both specs have."""
        for span in self._spans:
            # Common structs can form far more paths than there are pairs of structs.
            known: set[tuple[str, str, bool]] = set()
            waiting = [_StructPair("", "", "")]
            while waiting:
                structs = waiting.pop()
                key = (structs.old, structs.new, structs.can_be_left_out)
                if key not in known:
                    known.add(key)
                    waiting += self._judge(structs, span)

    @cached_property
    def _spans(self) -> list[VersionRange]:
        shared = self._old.spec.valid_versions.intersect(self._new.spec.valid_versions)
        bounds = [
            *message_bounds(self._old.spec, self._new.spec),
            *(bound for place in placed_fields(self._old.spec) for bound in place.field.bounds),
            *(bound for place in placed_fields(self._new.spec) for bound in place.field.bounds),
        ]
        return shared.split(bounds)

    def _judge(self, structs: _StructPair, span: VersionRange) -> Iterator[_StructPair]:
        """Judge the fields of two structs, and yield the pairs of structs within them."""
        version = span.lowest
        both_flexible = all(
            version in side.spec.flexible_versions for side in (self._old, self._new)
        )
        context = VersionContext(version, both_flexible, structs.can_be_left_out)
        old = _fields(self._old, structs.old)
        new = _fields(self._new, structs.new)
        match = match_fields(
            old, new, version, self._renames(structs), self._weightless(old, new, version)
        )
        for rules, pairs in ((PRESENT_RULES, match.present), (ABSENT_RULES, match.absent)):
            for before, after in pairs:
                if self._differ(before, after):
                    for rule in rules:
                        self._add(rule(before, after, context), structs, span)
        for judgement in match.others:
            self._add(judgement, structs, span)
        for before, after in match.present:
            yield from self._within(structs, before, after, version)

    def _renames(self, structs: _StructPair) -> Mapping[str, str]:
        names = (structs.old, structs.new)
        if names not in self._renamed:
            old, new = _fields(self._old, structs.old), _fields(self._new, structs.new)
            versions = (span.lowest for span in self._spans)
            self._renamed[names] = renamed_fields(old, new, versions)
        return self._renamed[names]

    def _differ(self, old: FieldSpec, new: FieldSpec) -> bool:
        """Whether two fields differ in anything that a rule reads."""
        pair = (id(old), id(new))
        if pair not in self._different:
            same = replace(new, line=old.line, about=old.about, fields=old.fields)
            self._different[pair] = same != old
        return self._different[pair]

    def _weightless(
        self, old: Iterable[FieldSpec], new: Iterable[FieldSpec], version: int
    ) -> set[str]:
        """Return the names of ordinary fields that take no bytes on any side that has them."""
        sides = zip(self._weights, (old, new), strict=True)
        without, others = set[str](), set[str]()
        for weights, fields in sides:
            for item in fields:
                if version in item.versions:
                    (others if weights.has_bytes(item, version) else without).add(item.name)
        return without - others

    def _within(
        self, structs: _StructPair, old: FieldSpec, new: FieldSpec, version: int
    ) -> Iterator[_StructPair]:
        before, after = old.struct_name, new.struct_name
        if before is None or after is None or not same_shape(old, new):
            return
        path = after if after in self._common else field_path(structs.path, new.name)
        # A struct that is null by default is null or sent whole, so its own defaults do not matter.
        is_by_default = isinstance(old.type, Struct) and None not in map(default_value, (old, new))
        left_out = is_by_default and (old.is_tagged_in(version) or structs.can_be_left_out)
        yield _StructPair(path, before, after, left_out)

    def _add(self, judgement: Judgement | None, structs: _StructPair, span: VersionRange) -> None:
        if judgement is None:
            return
        rule, severity, text, where = judgement
        spec = self._old.spec if rule == "removed" else self._new.spec
        path = field_path(structs.path, where.name)
        self._report.add(rule, severity, text, spec, span, path, where.line)


@dataclass(slots=True)
class _Weights:
    """Determines which ordinary fields of a message take bytes on the wire.

    In a classic version, a struct is only its fields, and may have none.
    """

    message: ResolvedMessage
    _known: dict[tuple[str, int], bool] = field(default_factory=dict)

    def has_bytes(self, item: FieldSpec, version: int) -> bool:
        """Whether the field is anything other than a struct without bytes."""
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


def _fields(message: ResolvedMessage, struct: str) -> tuple[FieldSpec, ...]:
    return message.structs[struct].fields if struct else message.spec.fields
