"""One run: random steps, then a quiet period without faults in which the cluster must recover."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kraftwire.raft.core.roles import Leader
from kraftwire.simulation.ledger import RuleViolation
from kraftwire.simulation.scenario import Scenario, draw_scenario
from kraftwire.simulation.scheduler import Scheduler
from kraftwire.simulation.steps import Step
from kraftwire.simulation.world import World

EVENTS = 5000
RECOVERS = "a cluster in quiet recovers"
_RECOVERY_MS = 60_000


class Run(NamedTuple):
    """The result of a run; `violation` is None if every rule held."""

    scenario: Scenario
    steps: list[Step]
    events: int
    violation: RuleViolation | None
    is_stuck: bool = False
    """Whether the cluster did not recover in the quiet period, which is not among the steps."""


def violation_of(function: Callable[[], None]) -> RuleViolation | None:
    """Call a function and return the rule that it breaks; any other error breaks one, too."""
    try:
        function()
    except RuleViolation as error:
        return error
    except Exception as error:  # noqa: BLE001  # a bug may raise anything
        violation = RuleViolation("nodes do not fail", f"{type(error).__name__}: {error}")
        violation.__cause__ = error
        return violation
    return None


def simulate(
    seed: int, events: int = EVENTS, *, codecs: bool = True, stranger: bool = False
) -> Run:
    """Run the scenario of a seed for a number of events, then the quiet period."""
    return run_scenario(draw_scenario(seed, stranger=stranger), events, codecs=codecs)


def run_scenario(scenario: Scenario, events: int = EVENTS, *, codecs: bool = True) -> Run:
    """Run a scenario for a number of events, then the quiet period."""
    scheduler = Scheduler(scenario, codecs=codecs)
    violation = violation_of(lambda: scheduler.run(events))
    random_steps = list(scheduler.steps)
    if violation is None:
        violation = violation_of(lambda: recover(scheduler))
    is_stuck = violation is not None and violation.rule == RECOVERS
    steps = random_steps if is_stuck else scheduler.steps
    return Run(scenario, steps, scheduler.world.events, violation, is_stuck)


def recover(scheduler: Scheduler) -> None:
    """End all faults, and check that the cluster has an open leader and commits new records.

    Operators replace lost disks if necessary (see `kraftwire.simulation.workload`). Raise
    `RuleViolation` if the cluster does not recover.
    """
    scheduler.end_faults()
    before = scheduler.world.ledger.end.offset

    def has_recovered(world: World) -> bool:
        if world.ledger.end.offset <= before:
            return False
        running = [node for node in world.nodes.values() if node.replica is not None]
        leads = any(isinstance(node.role, Leader) and node.role.is_open for node in running)
        return leads and all(node.core.committed > before for node in running)

    nodes = scheduler.world.nodes.values()
    if not scheduler.run_until(has_recovered, scheduler.world.now + _RECOVERY_MS):
        states = [f"{node.number}: {node.role or 'stopped'}" for node in nodes]
        raise RuleViolation(RECOVERS, "; ".join(states))
    for node in nodes:
        if node.replica is not None:
            scheduler.world.ledger.check_disk(node)
