"""Labels of a schema's parts, and streams that are told when a part is read."""

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
    is the type of the bytes; `step` is added to the path, and `name` is the attribute
    whose value it is. `deeper` says that it is inside the part that was read before it.
    """

    role: str
    type: str
    step: str = ""
    name: str = ""
    deeper: bool = False


class Refusal(c.ConstructError):  # type: ignore[misc]
    """A part that is not valid; `offset` is its position if that is not the part's start."""

    def __init__(self, reason: str, offset: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.offset = offset


class TraceStream(io.BytesIO):
    """A stream that is told of each part that is read from it, outer parts first.

    When reading fails, the parts that were entered and not left say where.
    """

    def enter(self, part: Part, index: int | None) -> None:
        """A part begins; `index` is its place in the array around it, if any."""
        raise NotImplementedError

    def leave(self, value: Any) -> None:
        """The innermost part ends."""
        raise NotImplementedError

    def count_sizeless(self, count: int) -> None:
        """An array has had `count` elements without bytes."""
        raise NotImplementedError


class Label(c.Subconstruct):  # type: ignore[misc]
    """A construct whose reading is reported to a `TraceStream`."""

    def __init__(self, subcon: Any, part: Part) -> None:
        super().__init__(subcon)
        self.part = part

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        if not isinstance(stream, TraceStream):
            return self.subcon._parsereport(stream, context, path)
        stream.enter(self.part, context.get("_index"))
        value = self.subcon._parsereport(stream, context, path)
        stream.leave(value)
        return value


class Elements(c.Array):  # type: ignore[misc]
    """An array; its elements are not kept if a `TraceStream` has been told of them."""

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        if not isinstance(stream, TraceStream):
            return super()._parse(stream, context, path)
        first, count = stream.tell(), self.count(context)
        for index in range(count):
            context._index = index
            self.subcon._parsereport(stream, context, path)
        if count and stream.tell() == first:
            stream.count_sizeless(count)
        return c.ListContainer()
