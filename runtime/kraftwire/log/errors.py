"""The error for stored data that cannot be read, and how readers report problems and go on."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from kraftwire_wire.errors import KraftwireError


class CorruptBatch(KraftwireError):
    """Stored bytes that are not valid: `reason`, in `file`, from byte `position` on.

    Despite its name it is raised for every stored file, so that one `except` covers them all.
    """

    def __init__(self, file: str, position: int, reason: str) -> None:
        super().__init__(file, position, reason)
        self.file = file
        self.position = position
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.file}, byte {self.position}: {self.reason}"


class UnreadableFile(CorruptBatch):
    """A file or directory that cannot be read: a FIFO, a broken link, no permission."""

    def __init__(self, file: str, reason: str) -> None:
        super().__init__(file, 0, reason)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.file, self.reason)

    def __str__(self) -> str:
        return f"{self.file}: {self.reason}"


class BadRecord(KraftwireError):
    """A stored record that cannot be read or applied: `reason`, in `file`, at `offset`."""

    def __init__(self, file: str, offset: int, reason: str) -> None:
        super().__init__(file, offset, reason)
        self.file = file
        self.offset = offset
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.file}, offset {self.offset}: {self.reason}"


ProblemHandler = Callable[[KraftwireError], None]
"""Called with each problem; reading goes on if it returns."""


def raise_problem(problem: KraftwireError) -> NoReturn:
    """Raise the problem: the default handler."""
    raise problem
