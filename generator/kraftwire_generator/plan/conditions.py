"""From what a field does in each version to `if` statements over `version`.

A `Cases` value says, for neighbouring spans of versions, which statements run there.
Spans with nothing to do stay in it, so that fields with equal conditions can be merged
under one `if` whatever they do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from kraftwire_generator.language.versions import VersionRange
from kraftwire_generator.plan.plan_data import Branch, Statement

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Cases(Generic[T]):
    """What to do in each span of versions; the spans are ascending and without gaps."""

    spans: tuple[VersionRange, ...]
    actions: tuple[tuple[T, ...], ...]

    def is_empty(self) -> bool:
        """True when there is nothing to do in any version."""
        return not any(self.actions)


def split_cases(
    versions: VersionRange,
    ranges: Iterable[VersionRange],
    action: Callable[[int], tuple[T, ...]],
) -> Cases[T]:
    """Cases over `versions`: `action` is asked once per span between the bounds of `ranges`."""
    if not versions:
        return Cases((), ())
    starts = {versions.lowest}
    for bound in (versions.intersect(item) for item in ranges):
        if bound:
            starts |= {bound.lowest, bound.highest + 1}
    edges = sorted(start for start in starts if start in versions)
    spans: list[VersionRange] = []
    actions: list[tuple[T, ...]] = []
    for start, following in zip(edges, [*edges[1:], versions.highest + 1], strict=True):
        statements = action(start)
        if actions and actions[-1] == statements:
            spans[-1] = VersionRange(spans[-1].lowest, following - 1)
        else:
            spans.append(VersionRange(start, following - 1))
            actions.append(statements)
    return Cases(tuple(spans), tuple(actions))


def merge_cases(items: Sequence[Cases[T]]) -> list[Cases[T]]:
    """Neighbouring cases with the same spans as one, their actions one after the other."""
    merged: list[Cases[T]] = []
    for item in items:
        if item.is_empty():
            continue
        if merged and merged[-1].spans == item.spans:
            pairs = zip(merged[-1].actions, item.actions, strict=True)
            merged[-1] = Cases(item.spans, tuple(first + second for first, second in pairs))
        else:
            merged.append(item)
    return merged


def branches(cases: Cases[Statement]) -> tuple[Statement, ...]:
    """Cases as Python: plain statements where every version has the same, else a chain of ifs.

    The chain goes from the newest versions to the oldest, since the newest matter most.
    """
    if len(cases.spans) == 1:
        return cases.actions[0]
    versions = VersionRange(cases.spans[0].lowest, cases.spans[-1].highest)
    chain: list[Branch] = []
    open_above = versions.highest
    for span, body in reversed(list(zip(cases.spans, cases.actions, strict=True))):
        if not body:
            continue
        rest = VersionRange(versions.lowest, open_above)
        if chain and span == rest:
            chain.append(Branch("else:", body))
        else:
            keyword = "elif" if chain else "if"
            chain.append(Branch(f"{keyword} {condition(span, rest)}:", body))
        if span.highest == open_above:
            open_above = span.lowest - 1
    return _without_nested_if(chain)


def _without_nested_if(chain: list[Branch]) -> tuple[Statement, ...]:
    """One `if` alone under the last line of a chain, as a hand would write it.

    Under `else:` it becomes `elif`; under the only line of the chain, `and`.
    """
    *before, last = chain
    inner = last.body[0]
    if len(last.body) > 1 or not isinstance(inner, Branch) or not inner.opening.startswith("if "):
        return tuple(chain)
    if last.opening == "else:":
        return (*before, Branch(f"el{inner.opening}", inner.body))
    if not before:
        test = inner.opening.removeprefix("if ")
        return (Branch(f"{last.opening.removesuffix(':')} and {test}", inner.body),)
    return tuple(chain)


def condition(span: VersionRange, versions: VersionRange) -> str:
    """The test for `version in span`, for versions that are known to lie in `versions`."""
    if span.highest == versions.highest:
        return f"version >= {span.lowest}"
    if span.lowest == span.highest:
        return f"version == {span.lowest}"
    if span.lowest == versions.lowest:
        return f"version <= {span.highest}"
    return f"{span.lowest} <= version <= {span.highest}"
