"""Findings about specs, and the exceptions that carry them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from kraftwire_generator.printing import printable

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem in a file, with a message that says what to write instead.

    `path` is the field path in spec names, such as `Topics.Partitions`, and empty for the file
    as a whole. `line` counts from 1.
    """

    file: str
    line: int
    path: str
    message: str
    severity: Severity = "error"

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        line = f"{self.file}:{self.line}: {self.severity}: {where}{self.message}"
        # Names come from untrusted files; they must not control the terminal.
        return printable(line)


class SpecError(Exception):
    """The specs have errors, so no code can be generated; `findings` has all of them."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__("\n".join(str(finding) for finding in self.findings))


class TemplateError(Exception):
    """A template cannot be rendered, or its output is not Python."""


def errors_of(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings that are errors."""
    return [finding for finding in findings if finding.severity == "error"]


def raise_errors(findings: Iterable[Finding]) -> None:
    """Raise `SpecError` if any finding is an error."""
    if errors := errors_of(findings):
        raise SpecError(errors)


def not_utf8(file: str, data: bytes, error: UnicodeDecodeError) -> Finding:
    """Return the finding for a file whose bytes are not UTF-8."""
    line = data.count(b"\n", 0, error.start) + 1
    advice = f"byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8"
    return Finding(file, line, "", advice)
