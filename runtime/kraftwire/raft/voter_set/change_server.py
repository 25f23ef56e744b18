"""Answers AddRaftVoter and RemoveRaftVoter in a leader (KIP-853, KIP-856).

One voter changes at a time. The record of a change is in force on each replica that has it. The
leader answers when the record is committed or, if the request asks for that, when it is appended.
After a timeout the record stays in the log, and a client that asks again learns the outcome. A
replica that stops leading refuses the request, and its record may be committed or truncated later.

Shipped rules refuse a change that cannot be made now. They ask the new voter for its versions
before they add it, and wait if another request to it is in flight; Kafka's leader refuses then.
Under KIP-856 a change waits for the change before it, for the first committed record of the epoch,
and for a new voter to catch up and to answer ApiVersions.

If Kafka's leader removes itself and the request times out, it forgets to resign. Here the commit
alone decides that (`leadership.is_removed`).
"""

from __future__ import annotations

from kraftwire.raft.core.connections import VersionsQuery
from kraftwire.raft.core.core import Core
from kraftwire.raft.core.inputs import Request
from kraftwire.raft.core.messages import listeners_in
from kraftwire.raft.core.replies import reply
from kraftwire.raft.core.roles import Leader, PendingChange
from kraftwire.raft.election.leadership import append_controls
from kraftwire.raft.membership import AddVoter, Refusal, RemoveVoter, VoterChange
from kraftwire.raft.replication.leader_updates import Outcome
from kraftwire.raft.state.voters import ReplicaKey, Voter
from kraftwire.raft.voter_set.checks import (
    check_caller,
    check_is_committed,
    check_is_observer,
    check_is_settled,
    check_is_voter,
    check_key,
    check_listeners,
    leader_role,
)
from kraftwire.raft.voter_set.readiness import (
    check_readiness,
    check_versions,
    has_reached,
    request_versions,
)
from kraftwire_messages.kafka import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    ApiVersionsResponse,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
)
from kraftwire_wire.numbers import ErrorCode

_LOST = Refusal(ErrorCode.NOT_LEADER_OR_FOLLOWER, "This replica no longer leads.")
_NO_ANSWER = Refusal(ErrorCode.REQUEST_TIMED_OUT, "The new voter does not answer.")
_TOO_LATE = Refusal(ErrorCode.REQUEST_TIMED_OUT, "The change was not committed in time.")


def handle_add_voter(core: Core, request: Request, message: AddRaftVoterRequest) -> None:
    """Make an observer a voter."""
    key = ReplicaKey(message.voter_id, message.voter_directory_id)
    change = AddVoter(Voter(key, listeners_in(message.listeners)))
    _handle(core, request, message.cluster_id, key, change)


def handle_remove_voter(core: Core, request: Request, message: RemoveRaftVoterRequest) -> None:
    """Make a voter an observer."""
    key = ReplicaKey(message.voter_id, message.voter_directory_id)
    _handle(core, request, message.cluster_id, key, RemoveVoter(key))


def _handle(
    core: Core,
    request: Request,
    cluster_id: str | None,
    key: ReplicaKey,
    change: AddVoter | RemoveVoter,
) -> None:
    """Begin, queue or refuse a change."""
    refusal = check_caller(core, cluster_id, core.epoch) or check_key(key)
    if refusal is None and core.policy.queues_changes:
        refusal = _queue(core, request, change)
    elif refusal is None:
        refusal = _begin(core, request, change)
    if refusal is not None:
        _answer(core, request, refusal)


def _begin(core: Core, request: Request, change: AddVoter | RemoveVoter) -> Refusal | None:
    """Remove a voter, or let `settle_change` ask a new one for its versions."""
    if isinstance(change, AddVoter):
        refusal = check_listeners(core, change.voter.listeners)
        if refusal is not None:
            return refusal
    refusal = _check_change(core, change)
    if refusal is None:
        leader = leader_role(core)
        leader.pending = _pending(core, request, change)
        if isinstance(change, RemoveVoter):
            _append(core, leader, leader.pending)
    return refusal


def _queue(core: Core, request: Request, change: AddVoter | RemoveVoter) -> Refusal | None:
    """Queue a change, or return why it can never be made.

    The committed set decides whether a replica is already a voter, or not a voter (KIP-856).
    """
    leader, policy = leader_role(core), core.policy
    committed = core.control.voters.before(core.committed)
    if isinstance(change, AddVoter):
        refusal = policy.refusal(committed, change)
        refusal = refusal or check_is_observer(core, leader, change.voter)
    elif change.key in committed.keys:
        refusal = check_is_voter(core, change.key) or policy.refusal(core.voters, change)
    else:
        refusal = policy.refusal(committed, change)
    if refusal is None:
        if isinstance(change, AddVoter):  # the listeners come from the configuration
            listeners = core.listeners_of(change.voter.id)
            change = AddVoter(change.voter._replace(listeners=listeners))
        leader.waiting.append(_pending(core, request, change))
    return refusal


