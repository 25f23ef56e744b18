"""A run from beginning to end: steps at random, and then quiet, in which a cluster must recover."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from kraftwire.raft.core.roles import Leader
from kraftwire.simulation.ledger import Broken
from kraftwire.simulation.scenario import Scenario, draw_scenario
from kraftwire.simulation.scheduler import Scheduler
from kraftwire.simulation.steps import Step
from kraftwire.simulation.world import World

EVENTS = 5000
RECOVERS = "a cluster in quiet recovers"
RECOVERS_IN_MS = 60_000


class Run(NamedTuple):
    """What came of a run; `broken` is None where every rule held."""

    scenario: Scenario
    steps: list[Step]
    events: int
    broken: Broken | None
    is_stuck: bool = False
    """Whether it is the quiet behind its steps in which a rule does not hold."""


class Found:
    """The rule that did not hold, if there is one."""

    broken: Broken | None = None


@contextmanager
def breaking() -> Iterator[Found]:
    """Note the rule that does not hold; that nodes do not fail is one of them."""
    found = Found()
    try:
        yield found
    except Broken as error:
        found.broken = error
    except Exception as error:  # noqa: BLE001  # whatever a bug raises
        found.broken = Broken("nodes do not fail", f"{type(error).__name__}: {error}")
        found.broken.__cause__ = error


def simulate(
    seed: int, events: int = EVENTS, *, codecs: bool = True, stranger: bool = False
) -> Run:
    """Run the scenario of a seed for so many events, and then in quiet."""
    return run_scenario(draw_scenario(seed, stranger=stranger), events, codecs=codecs)


def run_scenario(scenario: Scenario, events: int = EVENTS, *, codecs: bool = True) -> Run:
    """Run a scenario for so many events, and then in quiet."""
    scheduler = Scheduler(scenario, codecs=codecs)
    before = 0
    with breaking() as found:
        scheduler.run(events)
        before = len(scheduler.steps)
        scheduler.calm_down()
        recover(scheduler)
    is_stuck = found.broken is not None and found.broken.rule == RECOVERS
    steps = scheduler.steps[:before] if is_stuck else scheduler.steps
    return Run(scenario, steps, scheduler.world.events, found.broken, is_stuck)


def recover(scheduler: Scheduler) -> None:
    """Check that someone leads and may write, and that everybody learns of new committed records.

    Operators help if they have to: see `kraftwire.simulation.work`. Raise `Broken` if it fails.
    """
    before = scheduler.world.ledger.end.offset

    def is_well(world: World) -> bool:
        end = world.ledger.end.offset
        if end <= before:
            return False
        cores = [node.replica.core for node in world.nodes.values() if node.replica is not None]
        leads = any(isinstance(core.role, Leader) and core.role.is_open for core in cores)
        return leads and all(core.committed > before for core in cores)

    if not scheduler.run_until(is_well, scheduler.world.now + RECOVERS_IN_MS):
        states = [
            f"{node.number}: {node.replica.core.role if node.replica else 'stopped'}"
            for node in scheduler.world.nodes.values()
        ]
        raise Broken(RECOVERS, "; ".join(states))
    for node in scheduler.world.nodes.values():
        if node.replica is not None:
            scheduler.world.ledger.reopen(node)
