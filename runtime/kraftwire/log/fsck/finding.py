"""The findings of a check: file, severity and reason."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from kraftwire.log.errors import UnreadableFile
from kraftwire_wire.errors import KraftwireError


class Severity(Enum):
    """How bad a finding is."""

    ERROR = "error"
    """Data is lost, or a broker would refuse it or answer wrongly."""
    WARNING = "warning"
    """A broker repairs it at its next start, or tolerates it."""
    INFO = "info"
    """Nothing is wrong, but it is worth knowing."""


class Finding(NamedTuple):
    """One finding of a check."""

    severity: Severity
    check: str
    """The rule's name, which never changes: `batch`, `offset index`, `topic id` ..."""
    file: str
    position: int | None
    """The byte position, if the file has positions."""
    reason: str


def error(check: str, file: str, position: int | None, reason: str) -> Finding:
    """Return a finding that is an error."""
    return Finding(Severity.ERROR, check, file, position, reason)


def warning(check: str, file: str, position: int | None, reason: str) -> Finding:
    """Return a finding that is a warning."""
    return Finding(Severity.WARNING, check, file, position, reason)


def info(check: str, file: str, reason: str) -> Finding:
    """Return a finding about a whole file or directory, in which nothing is wrong."""
    return Finding(Severity.INFO, check, file, None, reason)


def unreadable(problem: KraftwireError) -> Finding:
    """Return the finding for a file or directory that cannot be read."""
    assert isinstance(problem, UnreadableFile), "a search reports nothing else"
    return error("file", problem.file, None, problem.reason)
