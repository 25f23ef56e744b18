"""Writes the bodies of `_decode` and `_encode` of one class, as statements.

Fields are in the order of the spec. Neighbours with equal conditions share an `if`, runs of
fixed-size fields share a call, and the tag section comes last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby

from kraftwire_generator.language.spec import FieldSpec
from kraftwire_generator.language.versions import VersionRange
from kraftwire_generator.plan.conditions import (
    Cases,
    branches,
    condition,
    merge_cases,
    split_cases,
)
from kraftwire_generator.plan.field_code import Action, FieldCode, FixedField
from kraftwire_generator.plan.plan_data import Branch, Statement

_KEEP_UNKNOWN = "message.unknown_tagged_fields.append(reader.read_unknown_tag(tag))"


@dataclass(slots=True)
class RunFormats:
    """The constants of a module with the formats of its runs, by the types in a run."""

    names: dict[tuple[str, ...], str] = field(default_factory=dict)

    def name(self, types: tuple[str, ...]) -> str:
        """Return the constant of a run, such as `_INT32X2_INT64`."""
        if types not in self.names:
            parts = []
            for name, group in groupby(types):
                count = len(list(group))
                parts.append(f"{name.upper()}X{count}" if count > 1 else name.upper())
            self.names[types] = "_" + "_".join(parts)
        return self.names[types]


@dataclass(frozen=True, slots=True)
class StructCode:
    """One struct of a message: its fields, and the versions it occurs in."""

    message_class: str
    fields: tuple[FieldSpec, ...]
    versions: VersionRange
    flexible: VersionRange
    formats: RunFormats

    @property
    def codes(self) -> list[FieldCode]:
        return [FieldCode(spec, self.message_class) for spec in self.fields]

    @property
    def tagged(self) -> list[FieldCode]:
        """The fields with tags, in the order of tags."""
        tagged = [code for code in self.codes if code.spec.tag is not None]
        return sorted(tagged, key=lambda code: code.spec.tag or 0)

    def decode(self) -> tuple[Statement, ...]:
        """Return the body of `_decode`, except the lines that create and return the instance."""
        body = self._ordinary(FieldCode.read, self._read_run)
        tags = self._flexible_cases(self._read_tags(), ())
        return (*body, *branches(tags)) if tags.spans else body

    def encode(self) -> tuple[Statement, ...]:
        """Return the body of `_encode`."""
        body = self._ordinary(FieldCode.write, self._write_run)
        refuse = "raise writer.no_tags_in_version(version)"
        no_tags = Branch("if self.unknown_tagged_fields:", (refuse,))
        tags = self._flexible_cases(self._write_tags(), (no_tags,))
        return (*body, *branches(tags)) if tags.spans else body

    # -- fields outside tag sections -------------------------------------------------------

    def _ordinary(
        self,
        action: Callable[[FieldCode, int], tuple[Action, ...]],
        run: Callable[[list[FixedField]], Iterator[Statement]],
    ) -> tuple[Statement, ...]:
        cases = [
            split_cases(self.versions, code.spec.bounds, partial(action, code))
            for code in self.codes
        ]
        statements: list[Statement] = []
        for item in merge_cases(cases):
            bodies = tuple(self._statements(actions, run) for actions in item.actions)
            statements += branches(Cases(item.spans, bodies))
        return tuple(statements)

    @staticmethod
    def _statements(
        actions: tuple[Action, ...], run: Callable[[list[FixedField]], Iterator[Statement]]
    ) -> tuple[Statement, ...]:
        """Turn actions into statements; neighbouring fixed-size fields become one statement."""
        statements: list[Statement] = []
        for is_fixed, group in groupby(actions, lambda action: isinstance(action, FixedField)):
            if is_fixed:
                statements += run([item for item in group if isinstance(item, FixedField)])
            else:
                statements += [item for item in group if not isinstance(item, FixedField)]
        return tuple(statements)

    def _read_run(self, run: list[FixedField]) -> Iterator[Statement]:
        if len(run) == 1:
            yield f'message.{run[0].attribute} = reader.read_{run[0].type}("{run[0].attribute}")'
            return
        targets = ", ".join(f"message.{item.attribute}" for item in run)
        constant, names = self._run(run)
        yield f"{targets} = reader.read_fixed({constant}, {names})"

    def _write_run(self, run: list[FixedField]) -> Iterator[Statement]:
        if len(run) == 1:
            attribute = run[0].attribute
            yield f'writer.write_{run[0].type}("{attribute}", self.{attribute})'
            return
        values = ", ".join(f"self.{item.attribute}" for item in run)
        constant, names = self._run(run)
        yield f"writer.write_fixed({constant}, {names}, {values})"

    def _run(self, run: list[FixedField]) -> tuple[str, str]:
        constant = self.formats.name(tuple(item.type for item in run))
        names = ", ".join(f'"{item.attribute}"' for item in run)
        return constant, f"({names})"

    # -- the tag section -------------------------------------------------------------------

    def _flexible_cases(
        self, flexible: tuple[Statement, ...], classic: tuple[Statement, ...]
    ) -> Cases[Statement]:
        return split_cases(
            self.versions,
            [self.flexible],
            lambda version: flexible if version in self.flexible else classic,
        )

    def _read_tags(self) -> tuple[Statement, ...]:
        if not self.tagged:
            return ("message.unknown_tagged_fields = reader.read_unknown_tags()",)
        names = ", ".join(f'"{code.attribute}"' for code in self.tagged)
        chain: list[Statement] = []
        for code in self.tagged:
            keyword = "elif" if chain else "if"
            chain.append(Branch(f"{keyword} tag == {code.spec.tag}:", tuple(self._read_tag(code))))
        chain.append(Branch("else:", (_KEEP_UNKNOWN,)))
        return (Branch(f"for tag in reader.read_tags({names}):", tuple(chain)),)

    def _read_tag(self, code: FieldCode) -> Iterator[Statement]:
        """Raise in flexible versions that lack the tag, then read it."""
        flexible = self.versions.intersect(self.flexible)
        valid = flexible.intersect(code.spec.tagged_versions)
        refuse = f'raise reader.tag_not_in_version("{code.attribute}", version)'
        if not valid:
            yield refuse
            return
        if valid != flexible:
            # Tagged versions have no end, so versions without the tag are earlier.
            yield Branch(f"if version < {valid.lowest}:", (refuse,))
        yield code.read_tagged(valid.lowest)

    def _write_tags(self) -> tuple[Statement, ...]:
        flexible = self.versions.intersect(self.flexible)
        adds: list[Statement] = []
        for code in self.tagged:
            valid = flexible.intersect(code.spec.tagged_versions)
            if not valid:
                continue
            when = "" if valid == flexible else f"{condition(valid, flexible)} and "
            adds.append(code.write_tagged(valid.lowest, when))
        if not adds:
            return ("writer.write_unknown_tags(self.unknown_tagged_fields)",)
        return (
            "tags = TagSection()",
            *adds,
            "writer.write_tags(tags, self.unknown_tagged_fields)",
        )
