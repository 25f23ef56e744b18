"""Repeats runs step by step, and shortens those that break a rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from kraftwire.simulation.ledger import RuleViolation
from kraftwire.simulation.run import Run, recover, violation_of
from kraftwire.simulation.scenario import Scenario
from kraftwire.simulation.scheduler import Scheduler
from kraftwire.simulation.steps import Action, Step
from kraftwire.simulation.world import World

_MAX_REPLAYS = 3000


class Replay(NamedTuple):
    """The steps that were possible, and the rule that they broke."""

    steps: list[Step]
    violation: RuleViolation | None


def replay(
    scenario: Scenario,
    steps: Sequence[Step],
    *,
    codecs: bool = True,
    in_quiet: bool = False,
    on_step: Callable[[World, Step], None] | None = None,
) -> Replay:
    """Take the steps of a run again; with `in_quiet` the cluster must recover afterwards.

    Call `on_step` after each step that was possible and broke no rule.
    """
    scheduler = Scheduler(scenario, codecs=codecs, is_quiet=True)

    def take_steps() -> None:
        for step in steps:
            if scheduler.apply(step) and on_step is not None:
                on_step(scheduler.world, step)

    violation = violation_of(take_steps)
    done = list(scheduler.steps)
    if in_quiet and violation is None:
        violation = violation_of(lambda: recover(scheduler))
    return Replay(done, violation)


def shrink(run: Run, *, codecs: bool = True) -> list[Step]:
    """Return the shortest list of steps found that breaks the same rule as a run."""
    return _Shrinker(run, codecs=codecs).fewest_steps()


class _Shrinker:
    """Omits steps of a run as long as it breaks the same rule."""

    def __init__(self, run: Run, *, codecs: bool) -> None:
        assert run.violation is not None, "only a run that breaks a rule can be shortened"
        self._run = run
        self._rule = run.violation.rule
        self._codecs = codecs
        self._replays = 0
        self._best = run.steps

    def fewest_steps(self) -> list[Step]:
        length = -1
        while len(self._best) != length and self._replays < _MAX_REPLAYS:
            length = len(self._best)
            self._omit_nodes_and_actions()
            size = length // 2
            while size:
                self._omit_slices(size)
                size //= 2
        return self._best

    def _omit_nodes_and_actions(self) -> None:
        for node in sorted({step.node for step in self._best}):
            self._try([step for step in self._best if node not in (step.node, step.other)])
        for action in Action:
            self._try([step for step in self._best if step.action is not action])

    def _omit_slices(self, size: int) -> None:
        start = 0
        while start < len(self._best) and self._replays < _MAX_REPLAYS:
            if not self._try(self._best[:start] + self._best[start + size :]):
                start += size

    def _try(self, steps: list[Step]) -> bool:
        """Keep the steps if they break the rule and are fewer; return whether they were kept."""
        self._replays += 1
        in_quiet = self._run.is_stuck
        result = replay(self._run.scenario, steps, codecs=self._codecs, in_quiet=in_quiet)
        is_same = result.violation is not None and result.violation.rule == self._rule
        if is_same and len(result.steps) < len(self._best):
            self._best = result.steps
            return True
        return False
