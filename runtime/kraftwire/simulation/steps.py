"""The steps of a run, each of which is a line of text.

A line is `TIME ACTION NODE [<OTHER] [#VALUE] [crash N]`. For example

    2210 deliver 1<3 #0 crash 2

At 2,210 ms node 1 receives the first message in flight from node 3, and crashes after two effects.
A step that is not possible changes nothing, so a run can be replayed without any of its steps.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

from kraftwire_wire.errors import KraftwireError

NEVER = -1


class Action(StrEnum):
    """What a step does; the names are part of the transcript format."""

    DELIVER = "deliver"  # the node receives the message at index `value` of the link from `other`
    REPEAT = "repeat"  # as `deliver`, and the message also stays in flight
    LOSE = "lose"  # the message is lost
    TICK = "tick"  # a deadline of the node has passed
    FLUSHED = "flushed"  # the node learns that its oldest unconfirmed flush is complete
    PROPOSE = "propose"  # the state machine of the node proposes `value` records
    ADD = "add"  # a client asks the node to make `other` a voter
    REMOVE = "remove"  # a client asks the node to remove the voter at index `value` of its set
    UPGRADE = "upgrade"  # a client asks the node to raise kraft.version to 1
    RESIGN = "resign"  # the node is asked to give up leadership
    SHUT_DOWN = "shutdown"  # the node is asked to shut down cleanly
    MOVE = "move"  # the node, which is stopped, will listen on another port
    SNAPSHOT = "snapshot"  # the state machine of the node takes a snapshot with `value` records
    STRANGER = "stranger"  # a stranger sends the forged request that is drawn from seed `value`
    CRASH = "crash"  # the node stops, and all or a part of the unflushed data is lost
    START = "start"  # the node starts
    FAIL = "fail"  # the node's next flush fails, which stops it
    CUT = "cut"  # the link from `other` to the node is cut
    MEND = "mend"  # that link is restored
    RESET = "reset"  # the connections between two nodes close, and pending requests fail
    WIPE = "wipe"  # the node stops and gets an empty disk, with a new directory id
    FLIP = "flip"  # bit number `value` of the node's log flips


class Step(NamedTuple):
    """One thing that happens, at a true time in ms."""

    at: int
    action: Action
    node: int
    other: int = 0
    value: int = 0
    crash: int = NEVER
    """The number of effects after which the node crashes."""


_LINE = re.compile(r"(\d+) (\w+) (\d+)(?:<(\d+))?(?: #(\d+))?(?: crash (\d+))?")


def format_step(step: Step) -> str:
    """Return a step as a line."""
    other = f"<{step.other}" if step.other else ""
    value = f" #{step.value}" if step.value else ""
    crash = f" crash {step.crash}" if step.crash != NEVER else ""
    return f"{step.at} {step.action.value} {step.node}{other}{value}{crash}"


def parse_step(line: str) -> Step:
    """Parse a line; raise `KraftwireError` if it is not a step."""
    match = _LINE.fullmatch(line)
    if match is None or match[2] not in set(Action):
        raise KraftwireError(f"not a step of a run: {line!r}")
    at, action, node, other, value, crash = match.groups()
    return Step(
        int(at),
        Action(action),
        int(node),
        int(other or 0),
        int(value or 0),
        NEVER if crash is None else int(crash),
    )
