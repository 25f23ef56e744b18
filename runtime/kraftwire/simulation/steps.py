"""What happens in a run, one step at a time, and the line of text that says it.

A line is `TIME ACTION NODE [OTHER] [#PLACE] [crash N]`, such as

    2210 deliver 1<3 #0 crash 2

At 2,210 ms node 1 gets the first message on its way from node 3, and crashes when two effects
of it are done. A step that cannot be done, since what it is about is not there, changes nothing:
so steps can be left out of a run, and the rest still says something.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

from kraftwire_wire.errors import KraftwireError

NEVER = -1


class Action(StrEnum):
    """What happens."""

    DELIVER = "deliver"
    """A node gets a message; `place` is its place among those on their way."""
    REPEAT = "repeat"
    """It gets the message, and the message stays on its way."""
    LOSE = "lose"
    """The message is lost."""
    TICK = "tick"
    """A deadline of the node has come."""
    FLUSHED = "flushed"
    """The node learns that its disk has what was flushed."""
    PROPOSE = "propose"
    """The state machine of a node asks for `place` records."""
    ADD = "add"
    """A client asks a node, which should lead, to make the other node a voter."""
    REMOVE = "remove"
    """A client asks a node to make voter number `place` of its voter set an observer."""
    UPGRADE = "upgrade"
    """A client asks a node to raise kraft.version to 1."""
    RESIGN = "resign"
    """A node is asked to give up the leadership."""
    SHUT_DOWN = "shutdown"
    """A node is asked to stop in good order."""
    MOVE = "move"
    """A node that does not run will listen on another port."""
    SNAPSHOT = "snapshot"
    """The state machine of a node takes a snapshot, with `place` records."""
    STRANGER = "stranger"
    """Somebody who is no part of the cluster asks a node what the number `place` stands for."""
    CRASH = "crash"
    """A node stops, and what it has not flushed is lost, or a part of it."""
    START = "start"
    """It starts again."""
    FAIL = "fail"
    """The next flush of a node fails, and stops it."""
    CUT = "cut"
    """What the other node sends does not reach the node any more."""
    MEND = "mend"
    """It does again."""
    RESET = "reset"
    """The connections between two nodes are closed; what was asked over them has failed."""
    WIPE = "wipe"
    """The node stops, and gets an empty disk, with a new directory id."""
    FLIP = "flip"
    """The bit with number `place` of the node's log changes."""


class Step(NamedTuple):
    """One thing that happens, at a time in ms of true time."""

    at: int
    action: Action
    node: int
    other: int = 0
    place: int = 0
    crash: int = NEVER
    """How many effects of an input are done before the node crashes."""


_LINE = re.compile(r"(\d+) (\w+) (\d+)(?:<(\d+))?(?: #(\d+))?(?: crash (\d+))?")


def format_step(step: Step) -> str:
    """The line that says a step."""
    other = f"<{step.other}" if step.other else ""
    place = f" #{step.place}" if step.place else ""
    crash = f" crash {step.crash}" if step.crash != NEVER else ""
    return f"{step.at} {step.action.value} {step.node}{other}{place}{crash}"


def parse_step(line: str) -> Step:
    """The step that a line says; `KraftwireError` where it says none."""
    found = _LINE.fullmatch(line)
    if found is None or found[2] not in set(Action):
        raise KraftwireError(f"no step of a run: {line!r}")
    at, action, node, other, place, crash = found.groups()
    return Step(
        int(at),
        Action(action),
        int(node),
        int(other or 0),
        int(place or 0),
        NEVER if crash is None else int(crash),
    )
