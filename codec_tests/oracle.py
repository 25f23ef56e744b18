"""Facts about Kafka's own generator and classes, for tests to compare with.

They were obtained by running Kafka's unmodified code and lie in one JSON file outside this
repository: the one that the environment variable KRAFTWIRE_ORACLE names, or
`../shared/oracle/oracle_cases.json` beside the repository. Where the file is absent, the
tests that need it are skipped and say so.
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
ORACLE_FILE = Path(
    os.environ.get("KRAFTWIRE_ORACLE")
    or REPOSITORY.parent / "shared" / "oracle" / "oracle_cases.json"
)

# What ran, as (section, cases run, cases listed as deviating), for the terminal summary.
oracle_counts: list[tuple[str, int, int]] = []
oracle_absences: list[str] = []


def oracle_section(name: str) -> Any:
    """One section of the facts; skips the calling test where the file is absent."""
    require_oracle()
    return _oracle()[name]


def require_oracle() -> None:
    """Skip the calling test, with a reason that names the file, where the file is absent."""
    if not ORACLE_FILE.is_file():
        reason = f"no oracle: {ORACLE_FILE} is absent; name the file in KRAFTWIRE_ORACLE"
        if reason not in oracle_absences:
            oracle_absences.append(reason)
        pytest.skip(reason)


def report_oracle_count(section: str, ran: int, deviating: int) -> None:
    """Record how many cases of a section a test has run, for the terminal summary."""
    oracle_counts.append((section, ran, deviating))


def oracle_summary() -> list[str]:
    """The lines that the terminal summary prints."""
    ran = [
        f"oracle {section}: {ran} cases ran, {deviating} of them deviate as listed"
        for section, ran, deviating in oracle_counts
    ]
    return [*ran, *oracle_absences]


@cache
def _oracle() -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(ORACLE_FILE.read_text(encoding="utf-8"))
    return facts
