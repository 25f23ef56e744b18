"""Findings: problems of the data that a command reads."""

from __future__ import annotations

from kraftwire.console.failures import exit_with_findings
from kraftwire.console.output import print_note


class Findings:
    """Prints findings on standard error, a line each, and counts them."""

    def __init__(self) -> None:
        self.count = 0

    def add(self, finding: object) -> None:
        """Print a finding: a string or an exception."""
        self.count += 1
        print_note(str(finding))

    def exit(self) -> None:
        """End the command with exit code 1 if there were any."""
        exit_with_findings(self.count)
