"""What a response says of epoch and leader, which comes before what it was asked for.

Where a real controller asks again at once, as after NOT_LEADER_OR_FOLLOWER from one that has
resigned, this one pauses: nothing has changed that would change the answer.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from kraftwire.address import Address
from kraftwire.raft.core.claims import may_replace_leader
from kraftwire.raft.core.core import Core
from kraftwire.raft.core.messages import partition_of
from kraftwire.raft.core.roles import Follower, Unattached
from kraftwire.raft.election.vote_server import learn_leader
from kraftwire.raft.state.voters import Listener
from kraftwire_messages.kafka import (
    BeginQuorumEpochResponse,
    EndQuorumEpochResponse,
    VoteResponse,
)
from kraftwire_wire.message import Message
from kraftwire_wire.numbers import ErrorCode


class Outcome(Enum):
    """What becomes of a response."""

    TAKEN = "taken"
    """It said something new of the quorum, or nothing that matters any more."""
    FAILED = "failed"
    """The node is left alone for a while."""
    GOOD = "good"
    """It answers what was asked."""


_MOVED = (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER)
_READ = (VoteResponse, BeginQuorumEpochResponse, EndQuorumEpochResponse)


def read_response(core: Core, response: Message) -> tuple[Outcome, Any]:
    """Take in epoch and leader; what the response says of the partition, where that counts."""
    if not isinstance(response, _READ):
        return Outcome.FAILED, None
    partition = partition_of(response)
    if response.error_code or partition is None:
        return Outcome.FAILED, None
    return take_leader(core, partition.error_code, partition, response.node_endpoints), partition


def take_leader(core: Core, error: int, told: Any, endpoints: list[Any]) -> Outcome:
    """Learn epoch and leader from a response, and return whether it answers what was asked.

    `told` has `leader_id` and `leader_epoch`, and `endpoints` has the listeners of nodes.
    """
    epoch = told.leader_epoch
    leader_id = told.leader_id if told.leader_id >= 0 else None
    if leader_id == core.key.id and (epoch > core.epoch or core.leader_id != leader_id):
        leader_id = None  # whoever answers was deceived, but is in that epoch
    listeners = _listeners_in(core, leader_id, endpoints)
    if epoch < core.epoch or error == ErrorCode.UNKNOWN_LEADER_EPOCH:
        return Outcome.FAILED
    before = core.role
    if epoch > core.epoch or error in _MOVED:
        learn_leader(core, epoch, leader_id, listeners)
        return Outcome.FAILED if core.role is before else Outcome.TAKEN
    if leader_id is not None and _is_news(core, leader_id):
        if not learn_leader(core, epoch, leader_id, listeners):
            return Outcome.FAILED
        if core.role is not before:
            return Outcome.TAKEN
    return Outcome.FAILED if error else Outcome.GOOD


def _is_news(core: Core, leader_id: int) -> bool:
    """Whether it matters who leads this epoch, when a response without errors names the leader."""
    if core.leader_id is None or isinstance(core.role, Unattached):
        return True
    return leader_id != core.leader_id and may_replace_leader(core)


def note_fetched(core: Core, follower: Follower) -> None:
    """Give a leader that has answered well more time, and others no pre-vote against it."""
    follower.fetch_deadline = core.now + core.config.fetch_timeout_ms + follower.extra_ms
    follower.has_fetched = True
    core.heard_epoch = follower.epoch


def _listeners_in(core: Core, leader_id: int | None, endpoints: list[Any]) -> tuple[Listener, ...]:
    """Return where a response says that the leader listens, or where the voter set says.

    An endpoint that nobody can connect to counts as not told.
    """
    for one in endpoints:
        if one.node_id == leader_id and Address(one.host, one.port).problem is None:
            return (Listener(core.config.default_listener, one.host, one.port),)
    return core.listeners_of(leader_id)
