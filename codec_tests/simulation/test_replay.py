"""Runs are repeated from their seeds and from their steps, and shortened."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kraftwire.simulation.replay import replay, shrink
from kraftwire.simulation.run import run_scenario, simulate
from kraftwire.simulation.scenario import Bootstrap, Faults, Scenario, draw_scenario

from codec_tests.simulation.mutants import MUTANTS

QUIET = Scenario(seed=1, voters=3, observers=1)


@pytest.mark.parametrize("seed", [3, 10])
def test_a_seed_gives_the_same_run_each_time(seed: int) -> None:
    one, two = simulate(seed, 2000), simulate(seed, 2000)
    assert one.steps == two.steps
    assert one.events == two.events


@pytest.mark.parametrize("seed", [3, 10])
def test_codecs_change_nothing(seed: int) -> None:
    """Nodes of an earlier release are left out: their messages lose fields on the wire."""
    scenario = replace(draw_scenario(seed), old=frozenset())
    with_codecs = run_scenario(scenario, 2000)
    assert with_codecs.steps == run_scenario(scenario, 2000, codecs=False).steps


@pytest.mark.parametrize("seed", [3, 10])
def test_the_steps_determine_a_run(seed: int) -> None:
    run = simulate(seed, 2000)
    again = replay(run.scenario, run.steps)
    assert again.steps == run.steps
    assert again.violation is None


@pytest.mark.slow
def test_steps_can_be_left_out() -> None:
    run = simulate(3, 2000)
    found = replay(run.scenario, run.steps[::3])
    assert found.violation is None
    assert 0 < len(found.steps) < len(run.steps) / 3


@pytest.mark.parametrize("bootstrap", list(Bootstrap))
def test_a_quiet_cluster_commits(bootstrap: Bootstrap) -> None:
    run = run_scenario(replace(QUIET, bootstrap=bootstrap), 3000)
    assert run.violation is None


@pytest.mark.slow
def test_a_broken_rule_is_reported_and_the_run_shortened() -> None:
    with MUTANTS["votes for a shorter log"]():
        run = simulate(0, codecs=False)
        assert run.violation is not None
        assert run.violation.rule == "leaders have all that is committed"
        steps = shrink(run, codecs=False)
        found = replay(run.scenario, steps, codecs=False)
    assert len(steps) < len(run.steps) // 4
    assert found.violation is not None
    assert found.violation.rule == run.violation.rule
    assert replay(run.scenario, steps, codecs=False).violation is None


@pytest.mark.slow
def test_a_cluster_that_does_not_recover_is_reported_and_the_run_shortened() -> None:
    with MUTANTS["never runs for election"]():
        run = run_scenario(replace(QUIET, faults=Faults(loss=0.1, pause_ms=500)), 500)
        assert run.violation is not None
        assert run.violation.rule == "a cluster in quiet recovers"
        assert run.is_stuck
        steps = shrink(run)
    assert len(steps) < 5


def test_a_node_that_fails_breaks_a_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise KeyError("a bug")

    monkeypatch.setattr("kraftwire.raft.election.leadership.propose", fail)
    run = run_scenario(QUIET, 3000)
    assert run.violation is not None
    assert str(run.violation) == "nodes do not fail: KeyError: 'a bug'"
