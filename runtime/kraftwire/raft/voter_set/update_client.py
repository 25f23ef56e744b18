"""What a follower tells its leader of itself (KIP-853): what it has become, that it would vote.

A voter whose entry in the voter set is not what it is sends UpdateRaftVoter; under kraft.version
0, where the set has no such entries, it does so once for each leader. An observer that can vote
asks, where it is configured to, to become a voter: first that the one with its id be removed,
whose disk it has lost, then to be added (KIP-1186).
"""

from __future__ import annotations

from typing import NamedTuple

from kraftwire.raft.core.core import Core
from kraftwire.raft.core.messages import (
    add_raft_voter_request,
    remove_raft_voter_request,
    update_raft_voter_request,
)
from kraftwire.raft.core.roles import Follower
from kraftwire.raft.membership import policy_of
from kraftwire.raft.replication.responses import Outcome, note_fetched, take_leader
from kraftwire_messages.kafka import (
    AddRaftVoterResponse,
    RemoveRaftVoterResponse,
    UpdateRaftVoterResponse,
)
from kraftwire_wire.message import Message
from kraftwire_wire.numbers import ErrorCode

_UPDATED = (ErrorCode.NONE, ErrorCode.UNSUPPORTED_VERSION)
_JOINED = (
    ErrorCode.NONE,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.DUPLICATE_VOTER,
    ErrorCode.VOTER_NOT_FOUND,
)


class AskedUpdate(NamedTuple):
    """The leader was told what this voter has become."""


class AskedJoin(NamedTuple):
    """The leader was asked to make this observer a voter, or to remove whom it replaces."""


class Endpoint(NamedTuple):
    """Where a node listens, as most responses tell it."""

    node_id: int
    host: str
    port: int


def tell_leader(core: Core, role: Follower) -> bool:
    """Tell the leader what it does not know, when it is time; whether a Fetch waits for that.

    It waits, since each node is asked one thing at a time, and a Fetch may take long.
    """
    if core.now < role.update_deadline:
        return False
    what = _untold(core, role)
    address = core.address_of(role.leader_listeners)
    if what is None or address is None:
        role.update_deadline = core.now + core.config.fetch_timeout_ms
        return False
    if core.connections.is_ready(role.leader_id, core.now):
        role.update_deadline = core.now + core.config.fetch_timeout_ms
        core.send(role.leader_id, address, *what)
    return True


def next_deadline(core: Core, role: Follower) -> int | None:
    """When the leader has to be told something; None for never, or as soon as it can be asked."""
    if role.update_deadline <= core.now or _untold(core, role) is None:
        return None
    return role.update_deadline


def _untold(core: Core, role: Follower) -> tuple[object, Message] | None:
    """Return what the leader should be told or asked, and the request for it; None for nothing."""
    if not policy_of(core.config).updates:
        return None
    cluster_id, kraft_version = core.config.cluster_id, core.control.kraft_version.last
    if core.is_voter:
        entry = core.voters.find(core.key)
        is_told = entry is not None and entry.agrees(core.myself)
        if is_told if kraft_version else role.has_updated:
            return None
        return AskedUpdate(), update_raft_voter_request(cluster_id, core.epoch, core.myself)
    if not (core.config.auto_join and core.config.can_vote and kraft_version):
        return None
    replaced = core.voters.of_id(core.key.id)
    if replaced:
        return AskedJoin(), remove_raft_voter_request(cluster_id, replaced[0].key)
    return AskedJoin(), add_raft_voter_request(
        cluster_id,
        core.myself,
        timeout_ms=core.config.request_timeout_ms,
        ack_when_committed=False,  # else the record could not be fetched while that is awaited
    )


def take_update(core: Core, response: UpdateRaftVoterResponse) -> Outcome:
    """Take in what the leader answers to what it was told; that it answers counts as a Fetch."""
    told = response.current_leader
    if told is None:
        return Outcome.FAILED
    endpoints = [Endpoint(told.leader_id, told.host, told.port)] if told.host else []
    outcome = take_leader(core, response.error_code, told, endpoints)
    role = core.role
    if not isinstance(role, Follower) or role.epoch != told.leader_epoch:
        return outcome
    if response.error_code not in _UPDATED:
        return outcome
    role.has_updated = True
    note_fetched(core, role)
    return Outcome.GOOD


def take_join(core: Core, response: AddRaftVoterResponse | RemoveRaftVoterResponse) -> Outcome:
    """Wait until it is time to ask again, where this was answered."""
    role = core.role
    if response.error_code not in _JOINED or not isinstance(role, Follower):
        return Outcome.FAILED
    role.update_deadline = core.now + core.config.fetch_timeout_ms
    return Outcome.GOOD
