"""AddRaftVoter and RemoveRaftVoter, as a leader answers them (KIP-853, KIP-856).

One voter changes at a time. The record that says so is in force on each replica that has it; the
request is answered when it is committed, or, where it said so, when it is in the log. It waits
no longer than a request may take: what is in the log by then stands, and whoever asks again
learns what became of it. With the leadership the request is lost too, and so is, where the log
is truncated, its record.

Shipped rules refuse a change that may not be made now; a new voter that still answers another
request is asked behind that, where a real leader refuses. Those of KIP-856 have it wait: for a
change before it, for the first record of the epoch to be committed, for a new voter to catch up
and to answer ApiVersions.

A real leader forgets with a request that has waited too long that it has to resign, if it is
the leader who was removed. Here the commit alone decides that (`leading.is_removed`).
"""

from __future__ import annotations

from kraftwire.raft.core.core import Core
from kraftwire.raft.core.inputs import Request
from kraftwire.raft.core.messages import listeners_in
from kraftwire.raft.core.replies import reply
from kraftwire.raft.core.roles import Leader, Pending
from kraftwire.raft.election.leadership import append_controls
from kraftwire.raft.membership import Adding, Change, Refusal, Removing, policy_of
from kraftwire.raft.replication.responses import Outcome
from kraftwire.raft.state.voters import ReplicaKey, Voter
from kraftwire.raft.voter_set.checks import (
    check_caller,
    check_is_committed,
    check_is_observer,
    check_is_settled,
    check_is_voter,
    check_key,
    check_listeners,
)
from kraftwire.raft.voter_set.readiness import (
    AskedVersions,
    able_voter,
    ask_versions,
    has_reached,
    ready_voter,
)
from kraftwire_messages.kafka import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    ApiVersionsResponse,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
)
from kraftwire_wire.numbers import ErrorCode

_LOST = Refusal(ErrorCode.NOT_LEADER_OR_FOLLOWER, "This replica does not lead any more.")
_NOT_ASKED = Refusal(ErrorCode.REQUEST_TIMED_OUT, "The new voter does not answer.")
_TOO_LATE = Refusal(ErrorCode.REQUEST_TIMED_OUT, "The change was not committed in time.")


def handle_add_voter(core: Core, request: Request, message: AddRaftVoterRequest) -> None:
    """Make an observer a voter."""
    key = ReplicaKey(message.voter_id, message.voter_directory_id)
    change = Adding(Voter(key, listeners_in(message.listeners)))
    _handle(core, request, message.cluster_id, key, change)


def handle_remove_voter(core: Core, request: Request, message: RemoveRaftVoterRequest) -> None:
    """Make a voter an observer."""
    key = ReplicaKey(message.voter_id, message.voter_directory_id)
    _handle(core, request, message.cluster_id, key, Removing(key))


def _handle(
    core: Core,
    request: Request,
    cluster_id: str | None,
    key: ReplicaKey,
    change: Adding | Removing,
) -> None:
    """Make a change, or begin to, as the policy has it; or refuse it."""
    refusal = check_caller(core, cluster_id, core.epoch) or check_key(key)
    if refusal is None and policy_of(core.config).waits:
        refusal = _wait(core, request, change)
    elif refusal is None and isinstance(change, Adding):
        refusal = _ask(core, request, change)
    elif refusal is None:
        refusal = _check_change(core, change)
        if refusal is None:
            _append(core, _begin(core, request, change))
    if refusal is not None:
        _answer(core, request, refusal)


def _ask(core: Core, request: Request, change: Adding) -> Refusal | None:
    """Have a replica asked whether it is ready to be a voter; why that is not done."""
    refusal = check_listeners(core, change.voter.listeners) or _check_change(core, change)
    if refusal is None:
        _begin(core, request, change)
    return refusal


def _wait(core: Core, request: Request, change: Adding | Removing) -> Refusal | None:
    """Have a change wait until it may be made; why it never may be.

    Who is a voter already, or is none any more, is so in the committed set (KIP-856).
    """
    leader = core.role
    assert isinstance(leader, Leader), "others have refused before"
    policy, committed = policy_of(core.config), core.control.voters.before(core.committed)
    if isinstance(change, Adding):
        refusal = policy.refusal(committed, change)
        refusal = refusal or check_is_observer(core, leader, change.voter)
    elif change.key in committed.keys:
        refusal = check_is_voter(core, change.key) or policy.refusal(core.voters, change)
    else:
        refusal = policy.refusal(committed, change)
    if refusal is None:
        if isinstance(change, Adding):  # the configuration says where it listens
            listeners = core.listeners_of(change.voter.id)
            change = Adding(change.voter._replace(listeners=listeners))
        leader.waiting.append(_pending(core, request, change))
    return refusal


