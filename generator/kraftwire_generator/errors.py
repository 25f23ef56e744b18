"""What the generator says about specs: findings, and the error that carries them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from kraftwire_generator.printing import printable

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing wrong with a spec: where it stands, and a sentence that says what to write.

    `path` is the field path in spec names, such as `Topics.Partitions`, empty for the file
    as a whole; `line` counts from 1.
    """

    file: str
    line: int
    path: str
    message: str
    severity: Severity = "error"

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        line = f"{self.file}:{self.line}: {self.severity}: {where}{self.message}"
        # Names come from the file, and no file may steer the terminal.
        return printable(line)


class SpecError(Exception):
    """Specs that cannot be generated from; `findings` has every error of every file."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__("\n".join(str(finding) for finding in self.findings))


class TemplateError(Exception):
    """A template that cannot be rendered, or whose output is not Python."""
