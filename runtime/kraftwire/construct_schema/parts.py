"""Labels for the parts of a schema, and the stream that receives the parts that are read."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

import construct as c  # type: ignore[import-untyped]

INDEX = "[]"
"""The path step of an array's element."""

LEAVES = frozenset({"value", "length", "count", "marker", "tag", "size"})
"""The roles of parts that have their own bytes."""


@dataclass(frozen=True, slots=True)
class Part:
    """Describes what a labelled construct reads.

    `role` is one of `LEAVES`, or `struct` or `field` if it consists of other parts. `type` is the
    type of the bytes, `step` its step in the path, and `name` the attribute that has its value.
    `deeper` parts are shown one level below the part before them.
    """

    role: str
    type: str
    step: str = ""
    name: str = ""
    deeper: bool = False


class Refusal(c.ConstructError):  # type: ignore[misc]
    """A part is invalid; `offset` is the position of the mistake if not the part's start."""

    def __init__(self, reason: str, offset: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.offset = offset


class TraceStream(io.BytesIO):
    """A stream whose methods are called for each part that is read, outer parts first.

    If reading fails, the parts that were entered but not left show where.
    """

    def enter(self, part: Part, index: int | None) -> None:
        """Begin a part; `index` is its index if it is an array's element."""
        raise NotImplementedError

    def leave(self, value: Any) -> None:
        """End the innermost part."""
        raise NotImplementedError

    def count_sizeless(self, count: int) -> None:
        """Count an array's elements that took no bytes."""
        raise NotImplementedError


class Label(c.Subconstruct):  # type: ignore[misc]
    """Reports to a `TraceStream` when its construct is read."""

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
    """An array; a `TraceStream` receives its elements, so they are not collected."""

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