def handle_versions(
    core: Core, query: VersionsQuery, response: ApiVersionsResponse | None
) -> Outcome:
    """Continue with a new voter that has answered ApiVersions; None means that it has not.

    Shipped rules add or refuse it now; under KIP-856 it still waits for its turn.
    """
    leader = core.role
    if not isinstance(leader, Leader):
        return Outcome.NEWS
    for change in leader.waiting:
        if _is_about(change, query):
            return _note_versions(core, leader, change, response)
    pending = leader.pending
    if pending is None or not _is_about(pending, query):
        return Outcome.NEWS
    assert isinstance(pending.change, AddVoter), "only new voters are asked"
    voter = check_readiness(core, leader, pending.change.voter, response)
    if isinstance(voter, Refusal):
        _end(core, leader, pending, voter)
        return Outcome.FAILED if response is None or response.error_code else Outcome.GOOD
    pending.change = AddVoter(voter)
    _append(core, leader, pending)
    message = pending.request.message
    if isinstance(message, AddRaftVoterRequest) and not message.ack_when_committed:
        pending.has_replied = True
        _answer(core, pending.request)
    return Outcome.GOOD


def _is_about(pending: PendingChange, query: VersionsQuery) -> bool:
    if not isinstance(pending.change, AddVoter) or pending.change.voter.key != query.voter:
        return False
    return pending.has_asked_versions and not pending.has_needed_versions and pending.end is None


def _note_versions(
    core: Core, leader: Leader, waiting: PendingChange, response: ApiVersionsResponse | None
) -> Outcome:
    """Record that a new voter is able, or refuse it; without a response, ask it again later."""
    assert isinstance(waiting.change, AddVoter), "only new voters are asked"
    waiting.has_asked_versions = response is not None
    if response is None:
        return Outcome.FAILED
    voter = check_versions(core, waiting.change.voter, response)
    if isinstance(voter, Refusal):
        leader.waiting.remove(waiting)
        _answer(core, waiting.request, voter)
        return Outcome.FAILED if response.error_code else Outcome.GOOD
    waiting.has_needed_versions = True
    return Outcome.GOOD


def settle_change(core: Core, leader: Leader) -> None:
    """Answer a committed or late change, ask new voters for versions, and make due changes."""
    pending = leader.pending
    if pending is not None:
        if pending.end is not None and pending.end <= (leader.high_watermark or 0):
            _end(core, leader, pending)
        elif core.now >= pending.deadline:
            _end(core, leader, pending, _TOO_LATE if pending.end is not None else _NO_ANSWER)
        elif pending.end is None:
            _ask(core, pending)
    for waiting in list(leader.waiting):
        is_able = waiting.has_needed_versions or not isinstance(waiting.change, AddVoter)
        if core.now >= waiting.deadline:
            leader.waiting.remove(waiting)
            _answer(core, waiting.request, _TOO_LATE if is_able else _NO_ANSWER)
        elif not is_able:
            _ask(core, waiting)
        elif _is_due(core, leader, waiting):
            leader.waiting.remove(waiting)
            _make(core, leader, waiting)


def _ask(core: Core, pending: PendingChange) -> None:
    """Ask a new voter for its versions, unless another request to it is in flight."""
    if isinstance(pending.change, AddVoter) and not pending.has_asked_versions:
        pending.has_asked_versions = request_versions(core, pending.change.voter)


def _is_due(core: Core, leader: Leader, waiting: PendingChange) -> bool:
    """Whether it is the turn of a waiting change (KIP-856, AddVoter, 1 to 3)."""
    change = waiting.change
    if isinstance(change, AddVoter) and not has_reached(
        leader, change.voter.key, waiting.leader_end
    ):
        return False
    return not (check_is_settled(leader) or check_is_committed(core, leader))


def _make(core: Core, leader: Leader, waiting: PendingChange) -> None:
    refusal = core.policy.refusal(core.voters, waiting.change)
    if refusal is None:
        leader.pending = waiting
        _append(core, leader, waiting)
    else:
        _answer(core, waiting.request, refusal)


def refuse_changes(core: Core, leader: Leader) -> None:
    """Refuse the changes that are pending at a replica that no longer leads."""
    if leader.pending is not None:
        _end(core, leader, leader.pending, _LOST)
    for waiting in leader.waiting:
        _answer(core, waiting.request, _LOST)
    leader.waiting.clear()


def _check_change(core: Core, change: VoterChange) -> Refusal | None:
    leader, policy = leader_role(core), core.policy
    settle_change(core, leader)
    refusal = check_is_settled(leader)
    if refusal is None and core.control.kraft_version.last < policy.needed_kraft_version:
        reason = f"Voters cannot change below kraft.version {policy.needed_kraft_version}."
        refusal = Refusal(ErrorCode.UNSUPPORTED_VERSION, reason)
    return refusal or check_is_committed(core, leader) or policy.refusal(core.voters, change)


def _pending(core: Core, request: Request, change: VoterChange) -> PendingChange:
    deadline = core.now + core.config.request_timeout_ms
    return PendingChange(request, change, deadline, leader_end=core.log.end)


def _append(core: Core, leader: Leader, pending: PendingChange) -> None:
    append_controls(core, leader, core.policy.records(core.voters, pending.change))
    pending.end = core.log.end


def _end(
    core: Core, leader: Leader, pending: PendingChange, refusal: Refusal | None = None
) -> None:
    leader.pending = None
    if not pending.has_replied:
        _answer(core, pending.request, refusal)


def _answer(core: Core, request: Request, refusal: Refusal | None = None) -> None:
    is_add = isinstance(request.message, AddRaftVoterRequest)
    kind = AddRaftVoterResponse if is_add else RemoveRaftVoterResponse
    error, reason = refusal or (ErrorCode.NONE, None)
    reply(core, request, kind(error_code=error, error_message=reason))
