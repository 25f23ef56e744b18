"""A run as a page of text that a person can read, and that can be replayed.

# why it is kept
seed = 0                            the scenario, a line for each of its values
...
2210 deliver 1<3                    a step, and behind it what came of that
    VoteResponse(granted)           what was handed over
    1 Candidate 2 -> Leader 2       changes of state
    1 committed 7
holds                               or the rule that did not
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from kraftwire.raft.core.messages import partition_of
from kraftwire.raft.state.config import Membership
from kraftwire.simulation.replay import replay
from kraftwire.simulation.scenario import Bootstrap, Faults, Scenario
from kraftwire.simulation.steps import Action, Step, format_step, parse_step
from kraftwire.simulation.world import World
from kraftwire_messages.kafka import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    VoteRequest,
    VoteResponse,
)
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.message import Message
from kraftwire_wire.numbers import ErrorCode

_INDENT = "    "
HOLDS = "holds"
QUIET = "quiet"


class Transcript(NamedTuple):
    """What a page says; `end` is its last line."""

    title: str
    scenario: Scenario
    steps: list[Step]
    in_quiet: bool
    """Whether the cluster is left in quiet behind the steps, and must recover."""
    end: str


def format_transcript(
    title: str, scenario: Scenario, steps: Sequence[Step], *, in_quiet: bool = False
) -> str:
    """The page of a run, made by running it."""
    teller = _Teller()
    lines = [f"# {line}".rstrip() for line in title.splitlines()]
    lines += [f"{name} = {json.dumps(value)}" for name, value in _values(scenario)]
    said: list[str] = []

    def seen(world: World, step: Step) -> None:
        said.append(format_step(step))
        said.extend(_INDENT + line for line in teller.told(world, step))

    found = replay(scenario, steps, in_quiet=in_quiet, seen=seen)
    if found.broken is not None and not in_quiet:
        said.append(format_step(found.steps[-1]))
    quiet = [QUIET] if in_quiet else []
    end = HOLDS if found.broken is None else f"breaks {found.broken}"
    return "\n".join([*lines, *said, *quiet, end, ""])


def parse_transcript(text: str, file: str = "<text>") -> Transcript:
    """What a page says; `KraftwireError` where it is none."""
    title: list[str] = []
    steps: list[Step] = []
    values: dict[str, Any] = {}
    rest: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            if line.startswith("#"):
                title.append(line[1:].strip())
            elif " = " in line and not line.startswith(" "):
                name, _, value = line.partition(" = ")
                values[name] = json.loads(value)
            elif line[:1].isdigit():
                steps.append(parse_step(line))
            elif line and not line.startswith(" "):
                rest.append(line)
        except (KraftwireError, ValueError) as error:
            raise KraftwireError(f"{file}, line {number}: {error}") from None
    try:
        scenario = _scenario(values)
    except (KeyError, TypeError, ValueError) as error:
        raise KraftwireError(f"{file}: no scenario: {error}") from None
    return Transcript("\n".join(title), scenario, steps, QUIET in rest, rest[-1] if rest else "")


def _values(scenario: Scenario) -> Iterable[tuple[str, Any]]:
    for name, value in asdict(scenario).items():
        if name == "stranger_ms" and not value:
            continue  # most pages have none
        yield name, sorted(value) if isinstance(value, frozenset) else value


def _scenario(values: dict[str, Any]) -> Scenario:
    given = dict(values)
    return Scenario(
        bootstrap=Bootstrap(given.pop("bootstrap")),
        membership=Membership(given.pop("membership")),
        faults=Faults(**given.pop("faults")),
        rates=tuple(given.pop("rates")),
        old=frozenset(given.pop("old")),
        **given,
    )


class _Teller:
    """Tells what has changed since it was asked last."""

    def __init__(self) -> None:
        self._states: dict[int, str] = {}
        self._committed: dict[int, int] = {}

    def told(self, world: World, step: Step) -> list[str]:
        lines = [] if world.handed is None else [describe(world.handed)]
        if step.action in (Action.DELIVER, Action.REPEAT) and not lines:
            lines = ["no response"]
        for node in world.nodes.values():
            core = None if node.replica is None else node.replica.core
            state = "stopped" if core is None else f"{type(core.role).__name__} {core.epoch}"
            before = self._states.get(node.number, "stopped")
            if state != before:
                lines.append(f"{node.number} {before} -> {state}")
            self._states[node.number] = state
            committed = 0 if core is None else core.committed
            if core is not None and committed != self._committed.get(node.number, 0):
                lines.append(f"{node.number} committed {committed}")
            self._committed[node.number] = committed
        return lines


def describe(message: Message) -> str:
    """A message in a few words."""
    kind = type(message).__name__
    partition = partition_of(message) if type(message) in _WORDS else None
    words = "" if partition is None else _WORDS[type(message)](partition)
    error = getattr(message, "error_code", 0) or getattr(partition, "error_code", 0)
    return f"{kind}({ErrorCode(error).name if error else words})"


def _vote(one: VoteRequest.PartitionData) -> str:
    kind = "pre-vote, " if one.pre_vote else ""
    return f"{kind}{one.replica_id}, epoch {one.replica_epoch}, log {_end(one)}"


def _end(one: VoteRequest.PartitionData) -> str:
    return f"{one.last_offset}/{one.last_offset_epoch}"


def _leader(one: Any) -> str:
    return f"leader {one.leader_id}, epoch {one.leader_epoch}"


def _fetched(one: FetchResponse.PartitionData) -> str:
    size = len(one.records or b"")
    if one.diverging_epoch is not None and one.diverging_epoch.epoch >= 0:
        return f"diverging {one.diverging_epoch.end_offset}/{one.diverging_epoch.epoch}"
    if one.snapshot_id is not None and one.snapshot_id.end_offset >= 0:
        return f"snapshot {one.snapshot_id.end_offset}/{one.snapshot_id.epoch}"
    return f"{size} bytes, high watermark {one.high_watermark}"


_WORDS: dict[type[Message], Any] = {
    VoteRequest: _vote,
    VoteResponse: lambda one: f"{'granted' if one.vote_granted else 'refused'}, {_leader(one)}",
    BeginQuorumEpochRequest: _leader,
    EndQuorumEpochRequest: _leader,
    FetchRequest: lambda one: (
        f"{one.fetch_offset}/{one.last_fetched_epoch}, epoch {one.current_leader_epoch}"
    ),
    FetchResponse: _fetched,
    FetchSnapshotRequest: lambda one: (
        f"{one.snapshot_id.end_offset}/{one.snapshot_id.epoch} from {one.position}, "
        f"epoch {one.current_leader_epoch}"
    ),
}
