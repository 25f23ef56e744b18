"""Reports a follower to its leader: its new description, or that it wants to be a voter.

A voter that the voter set describes wrongly sends UpdateRaftVoter (KIP-853). Under kraft.version 0
the set has no descriptions, and the voter sends its own to each leader. With `Config.auto_join`, an
observer that can vote asks to become a voter (KIP-1186): it first removes the voter of its id,
whose disk it has lost, and then adds itself.
"""

from __future__ import annotations

from kraftwire.raft.core.core import Core
from kraftwire.raft.core.messages import (
    add_raft_voter_request,
    remove_raft_voter_request,
    update_raft_voter_request,
)
from kraftwire.raft.core.roles import Follower
from kraftwire.raft.replication.leader_updates import Outcome, learn_from_response, note_fetched
from kraftwire_messages.kafka import (
    AddRaftVoterResponse,
    FetchResponse,
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


def send_update(core: Core, role: Follower) -> bool:
    """Send a report if one is due and necessary; return whether the next Fetch has to wait.

    It has to wait for the report, since each node gets one request at a time.
    """
    if core.now < role.update_deadline:
        return False
    request = _next_request(core, role)
    address = core.address_of(role.leader_listeners)
    if request is None or address is None:
        role.update_deadline = core.now + core.config.fetch_timeout_ms
        return False
    if core.connections.is_ready(role.leader_id, core.now):
        role.update_deadline = core.now + core.config.fetch_timeout_ms
        core.send(role.leader_id, address, request)
    return True


def next_deadline(core: Core, role: Follower) -> int | None:
    """Return when the next report is due; None if none is needed, or one is overdue."""
    if role.update_deadline <= core.now or _next_request(core, role) is None:
        return None
    return role.update_deadline


def _next_request(core: Core, role: Follower) -> Message | None:
    """Return the report that the leader needs; None if it needs none."""
    if not core.policy.has_updates:
        return None
    cluster_id, kraft_version = core.config.cluster_id, core.control.kraft_version.last
    if core.is_voter:
        entry = core.voters.find(core.key)
        is_known = entry is not None and entry.describes_same_as(core.myself)
        if is_known if kraft_version else role.has_updated:
            return None
        return update_raft_voter_request(cluster_id, core.epoch, core.myself)
    if not (core.config.auto_join and core.config.can_vote and kraft_version):
        return None
    replaced = core.voters.of_id(core.key.id)
    if replaced:
        return remove_raft_voter_request(cluster_id, replaced[0].key)
    return add_raft_voter_request(
        cluster_id,
        core.myself,
        timeout_ms=core.config.request_timeout_ms,
        ack_when_committed=False,  # the replica cannot fetch the record while it waits
    )


def handle_update_response(core: Core, response: UpdateRaftVoterResponse) -> Outcome:
    """Record that the leader has received the report; this counts like an answer to Fetch."""
    leader = response.current_leader
    if leader is None:
        return Outcome.FAILED
    endpoints = []
    if leader.host:
        id_, host, port = leader.leader_id, leader.host, leader.port
        endpoints.append(FetchResponse.NodeEndpoint(node_id=id_, host=host, port=port))
    outcome = learn_from_response(core, response.error_code, leader, endpoints)
    role = core.role
    if not isinstance(role, Follower) or role.epoch != leader.leader_epoch:
        return outcome
    if response.error_code not in _UPDATED:
        return outcome
    role.has_updated = True
    note_fetched(core, role)
    return Outcome.GOOD


def handle_join_response(
    core: Core, response: AddRaftVoterResponse | RemoveRaftVoterResponse
) -> Outcome:
    """Pause before the next attempt to join."""
    role = core.role
    if response.error_code not in _JOINED or not isinstance(role, Follower):
        return Outcome.FAILED
    role.update_deadline = core.now + core.config.fetch_timeout_ms
    return Outcome.GOOD
