"""Learns the epoch and leader in a response, before the replica handles the rest of it.

After an error such as NOT_LEADER_OR_FOLLOWER from a leader that has resigned, Kafka's controller
asks again immediately. This one pauses: nothing has happened that would change the answer.
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
from kraftwire_messages.kafka import BeginQuorumEpochResponse, EndQuorumEpochResponse, VoteResponse
from kraftwire_wire.message import Message
from kraftwire_wire.numbers import ErrorCode


class Outcome(Enum):
    """The effect of a response on the replica."""

    NEWS = "news"
    """It changed the role, or it came too late to matter."""
    FAILED = "failed"
    """It was of no use: the replica pauses before it asks the node again."""
    GOOD = "good"
    """It answers the request."""


_MOVED = (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER)
_ELECTION_RESPONSES = (VoteResponse, BeginQuorumEpochResponse, EndQuorumEpochResponse)


def read_response(core: Core, response: Message) -> tuple[Outcome, Any]:
    """Learn epoch and leader; return the outcome and the response's struct for the partition."""
    if not isinstance(response, _ELECTION_RESPONSES):
        return Outcome.FAILED, None
    partition = partition_of(response)
    if response.error_code or partition is None:
        return Outcome.FAILED, None
    return (
        learn_from_response(core, partition.error_code, partition, response.node_endpoints),
        partition,
    )


def learn_from_response(core: Core, error: int, leader: Any, endpoints: list[Any]) -> Outcome:
    """Learn epoch and leader from a response, and return whether it answers the request.

    `leader` has `leader_id` and `leader_epoch`; `endpoints` have the addresses of nodes.
    """
    epoch = leader.leader_epoch
    leader_id = leader.leader_id if leader.leader_id >= 0 else None
    if leader_id == core.key.id and (epoch > core.epoch or core.leader_id != leader_id):
        leader_id = None  # a stranger deceived the sender, which is still in that epoch
    listeners = _listeners_in(core, leader_id, endpoints)
    if epoch < core.epoch or error == ErrorCode.UNKNOWN_LEADER_EPOCH:
        return Outcome.FAILED
    before = core.role
    if epoch > core.epoch or error in _MOVED:
        learn_leader(core, epoch, leader_id, listeners)
        return Outcome.FAILED if core.role is before else Outcome.NEWS
    if leader_id is not None and _is_news(core, leader_id):
        if not learn_leader(core, epoch, leader_id, listeners):
            return Outcome.FAILED
        if core.role is not before:
            return Outcome.NEWS
    return Outcome.FAILED if error else Outcome.GOOD


def _is_news(core: Core, leader_id: int) -> bool:
    """Whether a response without error that names a leader of this epoch changes the leader."""
    if core.leader_id is None or isinstance(core.role, Unattached):
        return True
    return leader_id != core.leader_id and may_replace_leader(core)


def note_fetched(core: Core, follower: Follower) -> None:
    """Extend the deadline of a leader that has answered, and refuse pre-votes from now on."""
    follower.fetch_deadline = core.now + core.config.fetch_timeout_ms + follower.extra_ms
    follower.has_fetched = True
    core.heard_epoch = follower.epoch


def _listeners_in(core: Core, leader_id: int | None, endpoints: list[Any]) -> tuple[Listener, ...]:
    """Return the leader's listeners from the response, else those in the voter set.

    An endpoint that nobody can connect to is ignored.
    """
    for one in endpoints:
        if one.node_id == leader_id and Address(one.host, one.port).problem is None:
            return (Listener(core.config.default_listener, one.host, one.port),)
    return core.listeners_of(leader_id)
