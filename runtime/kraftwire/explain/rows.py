"""`ByteRow`, which describes a range of bytes, and the classes that pass rows to a sink.

Every byte of the input is in exactly one leaf. Other rows describe what contains the deeper rows
after them. The row of a struct comes before its end is known, so rows can be printed while the
bytes are read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from kraftwire_wire.errors import DecodeError

LEAVES = frozenset({"value", "length", "count", "marker", "tag", "size", "error"})
"""The roles of rows that have their own bytes."""


@dataclass(frozen=True, slots=True)
class ByteRow:
    """Describes the bytes from `start` to `end`.

    - `role` is one of `LEAVES`, or `message`, `struct`, `opened`, `bits` or `view`.
    - `path` is the path of the field, as in errors, and `name` the last attribute in it.
    - `note` explains the value, and `time_ms` is the time that it means.
    - `problem` is a problem at byte `at`.
    - `view` is empty for the input itself. Otherwise it names other bytes, whose offsets begin
      at 0: the content of a compressed batch.
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
        """Whether the row has its own bytes."""
        return self.role in LEAVES


Sink = Callable[[ByteRow], None]


@dataclass(slots=True)
class RowReport:
    """The sink that receives rows, and the errors so far."""

    sink: Sink
    findings: list[DecodeError] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Scope:
    """The base of the next rows: their depth, view, and the start of their offsets and paths."""

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
        """Pass a row to the sink; `start`, `end` and `at` are relative to the scope.

        `more` are other fields of the row. A row without an end has no bytes.
        """
        first = self.base + start
        last = first if end is None else self.base + end
        if more.get("problem"):
            more["at"] += self.base
        row = ByteRow(role, first, last, self.depth, self.path, type_name, view=self.view, **more)
        self.report.sink(row)

    def refuse(self, error: DecodeError, data: bytes, start: int) -> DecodeError:
        """Add a row for an error and for the bytes from `start` on, which were not read.

        Makes the error's offset, which is relative to the scope, absolute, and returns the error.
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
