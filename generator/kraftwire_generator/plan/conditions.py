"""Turns the actions of fields in each version into `if` statements over `version`.

`Cases` has the actions for each span of versions, including spans without actions, so that
neighbouring fields with equal conditions can share one `if`.
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
    """The actions in each span of versions; spans are ascending and without gaps."""

    spans: tuple[VersionRange, ...]
    actions: tuple[tuple[T, ...], ...]


def split_cases(
    versions: VersionRange,
    ranges: Iterable[VersionRange],
    action: Callable[[int], tuple[T, ...]],
) -> Cases[T]:
    """Cut `versions` at the ends of `ranges`, and call `action` once for each span."""
    spans: list[VersionRange] = []
    actions: list[tuple[T, ...]] = []
    for span in versions.split(ranges):
        statements = action(span.lowest)
        if actions and actions[-1] == statements:
            spans[-1] = VersionRange(spans[-1].lowest, span.highest)
        else:
            spans.append(span)
            actions.append(statements)
    return Cases(tuple(spans), tuple(actions))


def merge_cases(items: Sequence[Cases[T]]) -> list[Cases[T]]:
    """Merge neighbouring cases that have the same spans, and concatenate their actions."""
    merged: list[Cases[T]] = []
    for item in items:
        if not any(item.actions):
            continue
        if merged and merged[-1].spans == item.spans:
            pairs = zip(merged[-1].actions, item.actions, strict=True)
            merged[-1] = Cases(item.spans, tuple(first + second for first, second in pairs))
        else:
            merged.append(item)
    return merged


def branches(cases: Cases[Statement]) -> tuple[Statement, ...]:
    """Return cases as Python: plain statements if all versions are equal, else a chain of ifs.

    The chain starts with the newest versions, since they matter most.
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
    """Merge an `if` that is alone in the last branch of a chain with that branch.

    `else: if` becomes `elif`; an `if` in the only branch is joined with `and`.
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
    """Return the test for `version in span`, given that the version is in `versions`."""
    if span.highest == versions.highest:
        return f"version >= {span.lowest}"
    if span.lowest == span.highest:
        return f"version == {span.lowest}"
    if span.lowest == versions.lowest:
        return f"version <= {span.highest}"
    return f"{span.lowest} <= version <= {span.highest}"
