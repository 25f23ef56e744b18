"""Who decides what happens next in a run that is made of a seed.

Every parcel gets a fate when it is sent: when it comes, whether it comes twice or not at all.
Faults and work come at random times. What is decided becomes steps, and the steps alone say
what has happened.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Any

from kraftwire.simulation.ledger import Broken
from kraftwire.simulation.network import Parcel
from kraftwire.simulation.node import Node
from kraftwire.simulation.scenario import Scenario
from kraftwire.simulation.steps import NEVER, Action, Step
from kraftwire.simulation.stranger import MOST_DRAWS
from kraftwire.simulation.work import may_lose, work_step
from kraftwire.simulation.world import World

_USUAL_WORK_MS = 20
_QUICK_MS = 4
_LATE_MS = 400
_PATIENCE_MS = 100
"""Clients that find no leader look again after so long, on average."""
_LONG_MS = 6000
_LONGEST_MS = 3_600_000
_MOST_EFFECTS = 6
_MOST_BITS = 1 << 20
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
"""What strikes; what is there twice strikes twice as often."""
_MOST_TICKS = 100


class Scheduler:
    """Makes the steps of a run; it is the watcher of its world."""

    def __init__(self, scenario: Scenario, *, codecs: bool = True, is_calm: bool = False) -> None:
        """With `is_calm`, nothing happens of itself but what the nodes do."""
        self.scenario = scenario
        self.world = World(scenario, self, codecs=codecs)
        self.chance = Random(scenario.seed)
        self.steps: list[Step] = []
        self.is_calm = is_calm
        """Whether nothing goes wrong any more."""
        self._due: list[tuple[int, int, Callable[..., None], Any]] = []
        self._numbers = count()
        self._loop = (0, 0, 0)
        self._ticks: dict[int, int] = {}
        """When each node is looked at next."""
        if is_calm:
            return
        for node in scenario.nodes:
            self._at(0, self._start, node)
        if scenario.faults.pause_ms:
            self._at(self._pause(scenario.faults.pause_ms), self._strike, None)
        if scenario.work_ms:
            self._at(self._pause(scenario.work_ms), self._work, None)
        if scenario.stranger_ms:
            self._at(self._pause(scenario.stranger_ms), self._visit, None)

    def run(self, events: int) -> None:
        """Go on until so many events have happened; `Broken` where a rule does not hold.

        Where nothing happens any more, as with every disk damaged, it ends after an hour.
        """
        world = self.world
        while world.events < events and world.now < _LONGEST_MS:
            self._go_on()

    def run_until(self, is_done: Callable[[World], bool], until: int) -> bool:
        """Go on until something is so, at most to a time; whether it is."""
        while not is_done(self.world):
            if self._due[0][0] > until:
                return False
            self._go_on()
        return True

    def calm_down(self) -> None:
        """Nothing goes wrong from here on; what is broken is mended."""
        world, was_calm = self.world, self.is_calm
        self.is_calm = world.executor.is_quiet = True
        if was_calm or not self.scenario.work_ms:
            self._at(world.now, self._work, None)
        for sender, receiver in world.network.cuts:
            self.take(Step(world.now, Action.MEND, receiver, sender))
        for node in world.nodes.values():
            if node.is_damaged:
                self.take(Step(world.now, Action.WIPE, node.number))
            if node.replica is None:
                self._start(node.number)

    def take(self, step: Step) -> bool:
        """Have a step done, and note it; whether there was something to do."""
        self.steps.append(step)  # a step that breaks a rule has done something
        done = self.world.take(step)
        if not done:
            self.steps.pop()
        return done

    # -- what the world tells ------------------------------------------------------------------

    def sent(self, parcel: Parcel) -> None:
        """See `Watcher`."""
        chance, faults = self.chance, self.scenario.faults
        delay = 1 + int(chance.random() * _QUICK_MS)
        action = Action.DELIVER
        if not self.is_calm:
            fate = chance.random()
            if fate < faults.loss:
                action = Action.LOSE
            elif fate < faults.loss + faults.repeat:
                action = Action.REPEAT
            elif fate < faults.loss + faults.repeat + faults.late:
                delay += chance.randrange(_LATE_MS)
        self._at(self.world.now + delay, self._arrive, (parcel, action))

    def to_confirm(self, node: Node) -> None:
        """See `Watcher`."""
        self._at(self.world.now, self._confirm, (node.number, node.life))

    def acted(self, node: Node) -> None:
        """See `Watcher`."""
        if node.replica is None:
            if not node.is_damaged:
                pause = _LATE_MS if self.is_calm else self.chance.choice((1, _LATE_MS, _LONG_MS))
                self._at(self.world.now + pause, self._start, node.number)
            return
        deadline = node.replica.next_deadline()
        if deadline is not None:
            at = max(node.true_time(deadline), self.world.now)
            if at < self._ticks.get(node.number, at + 1):
                self._ticks[node.number] = at
                self._at(at, self._tick, (node.number, at))

    # -- what comes due ------------------------------------------------------------------------

    def _arrive(self, about: tuple[Parcel, Action]) -> None:
        parcel, action = about
        place = self.world.network.place_of(parcel)
        if place is not None:
            crash = NEVER if action is Action.LOSE else self._crash_in()
            step = Step(self.world.now, action, parcel.receiver, parcel.sender, place, crash)
            self.take(step)

    def _confirm(self, about: tuple[int, int]) -> None:
        number, life = about
        if self.world.nodes[number].life == life:
            self.take(Step(self.world.now, Action.FLUSHED, number, crash=self._crash_in()))

    def _tick(self, about: tuple[int, int]) -> None:
        number, at = about
        now, node = self.world.now, self.world.nodes[number]
        if self._ticks.get(number) != at:
            return  # an earlier look has been asked for since
        del self._ticks[number]
        if node.replica is None:
            return
        deadline = node.replica.next_deadline()
        if deadline is not None and node.true_time(deadline) <= now:
            self.take(Step(now, Action.TICK, number, crash=self._crash_in()))
            self._look_for_a_loop(node)
        else:
            self.acted(node)

    def _look_for_a_loop(self, node: Node) -> None:
        """A tick after which the same is due again at once, and again, is no way to wait."""
        now = self.world.now
        number, before, times = self._loop
        times = times + 1 if (number, before) == (node.number, now) else 1
        self._loop = (node.number, now, times)
        if times > _MOST_TICKS and node.replica is not None:
            raise Broken("deadlines pass", f"node {node.number}: {node.replica.core.role}")

    def _start(self, number: int) -> None:
        if self.world.nodes[number].replica is None:
            self.take(Step(self.world.now, Action.START, number, crash=self._crash_in()))

    def _work(self, _: None) -> None:
        step = work_step(self.world, self.chance, self._crash_in())
        if step is not None:
            self.take(step)
        mean = self.scenario.work_ms or _USUAL_WORK_MS
        pause = self._pause(mean if step is not None else max(mean, _PATIENCE_MS))
        self._at(self.world.now + pause, self._work, None)

    def _visit(self, _: None) -> None:
        """Let a stranger ask a node something; in quiet it is silent."""
        if self.is_calm:
            return
        chance, now = self.chance, self.world.now
        self._at(now + self._pause(self.scenario.stranger_ms), self._visit, None)
        number, draw = chance.choice(self.scenario.nodes), chance.randrange(MOST_DRAWS)
        self.take(Step(now, Action.STRANGER, number, place=draw, crash=self._crash_in()))

    def _strike(self, _: None) -> None:
        if self.is_calm:
            return
        chance, now = self.chance, self.world.now
        self._at(now + self._pause(self.scenario.faults.pause_ms), self._strike, None)
        nodes = list(self.scenario.nodes)
        number, other = chance.choice(nodes), chance.choice(nodes)
        kind = chance.choice(_FAULTS)
        if kind in (Action.CRASH, Action.FAIL):
            self.take(Step(now, kind, number))
        elif kind in (Action.WIPE, Action.FLIP):
            self._spoil(number, kind)
        elif kind is Action.MEND:
            self._mend_some()
        elif number != other and kind is Action.RESET:
            self.take(Step(now, kind, number, other))
        elif kind is Action.CUT:
            self._cut_some(number)

    def _spoil(self, number: int, kind: Action) -> None:
        """Take a disk, or a bit of it, where enough others are left."""
        node = self.world.nodes[number]
        if node.is_damaged:
            self.take(Step(self.world.now, Action.WIPE, number))
        elif may_lose(self.world, node):
            bit = self.chance.randrange(_MOST_BITS) if kind is Action.FLIP else 0
            self.take(Step(self.world.now, kind, number, place=bit))

    def _cut_some(self, number: int) -> None:
        """Cut one link, all to a node, all from it, or the cluster in two."""
        chance, now = self.chance, self.world.now
        others = [other for other in self.scenario.nodes if other != number]
        if not others:
            return
        kind = chance.randrange(4)
        if kind == 0:
            links = [(number, chance.choice(others))]
        elif kind == 1:
            links = [(number, other) for other in others]
        elif kind == 2:
            links = [(other, number) for other in others]
        else:
            side = {number, *chance.sample(others, chance.randrange(len(others)))}
            across = [(one, two) for one in side for two in others if two not in side]
            links = sorted([*across, *((two, one) for one, two in across)])
        for receiver, sender in links:
            self.take(Step(now, Action.CUT, receiver, sender))
        self._at(now + chance.choice((_LATE_MS, _LONG_MS)), self._mend, links)

    def _mend(self, links: list[tuple[int, int]]) -> None:
        for receiver, sender in links:
            self.take(Step(self.world.now, Action.MEND, receiver, sender))

    def _mend_some(self) -> None:
        self._mend([(receiver, sender) for sender, receiver in self.world.network.cuts])

    # -- helpers -------------------------------------------------------------------------------

    def _go_on(self) -> None:
        """Do what is due next."""
        at, _, what, about = heappop(self._due)
        self.world.now = max(self.world.now, at)
        what(about)

    def _at(self, at: int, what: Callable[..., None], about: Any) -> None:
        heappush(self._due, (at, next(self._numbers), what, about))

    def _crash_in(self) -> int:
        if self.is_calm or self.chance.random() >= self.scenario.faults.crash:
            return NEVER
        return self.chance.randrange(_MOST_EFFECTS)

    def _pause(self, mean: int) -> int:
        return 1 + int(self.chance.expovariate(1 / mean))
