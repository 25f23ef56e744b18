"""The errors of metadata, besides those of damaged bytes.

Readers of metadata call their `report` with every problem, and go on if it returns. The default,
`raise_problem`, raises the problem.
"""

from __future__ import annotations

from kraftwire.log.errors import BadRecord, ProblemHandler, raise_problem
from kraftwire_wire.errors import KraftwireError

__all__ = ["BadRecord", "CannotApply", "ProblemHandler", "Unreachable", "raise_problem"]


class CannotApply(KraftwireError):
    """A record that does not fit the image: it changes something that does not exist."""


class Unreachable(KraftwireError):
    """A state that cannot be rebuilt from the existing files."""
