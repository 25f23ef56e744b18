"""Draws the steps of a run from its seed.

When a parcel is sent, the scheduler draws its time of delivery, and whether it is repeated or lost.
Faults and requests come at random times. All decisions become steps, and the steps alone determine
the run.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Any

from kraftwire.simulation.forged_requests import DRAWS
from kraftwire.simulation.ledger import RuleViolation
from kraftwire.simulation.network import Parcel
from kraftwire.simulation.node import SimulatedNode
from kraftwire.simulation.scenario import Scenario
from kraftwire.simulation.steps import NEVER, Action, Step
from kraftwire.simulation.workload import can_lose_disk, next_request
from kraftwire.simulation.world import World

_QUIET_WORK_MS = 20
"""Mean time between requests in the quiet period, if the scenario has none."""
_RETRY_MS = 100
"""Clients that find no leader try again after this time, on average."""
_QUICK_MS = 4
_LATE_MS = 400
_LONG_MS = 6000
_MAX_RUN_MS = 3_600_000
_MAX_EFFECTS = 6
_BITS = 1 << 20
_MAX_TICKS = 100
_FAULTS = (
    Action.CRASH,
    Action.CRASH,
    Action.FAIL,
    Action.CUT,
    Action.CUT,
    Action.CUT,
    Action.MEND,
    Action.RESET,
    Action.WIPE,
    Action.FLIP,
)
"""Repeated entries are more frequent."""


class Scheduler:
    """Produces the steps of a run, as the `Watcher` of its world."""

    def __init__(self, scenario: Scenario, *, codecs: bool = True, is_quiet: bool = False) -> None:
        """With `is_quiet`, there are no faults and requests, only the nodes themselves."""
        self.scenario = scenario
        self.world = World(scenario, self, codecs=codecs)
        self.rng = Random(scenario.seed)
        self.steps: list[Step] = []
        self.is_quiet = is_quiet
        """Whether there are no faults."""
        self._due: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []
        self._numbers = count()
        self._last_tick = (0, 0, 0)
        """The node and the time of the last tick, and the number of ticks there in a row."""
        self._tick_times: dict[int, int] = {}
        """The time of the next check of each node's deadline."""
        if is_quiet:
            return
        for node in scenario.nodes:
            self._at(0, self._start, node)
        for mean, action in (
            (scenario.faults.pause_ms, self._inject_fault),
            (scenario.work_ms, self._make_request),
            (scenario.stranger_ms, self._send_forged_request),
        ):
            if mean:
                self._at(self._pause(mean), action)

    def run(self, events: int) -> None:
        """Run until so many events have happened; raise `RuleViolation` if a rule breaks.

        Stop after an hour if no events happen any more, for example if every disk is damaged.
        """
        world = self.world
        while world.events < events and world.now < _MAX_RUN_MS:
            self._advance()

    def run_until(self, is_done: Callable[[World], bool], end: int) -> bool:
        """Run until a condition holds; return False if it does not by the time `end`."""
        while not is_done(self.world):
            if self._due[0][0] > end:
                return False
            self._advance()
        return True

    def end_faults(self) -> None:
        """Begin the quiet period: restore links, replace damaged disks and start all nodes."""
        world, was_quiet = self.world, self.is_quiet
        self.is_quiet = world.executor.is_quiet = True
        if was_quiet or not self.scenario.work_ms:
            self._at(world.now, self._make_request)
        self._mend_all()
        for node in world.nodes.values():
            if node.is_damaged:
                self._take_step(Action.WIPE, node.number)
            if node.replica is None:
                self._start(node.number)

    def apply(self, step: Step) -> bool:
        """Take a step and record it; return False if it is not possible."""
        self.steps.append(step)  # also if it breaks a rule
        done = self.world.apply(step)
        if not done:
            self.steps.pop()
        return done

    # -- reports of the world ------------------------------------------------------------------

    def on_send(self, parcel: Parcel) -> None:
        rng, faults = self.rng, self.scenario.faults
        delay = 1 + int(rng.random() * _QUICK_MS)
        action = Action.DELIVER
        if not self.is_quiet:
            fate = rng.random()
            if fate < faults.loss:
                action = Action.LOSE
            elif fate < faults.loss + faults.repeat:
                action = Action.REPEAT
            elif fate < faults.loss + faults.repeat + faults.late:
                delay += rng.randrange(_LATE_MS)
        self._at(self.world.now + delay, self._arrive, parcel, action)

    def on_flush(self, node: SimulatedNode) -> None:
        self._at(self.world.now, self._confirm_flush, node, node.incarnation)

    def on_change(self, node: SimulatedNode) -> None:
        if node.replica is None:
            if not node.is_damaged:
                pause = _LATE_MS if self.is_quiet else self.rng.choice((1, _LATE_MS, _LONG_MS))
                self._at(self.world.now + pause, self._start, node.number)
            return
        deadline = node.replica.next_deadline()
        if deadline is not None:
            at = max(node.true_time(deadline), self.world.now)
            if at < self._tick_times.get(node.number, at + 1):
                self._tick_times[node.number] = at
                self._at(at, self._tick, node, at)

    # -- scheduled actions ---------------------------------------------------------------------

    def _arrive(self, parcel: Parcel, action: Action) -> None:
        index = self.world.network.index_of(parcel)
        if index is not None:
            crash = NEVER if action is Action.LOSE else self._crash_after()
            now = self.world.now
            self.apply(Step(now, action, parcel.receiver, parcel.sender, index, crash))

    def _confirm_flush(self, node: SimulatedNode, incarnation: int) -> None:
        if node.incarnation == incarnation:
            self._take_step(Action.FLUSHED, node.number, crash=self._crash_after())

    def _tick(self, node: SimulatedNode, at: int) -> None:
        if self._tick_times.get(node.number) != at:
            return  # an earlier check was scheduled since
        del self._tick_times[node.number]
        if node.replica is None:
            return
        deadline = node.replica.next_deadline()
        if deadline is not None and node.true_time(deadline) <= self.world.now:
            self._take_step(Action.TICK, node.number, crash=self._crash_after())
            self._check_progress(node)
        else:
            self.on_change(node)

    def _check_progress(self, node: SimulatedNode) -> None:
        """Raise if a node's ticks at the same time never stop."""
        now = self.world.now
        number, before, times = self._last_tick
        times = times + 1 if (number, before) == (node.number, now) else 1
        self._last_tick = (node.number, now, times)
        if times > _MAX_TICKS and node.replica is not None:
            raise RuleViolation("deadlines pass", f"node {node.number}: {node.role}")

    def _start(self, number: int) -> None:
        if self.world.nodes[number].replica is None:
            self._take_step(Action.START, number, crash=self._crash_after())

    def _make_request(self) -> None:
        step = next_request(self.world, self.rng, self._crash_after())
        if step is not None:
            self.apply(step)
        mean = self.scenario.work_ms or _QUIET_WORK_MS
        pause = self._pause(mean if step is not None else max(mean, _RETRY_MS))
        self._at(self.world.now + pause, self._make_request)

    def _send_forged_request(self) -> None:
        if self.is_quiet:
            return
        pause = self._pause(self.scenario.stranger_ms)
        self._at(self.world.now + pause, self._send_forged_request)
        number, seed = self.rng.choice(self.scenario.nodes), self.rng.randrange(DRAWS)
        self._take_step(Action.STRANGER, number, value=seed, crash=self._crash_after())

    # -- faults --------------------------------------------------------------------------------

    def _inject_fault(self) -> None:
        if self.is_quiet:
            return
        rng = self.rng
        self._at(self.world.now + self._pause(self.scenario.faults.pause_ms), self._inject_fault)
        number, other = rng.choice(self.scenario.nodes), rng.choice(self.scenario.nodes)
        action = rng.choice(_FAULTS)
        if action in (Action.CRASH, Action.FAIL):
            self._take_step(action, number)
        elif action in (Action.WIPE, Action.FLIP):
            self._damage_disk(number, action)
        elif action is Action.MEND:
            self._mend_all()
        elif number != other and action is Action.RESET:
            self._take_step(action, number, other)
        elif action is Action.CUT:
            self._cut_some(number)

    def _damage_disk(self, number: int, action: Action) -> None:
        """Wipe a disk or flip a bit of it, if the cluster survives that."""
        node = self.world.nodes[number]
        if node.is_damaged:
            self._take_step(Action.WIPE, number)
        elif can_lose_disk(self.world, node):
            bit = self.rng.randrange(_BITS) if action is Action.FLIP else 0
            self._take_step(action, number, value=bit)

    def _cut_some(self, number: int) -> None:
        """Cut one link, all to a node, all from it, or the cluster in two; restore them later."""
        rng = self.rng
        others = [other for other in self.scenario.nodes if other != number]
        if not others:
            return
        kind = rng.randrange(4)
        if kind == 0:
            links = [(number, rng.choice(others))]
        elif kind == 1:
            links = [(number, other) for other in others]
        elif kind == 2:
            links = [(other, number) for other in others]
        else:
            side = {number, *rng.sample(others, rng.randrange(len(others)))}
            across = [(one, two) for one in side for two in others if two not in side]
            links = sorted([*across, *((two, one) for one, two in across)])
        for receiver, sender in links:
            self._take_step(Action.CUT, receiver, sender)
        self._at(self.world.now + rng.choice((_LATE_MS, _LONG_MS)), self._mend, links)

    def _mend(self, links: list[tuple[int, int]]) -> None:
        for receiver, sender in links:
            self._take_step(Action.MEND, receiver, sender)

    def _mend_all(self) -> None:
        self._mend([(receiver, sender) for sender, receiver in self.world.network.cuts])

    # -- helpers -------------------------------------------------------------------------------

    def _advance(self) -> None:
        at, _, action, arguments = heappop(self._due)
        self.world.now = max(self.world.now, at)
        action(*arguments)

    def _at(self, at: int, action: Callable[..., None], *arguments: Any) -> None:
        heappush(self._due, (at, next(self._numbers), action, arguments))

    def _take_step(
        self, action: Action, node: int, other: int = 0, value: int = 0, crash: int = NEVER
    ) -> None:
        self.apply(Step(self.world.now, action, node, other, value, crash))

    def _crash_after(self) -> int:
        if self.is_quiet or self.rng.random() >= self.scenario.faults.crash:
            return NEVER
        return self.rng.randrange(_MAX_EFFECTS)

    def _pause(self, mean: int) -> int:
        return 1 + int(self.rng.expovariate(1 / mean))
