"""The errors of metadata, besides those of damaged bytes.

Readers of metadata take a `report`, which is called with every problem; reading goes on if it
returns. `raise_problem`, the default, raises the problem instead.
"""

from __future__ import annotations

from kraftwire.log.errors import ProblemHandler, raise_problem
from kraftwire_wire.errors import KraftwireError

__all__ = ["BadRecord", "CannotApply", "ProblemHandler", "Unreachable", "raise_problem"]


class CannotApply(KraftwireError):
    """A record that does not fit the image: it changes something that does not exist."""


class BadRecord(KraftwireError):
    """A stored record that cannot be read or applied: `reason`, in `file`, at `offset`."""

    def __init__(self, file: str, offset: int, reason: str) -> None:
        super().__init__(file, offset, reason)
        self.file = file
        self.offset = offset
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.file}, offset {self.offset}: {self.reason}"


class Unreachable(KraftwireError):
    """A state that cannot be rebuilt from the existing files."""
