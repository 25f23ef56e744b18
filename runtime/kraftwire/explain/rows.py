"""Rows: what a range of bytes is, one after the other, and where they go.

A leaf has bytes of its own, and every byte of the input is in exactly one leaf. The other
rows say what the deeper rows behind them belong to; a row that begins a struct comes before
anything is known of its end, so that rows can be printed while the bytes are read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from kraftwire_wire.errors import DecodeError

LEAVES = frozenset({"value", "length", "count", "marker", "tag", "size", "error"})
"""The roles of rows that have bytes of their own."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line: bytes from `start` to `end`, and what they are.

    `role` is one of `LEAVES`, or `message`, `struct`, `opened`, `bits` or `view`. `path` is the
    field's, as errors give it, and `name` the attribute in it. `note` says more of the value,
    and `time_ms` which time it stands for.
    `problem` says what is wrong at byte `at`. `view` is empty for the input itself, and names
    other bytes whose offsets begin at 0 again: what a compressed batch holds.
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
        """Whether the bytes are this row's own."""
        return self.role in LEAVES


Sink = Callable[[Row], None]


@dataclass(slots=True)
class Report:
    """Where rows go, and what was wrong: the errors in the order in which they were met."""

    sink: Sink
    findings: list[DecodeError] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Scope:
    """Where rows stand that are made next: what their offsets, depth and path begin with."""

    report: Report
    base: int = 0
    depth: int = 0
    path: str = ""
    view: str = ""

    def inside(self, base: int, *, deeper: int = 1, path: str | None = None) -> Scope:
        """A scope for what starts `base` bytes into this one."""
        path = self.path if path is None else path
        return Scope(self.report, self.base + base, self.depth + deeper, path, self.view)

    def group(
        self,
        role: str,
        type_name: str,
        start: int = 0,
        end: int | None = None,
        *,
        name: str = "",
        note: str = "",
    ) -> None:
        """A row that begins something; offsets count from the scope's own start."""
        first = self.base + start
        last = first if end is None else self.base + end
        self.report.sink(
            Row(
                role,
                first,
                last,
                self.depth,
                self.path,
                type_name,
                name=name,
                note=note,
                view=self.view,
            )
        )

    def refuse(self, error: DecodeError, data: bytes, start: int) -> DecodeError:
        """An error whose offset counts from the scope's start, and the bytes behind the last row.

        Returns the error with the offset in the input.
        """
        assert error.offset is not None
        error.offset += self.base
        self.report.findings.append(error)
        self.report.sink(
            Row(
                "error",
                self.base + start,
                self.base + len(data),
                self.depth,
                error.path,
                "not read",
                data[start:],
                problem=error.reason,
                at=error.offset,
                view=self.view,
            )
        )
        return error
