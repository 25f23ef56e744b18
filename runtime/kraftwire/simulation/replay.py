"""Runs again by their steps, and the shortest of them that still breaks a rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from kraftwire.simulation.ledger import Broken
from kraftwire.simulation.run import Run, breaking, recover
from kraftwire.simulation.scenario import Scenario
from kraftwire.simulation.scheduler import Scheduler
from kraftwire.simulation.steps import Action, Step
from kraftwire.simulation.world import World

_MOST_REPLAYS = 3000


class Replay(NamedTuple):
    """What came of steps: those that did something, and the rule that did not hold."""

    steps: list[Step]
    broken: Broken | None


def replay(
    scenario: Scenario,
    steps: Sequence[Step],
    *,
    codecs: bool = True,
    in_quiet: bool = False,
    seen: Callable[[World, Step], None] | None = None,
) -> Replay:
    """Take steps as they are written, and with `in_quiet` let the cluster recover then.

    `seen` is told the world behind every step that did something.
    """
    scheduler = Scheduler(scenario, codecs=codecs, is_calm=True)
    with breaking() as found:
        for step in steps:
            if scheduler.take(step) and seen is not None:
                seen(scheduler.world, step)
    done = list(scheduler.steps)
    if in_quiet and found.broken is None:
        with breaking() as found:
            scheduler.calm_down()
            recover(scheduler)
    return Replay(done, found.broken)


def shrink(run: Run, *, codecs: bool = True) -> list[Step]:
    """The shortest steps that can be found to break the same rule as a run."""
    return _Shrinker(run, codecs=codecs).shortest()


class _Shrinker:
    """Leaves out steps of a run, so long as it still breaks the same rule."""

    def __init__(self, run: Run, *, codecs: bool) -> None:
        assert run.broken is not None, "there is nothing to look for"
        self._run = run
        self._rule = run.broken.rule
        self._codecs = codecs
        self._replays = 0
        self._best = run.steps

    def shortest(self) -> list[Step]:
        """Leave out what can be, again and again until nothing can."""
        length = -1
        while len(self._best) != length and self._replays < _MOST_REPLAYS:
            length = len(self._best)
            self._leave_out_kinds()
            size = length // 2
            while size:
                self._leave_out_pieces(size)
                size //= 2
        return self._best

    def _leave_out_kinds(self) -> None:
        """All steps of a node, or all of a kind."""
        for node in sorted({step.node for step in self._best}):
            self._try([step for step in self._best if node not in (step.node, step.other)])
        for action in Action:
            self._try([step for step in self._best if step.action is not action])

    def _leave_out_pieces(self, size: int) -> None:
        place = 0
        while place < len(self._best) and self._replays < _MOST_REPLAYS:
            if not self._try(self._best[:place] + self._best[place + size :]):
                place += size

    def _try(self, steps: list[Step]) -> bool:
        """Whether fewer steps break the rule too; then they are the best."""
        self._replays += 1
        in_quiet = self._run.is_stuck
        found = replay(self._run.scenario, steps, codecs=self._codecs, in_quiet=in_quiet)
        is_same = found.broken is not None and found.broken.rule == self._rule
        if is_same and len(found.steps) < len(self._best):
            self._best = found.steps
            return True
        return False
