"""Rows that say what ranges of bytes are, and where they are sent.

Every byte of the input is in exactly one leaf. Other rows name what the deeper rows after them
belong to. The row of a struct comes before its end is known, so that rows can be printed while
the bytes are read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from kraftwire_wire.errors import DecodeError

LEAVES = frozenset({"value", "length", "count", "marker", "tag", "size", "error"})
"""The roles of rows that have bytes of their own."""


@dataclass(frozen=True, slots=True)
class ByteRow:
    """What the bytes from `start` to `end` are.

    `role` is one of `LEAVES`, or `message`, `struct`, `opened`, `bits` or `view`. `path` is the
    field's, as in errors, and `name` its last attribute. `note` explains the value, and `time_ms`
    is the time it stands for.
    `problem` says what is wrong at byte `at`. `view` is empty for the input itself; else it names
    other bytes, whose offsets begin at 0: the content of a compressed batch.
    """

    role: str
    start: int
    end: int
    depth: int
    path: str
    type: str
    data: bytes = b""
    value: object = None
    name: str = ""
    note: str = ""
    problem: str = ""
    at: int | None = None
    view: str = ""
    time_ms: int | None = None

    @property
    def is_leaf(self) -> bool:
        """Whether the bytes are in no other leaf."""
        return self.role in LEAVES


Sink = Callable[[ByteRow], None]


@dataclass(slots=True)
class RowReport:
    """Where rows are sent, and the errors so far."""

    sink: Sink
    findings: list[DecodeError] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Scope:
    """Where the next rows are: what their offsets, depth and path begin with."""

    report: RowReport
    base: int = 0
    depth: int = 0
    path: str = ""
    view: str = ""

    def inside(self, base: int, *, deeper: int = 1, path: str | None = None) -> Scope:
        """Return a scope that starts `base` bytes into this one."""
        path = self.path if path is None else path
        return Scope(self.report, self.base + base, self.depth + deeper, path, self.view)

    def add(
        self, role: str, type_name: str, start: int = 0, end: int | None = None, **more: Any
    ) -> None:
        """Pass a row to the sink; `start`, `end` and `at` count from the scope's own start.

        `more` are other fields of the row. Without an end the row only begins something.
        """
        first = self.base + start
        last = first if end is None else self.base + end
        if more.get("problem"):
            more["at"] += self.base
        row = ByteRow(role, first, last, self.depth, self.path, type_name, view=self.view, **more)
        self.report.sink(row)

    def refuse(self, error: DecodeError, data: bytes, start: int) -> DecodeError:
        """Add a row for an error and the bytes from `start` on, which were not read.

        Returns the error, whose offset counted from the scope's start, with that in the input.
        """
        assert error.offset is not None
        replace(self, path=error.path).add(
            "error",
            "not read",
            start,
            len(data),
            data=data[start:],
            problem=error.reason,
            at=error.offset,
        )
        error.offset += self.base
        self.report.findings.append(error)
        return error
