"""What all tests share: the count of oracle cases in the summary, and hypothesis's profile."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from codec_tests import oracle

_KEY = "oracle"

# A test must not fail because the machine is busy: no deadlines, no check of the speed at
# which examples are drawn. pytest's timeout stops what hangs. Two runs of the same code draw the
# same examples; `make fuzz` draws others each time.
settings.register_profile("fuzz", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("kraftwire", settings.get_profile("fuzz"), derandomize=True)
settings.load_profile("kraftwire")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite-transcripts", action="store_true")
    parser.addoption("--quick", action="store_true", help="one case of each test, none marked slow")


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem(collector: pytest.Collector, name: str, obj: object) -> Any:
    """With --quick, keep the first case of each test that is neither slow nor needs Spark."""
    items = yield
    if not collector.config.getoption("--quick") or not isinstance(items, list):
        return items
    return [
        item
        for item in items[:1]
        if item.get_closest_marker("slow") is None
        and "spark" not in getattr(item, "fixturenames", ())
    ]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Let a worker of pytest-xdist hand its counts to the process that prints them."""
    output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        output[_KEY] = [oracle.oracle_counts, oracle.oracle_absences]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Collect the counts of a worker that is done."""
    counts, absences = getattr(node, "workeroutput", {}).get(_KEY, [[], []])
    oracle.oracle_counts += [tuple(count) for count in counts]
    oracle.oracle_absences += [item for item in absences if item not in oracle.oracle_absences]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many cases of the oracle ran, or that its file was not there."""
    lines = oracle.oracle_summary()
    if lines:
        terminalreporter.write_sep("=", "oracle")
    for line in sorted(lines):
        terminalreporter.write_line(line)
