"""AddRaftVoter and RemoveRaftVoter, as a leader answers them (KIP-853).

One voter changes at a time. The record that says so is in force on each replica that has it; the
request is answered when it is committed, or, where it said so, when it is in the log. It waits
no longer than a request may take: what is in the log by then stands, and whoever asks again
learns what became of it. With the leadership the request is lost too, and so is, where the log
is truncated, its record.

A real leader forgets with a request that has waited too long that it has to resign, if it is
the leader who was removed. Here the commit alone decides that (`leading.is_removed`).
"""

from __future__ import annotations

from kraftwire.raft.core import Core
from kraftwire.raft.inputs import Request
from kraftwire.raft.leading import append_controls
from kraftwire.raft.membership import Adding, Change, Refusal, Removing, policy_of
from kraftwire.raft.messages import listeners_in
from kraftwire.raft.readiness import AskedVersions, ask_versions, ready_voter
from kraftwire.raft.replies import reply
from kraftwire.raft.responses import Outcome
from kraftwire.raft.roles import Leader, Pending
from kraftwire.raft.voter_checks import (
    check_caller,
    check_is_committed,
    check_is_settled,
    check_key,
    check_listeners,
)
from kraftwire.raft.voters import ReplicaKey, Voter
from kraftwire_messages.kafka import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    ApiVersionsResponse,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
)
from kraftwire_wire.numbers import ErrorCode

_LOST = Refusal(ErrorCode.NOT_LEADER_OR_FOLLOWER, "This replica does not lead any more.")
_TOO_LATE = Refusal(ErrorCode.REQUEST_TIMED_OUT, "The change was not committed in time.")


def handle_add_voter(core: Core, request: Request, message: AddRaftVoterRequest) -> None:
    """Ask a replica whether it is ready to be a voter, to make it one."""
    voter = Voter(
        ReplicaKey(message.voter_id, message.voter_directory_id), listeners_in(message.listeners)
    )
    refusal = (
        check_caller(core, message.cluster_id, core.epoch)
        or check_key(voter.key)
        or check_listeners(core, voter.listeners)
        or _check_change(core, Adding(voter))
        or ask_versions(core, voter)
    )
    if refusal is None:
        _begin(core, request, Adding(voter))
    else:
        _answer(core, request, refusal)


def handle_remove_voter(core: Core, request: Request, message: RemoveRaftVoterRequest) -> None:
    """Make a voter an observer."""
    change = Removing(ReplicaKey(message.voter_id, message.voter_directory_id))
    refusal = (
        check_caller(core, message.cluster_id, core.epoch)
        or check_key(change.key)
        or _check_change(core, change)
    )
    if refusal is None:
        _append(core, _begin(core, request, change))
    else:
        _answer(core, request, refusal)


def take_versions(
    core: Core, asked: AskedVersions, response: ApiVersionsResponse | None
) -> Outcome:
    """Make a replica a voter that has answered what it can do; None where it has not."""
    leader = core.role
    pending = leader.pending if isinstance(leader, Leader) else None
    if not isinstance(leader, Leader) or pending is None or pending.end is not None:
        return Outcome.TAKEN
    if not isinstance(pending.change, Adding) or pending.change.voter.key != asked.voter:
        return Outcome.TAKEN
    voter = ready_voter(core, leader, pending.change.voter, response)
    if isinstance(voter, Refusal):
        _end(core, leader, pending, voter)
        return Outcome.FAILED if response is None or response.error_code else Outcome.GOOD
    pending.change = Adding(voter)
    _append(core, pending)
    message = pending.request.message
    if isinstance(message, AddRaftVoterRequest) and not message.ack_when_committed:
        pending.is_answered = True
        _answer(core, pending.request)
    return Outcome.GOOD


def settle_change(core: Core, leader: Leader) -> None:
    """Answer the request that waits for a change, if that is committed, or takes too long."""
    pending = leader.pending
    if pending is None:
        return
    if pending.end is not None and pending.end <= (leader.high_watermark or 0):
        _end(core, leader, pending)
    elif core.now >= pending.deadline:
        _end(core, leader, pending, _TOO_LATE)


def refuse_change(core: Core, leader: Leader) -> None:
    """Answer the request that has waited for a leader that is none any more."""
    if leader.pending is not None:
        _end(core, leader, leader.pending, _LOST)


def _check_change(core: Core, change: Change) -> Refusal | None:
    """Whether a change may be made now, and may be made at all."""
    leader = core.role
    assert isinstance(leader, Leader), "others have refused before"
    settle_change(core, leader)
    policy = policy_of(core.config)
    refusal = check_is_settled(leader)
    if refusal is None and core.control.kraft_version.last < policy.needed_kraft_version:
        reason = f"Voters change from kraft.version {policy.needed_kraft_version} on."
        refusal = Refusal(ErrorCode.UNSUPPORTED_VERSION, reason)
    return refusal or check_is_committed(core, leader) or policy.refusal(core.voters, change)


def _begin(core: Core, request: Request, change: Change) -> Pending:
    leader = core.role
    assert isinstance(leader, Leader), "others have refused before"
    leader.pending = Pending(request, change, core.now + core.config.request_timeout_ms)
    return leader.pending


def _append(core: Core, pending: Pending) -> None:
    """Put a change into the log, where it is in force at once."""
    leader = core.role
    assert isinstance(leader, Leader), "the change is pending at a leader"
    append_controls(core, leader, policy_of(core.config).records(core.voters, pending.change))
    pending.end = core.log.end


def _end(core: Core, leader: Leader, pending: Pending, refusal: Refusal | None = None) -> None:
    leader.pending = None
    if not pending.is_answered:
        _answer(core, pending.request, refusal)


def _answer(core: Core, request: Request, refusal: Refusal | None = None) -> None:
    is_adding = isinstance(request.message, AddRaftVoterRequest)
    kind = AddRaftVoterResponse if is_adding else RemoveRaftVoterResponse
    error, reason = refusal or (ErrorCode.NONE, None)
    reply(core, request, kind(error_code=error, error_message=reason))
