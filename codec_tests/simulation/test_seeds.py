"""Two hundred seeds, a million events, every message encoded and decoded on its way."""

from __future__ import annotations

import pytest

from kraftwire.simulation.run import EVENTS, simulate

SEEDS = 200
AT_ONCE = 10


@pytest.mark.parametrize("first", range(0, SEEDS, AT_ONCE))
def test_every_rule_holds(first: int) -> None:
    runs = [simulate(seed) for seed in range(first, first + AT_ONCE)]
    assert {run.scenario.seed: str(run.broken) for run in runs if run.broken is not None} == {}
    # Where all disks of a static quorum are damaged, or nobody can be reached, less happens.
    assert sum(run.events for run in runs) > AT_ONCE * EVENTS // 2
