"""What a check can find: where, how bad, and what it is."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Severity(Enum):
    """How bad a finding is."""

    ERROR = "error"
    """Something is lost, or a broker would refuse it or answer wrongly."""
    WARNING = "warning"
    """A broker mends it by itself at its next start, or lives with it."""


class Finding(NamedTuple):
    """One thing that is wrong."""

    severity: Severity
    check: str
    """The rule, by a name that does not change: `batch`, `offset index`, `topic id` ..."""
    file: str
    position: int | None
    """The byte where it is, in files that have positions."""
    reason: str


def error(check: str, file: str, position: int | None, reason: str) -> Finding:
    """A finding that is an error."""
    return Finding(Severity.ERROR, check, file, position, reason)


def warning(check: str, file: str, position: int | None, reason: str) -> Finding:
    """A finding that is a warning."""
    return Finding(Severity.WARNING, check, file, position, reason)
