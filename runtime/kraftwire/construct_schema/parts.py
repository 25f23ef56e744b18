"""What a schema tells while it is read: parts, and the streams that hear of them."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

import construct as c  # type: ignore[import-untyped]

INDEX = "[]"
"""The step of a part that is an element of an array."""

LEAVES = frozenset({"value", "length", "count", "marker", "tag", "size"})
"""The roles of parts that have bytes of their own."""


@dataclass(frozen=True, slots=True)
class Part:
    """What a labelled construct reads.

    `role` is one of `LEAVES`, or `struct` or `field` for what consists of other parts; `type`
    is what stands in the bytes; `step` is what it adds to the path, `name` the attribute
    whose value it is. `deeper` is true for what lies within the part that was read before it.
    """

    role: str
    type: str
    step: str = ""
    name: str = ""
    deeper: bool = False


class Refusal(c.ConstructError):  # type: ignore[misc]
    """A part that cannot be so; `offset` is where in the stream, unless the part starts there."""

    def __init__(self, reason: str, offset: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.offset = offset


class Traced(io.BytesIO):
    """A stream that hears of each part that is read from it, from the outside in.

    When reading fails, the parts that were entered and not left say where.
    """

    def enter(self, part: Part, index: int | None) -> None:
        """A part begins here; `index` is that of the array around it, if any."""
        raise NotImplementedError

    def leave(self, value: Any) -> None:
        """The part that was entered last ends here."""
        raise NotImplementedError

    def count_sizeless(self, count: int) -> None:
        """An array had so many elements that take no bytes."""
        raise NotImplementedError


class Labelled(c.Subconstruct):  # type: ignore[misc]
    """A construct that a traced stream hears of."""

    def __init__(self, subcon: Any, part: Part) -> None:
        super().__init__(subcon)
        self.part = part

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        if not isinstance(stream, Traced):
            return self.subcon._parsereport(stream, context, path)
        stream.enter(self.part, context.get("_index"))
        value = self.subcon._parsereport(stream, context, path)
        stream.leave(value)
        return value


class Elements(c.Array):  # type: ignore[misc]
    """An array; a traced stream has heard of the elements, so they are not kept for it."""

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        if not isinstance(stream, Traced):
            return super()._parse(stream, context, path)
        first, count = stream.tell(), self.count(context)
        for index in range(count):
            context._index = index
            self.subcon._parsereport(stream, context, path)
        if count and stream.tell() == first:
            stream.count_sizeless(count)
        return c.ListContainer()
