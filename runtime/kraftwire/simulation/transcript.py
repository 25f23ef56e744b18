"""Runs as text that people can read and `kraftwire simulate` can replay.

# title                             why the run is worth keeping
seed = 0                            the scenario, one field per line
...
2210 deliver 1<3                    a step
    VoteResponse(granted)           the message that it delivered
    1 Candidate 2 -> Leader 2       a node whose role or epoch it changed
    1 committed 7                   a node whose high watermark it changed
quiet                               if the cluster must recover afterwards
holds                               or `breaks` and the rule

Replay reads the scenario, the steps and `quiet`; the indented lines are for people.
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
_QUIET = "quiet"


class Transcript(NamedTuple):
    """A parsed transcript; `end` is its last line."""

    title: str
    scenario: Scenario
    steps: list[Step]
    in_quiet: bool
    """Whether a quiet period follows the steps, in which the cluster must recover."""
    end: str


def format_transcript(
    title: str, scenario: Scenario, steps: Sequence[Step], *, in_quiet: bool = False
) -> str:
    """Replay a run and return its transcript."""
    observer = _Observer()
    lines = [f"# {line}".rstrip() for line in title.splitlines()]
    lines += [f"{name} = {json.dumps(value)}" for name, value in _values(scenario)]

    def add(world: World, step: Step) -> None:
        lines.append(format_step(step))
        lines.extend(_INDENT + line for line in observer.changes(world, step))

    result = replay(scenario, steps, in_quiet=in_quiet, on_step=add)
    if in_quiet:
        lines.append(_QUIET)
    elif result.violation is not None:
        lines.append(format_step(result.steps[-1]))
    lines.append(HOLDS if result.violation is None else f"breaks {result.violation}")
    return "\n".join([*lines, ""])


def parse_transcript(text: str, file: str = "<text>") -> Transcript:
    """Parse a transcript; raise `KraftwireError` if it is not one."""
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
        raise KraftwireError(f"{file}: not a scenario: {error}") from None
    return Transcript("\n".join(title), scenario, steps, _QUIET in rest, rest[-1] if rest else "")


def _values(scenario: Scenario) -> Iterable[tuple[str, Any]]:
    for name, value in asdict(scenario).items():
        if name == "stranger_ms" and not value:
            continue  # absent, as in transcripts from before this field existed
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


class _Observer:
    """Compares the nodes with their state after the previous step."""

    def __init__(self) -> None:
        self._states: dict[int, str] = {}
        self._committed: dict[int, int] = {}

    def changes(self, world: World, step: Step) -> list[str]:
        """Return the delivered message and the changes of all nodes, as lines."""
        lines = [] if world.last_message is None else [_describe(world.last_message)]
        if step.action in (Action.DELIVER, Action.REPEAT) and not lines:
            lines = ["no response"]
        for number, node in world.nodes.items():
            is_running = node.replica is not None
            state = f"{type(node.role).__name__} {node.core.epoch}" if is_running else "stopped"
            before = self._states.get(number, "stopped")
            if state != before:
                lines.append(f"{number} {before} -> {state}")
            self._states[number] = state
            committed = node.core.committed if is_running else 0
            if is_running and committed != self._committed.get(number, 0):
                lines.append(f"{number} committed {committed}")
            self._committed[number] = committed
        return lines


def _describe(message: Message) -> str:
    kind = type(message).__name__
    partition = partition_of(message) if type(message) in _SUMMARIES else None
    summary = "" if partition is None else _SUMMARIES[type(message)](partition)
    error = getattr(message, "error_code", 0) or getattr(partition, "error_code", 0)
    return f"{kind}({ErrorCode(error).name if error else summary})"


def _vote_request(one: VoteRequest.PartitionData) -> str:
    kind = "pre-vote, " if one.pre_vote else ""
    log = f"{one.last_offset}/{one.last_offset_epoch}"
    return f"{kind}{one.replica_id}, epoch {one.replica_epoch}, log {log}"


def _leader(one: Any) -> str:
    return f"leader {one.leader_id}, epoch {one.leader_epoch}"


def _fetch_response(one: FetchResponse.PartitionData) -> str:
    size = len(one.records or b"")
    if one.diverging_epoch is not None and one.diverging_epoch.epoch >= 0:
        return f"diverging {one.diverging_epoch.end_offset}/{one.diverging_epoch.epoch}"
    if one.snapshot_id is not None and one.snapshot_id.end_offset >= 0:
        return f"snapshot {one.snapshot_id.end_offset}/{one.snapshot_id.epoch}"
    return f"{size} bytes, high watermark {one.high_watermark}"


_SUMMARIES: dict[type[Message], Any] = {
    VoteRequest: _vote_request,
    VoteResponse: lambda one: f"{'granted' if one.vote_granted else 'refused'}, {_leader(one)}",
    BeginQuorumEpochRequest: _leader,
    EndQuorumEpochRequest: _leader,
    FetchRequest: lambda one: (
        f"{one.fetch_offset}/{one.last_fetched_epoch}, epoch {one.current_leader_epoch}"
    ),
    FetchResponse: _fetch_response,
    FetchSnapshotRequest: lambda one: (
        f"{one.snapshot_id.end_offset}/{one.snapshot_id.epoch} from {one.position}, "
        f"epoch {one.current_leader_epoch}"
    ),
}