def take_versions(
    core: Core, asked: AskedVersions, response: ApiVersionsResponse | None
) -> Outcome:
    """Go on with the replica that has answered what it supports; `response` is None if it did not.

    Shipped rules make it a voter or refuse it; under KIP-856 it still waits for its turn.
    """
    leader = core.role
    if not isinstance(leader, Leader):
        return Outcome.TAKEN
    for waits in leader.waiting:
        if _is_about(waits, asked):
            return _note_versions(core, leader, waits, response)
    pending = leader.pending
    if pending is None or not _is_about(pending, asked):
        return Outcome.TAKEN
    assert isinstance(pending.change, Adding), "others are not asked"
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


def _is_about(pending: Pending, asked: AskedVersions) -> bool:
    """Whether a change waits for the answer to a question."""
    if not isinstance(pending.change, Adding) or pending.change.voter.key != asked.voter:
        return False
    return pending.is_asked and not pending.is_able and pending.end is None


def _note_versions(
    core: Core, leader: Leader, waits: Pending, response: ApiVersionsResponse | None
) -> Outcome:
    """Note that a replica may become a voter, or refuse it; ask one again that did not answer."""
    assert isinstance(waits.change, Adding), "others are not asked"
    waits.is_asked = response is not None
    if response is None:
        return Outcome.FAILED
    voter = able_voter(core, waits.change.voter, response)
    if isinstance(voter, Refusal):
        leader.waiting.remove(waits)
        _answer(core, waits.request, voter)
        return Outcome.FAILED if response.error_code else Outcome.GOOD
    waits.is_able = True
    return Outcome.GOOD


def settle_change(core: Core, leader: Leader) -> None:
    """Answer the request that waits for a change, if that is committed, or takes too long.

    Then ask new voters what they support, as soon as that can be, and make the changes that have
    waited.
    """
    pending = leader.pending
    if pending is not None:
        if pending.end is not None and pending.end <= (leader.high_watermark or 0):
            _end(core, leader, pending)
        elif core.now >= pending.deadline:
            _end(core, leader, pending, _TOO_LATE if pending.end is not None else _NOT_ASKED)
        elif pending.end is None:
            _ask_once(core, pending)
    for one in list(leader.waiting):
        if core.now >= one.deadline:
            leader.waiting.remove(one)
            _answer(core, one.request, _TOO_LATE if _is_able(one) else _NOT_ASKED)
        elif not _is_able(one):
            _ask_once(core, one)
        elif _is_ready(core, leader, one):
            leader.waiting.remove(one)
            _make(core, leader, one)


def _ask_once(core: Core, pending: Pending) -> None:
    """Ask a new voter what it supports, if it was not asked and can be now."""
    if isinstance(pending.change, Adding) and not pending.is_asked:
        pending.is_asked = ask_versions(core, pending.change.voter)


def _is_able(pending: Pending) -> bool:
    """Whether nobody has to be asked any more before a change that waits is made."""
    return pending.is_able or not isinstance(pending.change, Adding)


def _is_ready(core: Core, leader: Leader, pending: Pending) -> bool:
    """Whether a change that waits may be made now, if at all (KIP-856, AddVoter, 1 to 3)."""
    if isinstance(pending.change, Adding):
        key, end = pending.change.voter.key, pending.leader_end
        if not has_reached(leader, key, end):
            return False
    return not (check_is_settled(leader) or check_is_committed(core, leader))


def _make(core: Core, leader: Leader, pending: Pending) -> None:
    """Make a change that has waited, unless another before it has made it impossible."""
    refusal = policy_of(core.config).refusal(core.voters, pending.change)
    if refusal is None:
        leader.pending = pending
        _append(core, pending)
    else:
        _answer(core, pending.request, refusal)


def refuse_change(core: Core, leader: Leader) -> None:
    """Answer the requests that have waited for a leader that is none any more."""
    if leader.pending is not None:
        _end(core, leader, leader.pending, _LOST)
    for one in leader.waiting:
        _answer(core, one.request, _LOST)
    leader.waiting.clear()


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
    leader.pending = _pending(core, request, change)
    return leader.pending


def _pending(core: Core, request: Request, change: Change) -> Pending:
    deadline = core.now + core.config.request_timeout_ms
    return Pending(request, change, deadline, leader_end=core.log.end)


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
