"""Finds structs in messages by their layout.

The paths to them are determined once per class, so that a search visits only fields that can lead
to one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

from kraftwire_wire.layout import Field, Layout
from kraftwire_wire.message import Message

T = TypeVar("T")


class _StructPlan(NamedTuple, Generic[T]):
    """The match of a struct, and the fields that lead to further matches."""

    match: T | None
    inner: tuple[tuple[str, _StructPlan[T]], ...]


class StructSearch(Generic[T]):
    """Finds the structs for whose layout `match` returns something."""

    def __init__(
        self,
        match: Callable[[Layout], T | None],
        enters: Callable[[Field], bool] = lambda field: True,
    ) -> None:
        """`enters` says whether to search the structs in a field."""
        self._match = match
        self._enters = enters
        self._plans: dict[tuple[type[Any], type[Any]], _StructPlan[T]] = {}

    def find(self, message: Message) -> Iterator[tuple[Any, T]]:
        """Yield each matching struct with its match, outer ones first; a message is a struct."""
        return _walk(message, self._plan(type(message), type(message)))

    def _plan(self, message: type[Any], struct: type[Any]) -> _StructPlan[T]:
        known = self._plans.get((message, struct))
        if known is not None:
            return known
        below = (
            (field.name, self._plan(message, field.struct_class(message)))
            for field in struct.LAYOUT.fields
            if field.is_struct and self._enters(field)
        )
        inner = tuple((name, plan) for name, plan in below if plan.inner or plan.match is not None)
        plan = self._plans[message, struct] = _StructPlan(self._match(struct.LAYOUT), inner)
        return plan


def _walk(struct: Any, plan: _StructPlan[T]) -> Iterator[tuple[Any, T]]:
    if plan.match is not None:
        yield struct, plan.match
    for name, inner in plan.inner:
        value = getattr(struct, name)
        for item in value if isinstance(value, list) else (value,):
            if item is not None:
                yield from _walk(item, inner)
