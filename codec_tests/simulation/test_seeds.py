"""Two hundred seeds and a million events, with every message encoded and decoded.

Some runs have a stranger, who sends requests of any kind with any epoch and id.
"""

from __future__ import annotations

import pytest

from kraftwire.simulation.run import EVENTS, simulate
from kraftwire.simulation.steps import Action

SEEDS = 200
WITH_A_STRANGER = 40
AT_ONCE = 10


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, SEEDS, AT_ONCE))
def test_every_rule_holds(first: int) -> None:
    runs = [simulate(seed) for seed in range(first, first + AT_ONCE)]
    assert {
        run.scenario.seed: str(run.violation) for run in runs if run.violation is not None
    } == {}
    # If all disks of a static quorum are damaged, or no node is reachable, less happens.
    assert sum(run.events for run in runs) > AT_ONCE * EVENTS // 2


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, WITH_A_STRANGER, AT_ONCE))
def test_every_rule_holds_with_a_stranger(first: int) -> None:
    seeds = range(first, first + AT_ONCE)
    runs = [simulate(seed, stranger=True) for seed in seeds]
    assert {
        run.scenario.seed: str(run.violation) for run in runs if run.violation is not None
    } == {}
    asked = [step for run in runs for step in run.steps if step.action is Action.STRANGER]
    assert len(asked) > 100 * AT_ONCE
