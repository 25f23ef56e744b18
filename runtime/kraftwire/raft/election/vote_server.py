"""The answers to Vote, BeginQuorumEpoch and EndQuorumEpoch.

The checks are in the order of Kafka's `KafkaRaftClient`, which clients can observe. A wrong cluster
id, a malformed request and a refused claim get an error for the whole request. All other errors are
for the partition, with the epoch and the leader that this replica knows.

Kafka's controller crashes if a node announces a second leader of an epoch. This one refuses the
request and changes nothing: somebody is wrong, but it cannot know who.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from kraftwire.raft.core.claims import (
    accepts_epoch,
    is_possible_epoch,
    is_possible_offset,
    may_replace_leader,
)
from kraftwire.raft.core.core import Core
from kraftwire.raft.core.inputs import Request
from kraftwire.raft.core.listeners import listeners_problem
from kraftwire.raft.core.messages import listeners_in
from kraftwire.raft.core.replies import NO_LEADER, R, accept_partition, answer, refuse
from kraftwire.raft.core.roles import Follower
from kraftwire.raft.core.transitions import are_better_listeners
from kraftwire.raft.election.vote_grants import grants_pre_vote, grants_vote
from kraftwire.raft.metadata_log.log_state import UpToDate
from kraftwire.raft.state.voters import Listener, ReplicaKey
from kraftwire_messages.kafka import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    VoteRequest,
    VoteResponse,
)
from kraftwire_wire.numbers import ErrorCode

_NO_ID = -1
_MAX_ELECTION_BACKOFF_MS = 1000


def handle_vote(core: Core, request: Request, message: VoteRequest) -> None:
    """Answer whether a candidate gets the vote; for a pre-vote, whether it would get it."""
    partition: VoteRequest.PartitionData | None = accept_partition(core, request, VoteResponse)
    if partition is None:
        return
    epoch, last_epoch = partition.replica_epoch, partition.last_offset_epoch
    is_ahead = last_epoch > epoch if partition.pre_vote else last_epoch >= epoch
    if partition.last_offset < 0 or last_epoch < 0 or is_ahead:
        answer(core, request, VoteResponse, ErrorCode.INVALID_REQUEST)
        return
    error = _check_voter(core, partition.replica_id, epoch)
    if error:
        answer(core, request, VoteResponse, error)
        return
    accepts = is_possible_epoch if partition.pre_vote else accepts_epoch
    if not is_possible_offset(core, partition.last_offset, "log end") or not accepts(core, epoch):
        refuse(core, request, VoteResponse, ErrorCode.INVALID_REQUEST)
        return
    if epoch > core.epoch and not partition.pre_vote:
        core.become_unattached(epoch)
    if not _is_for_me(core, message.voter_id, partition.voter_directory_id):
        answer(core, request, VoteResponse, core.policy.wrong_voter)
        return
    candidate = ReplicaKey(partition.replica_id, partition.replica_directory_id)
    is_up_to_date = UpToDate(last_epoch, partition.last_offset) >= core.log.up_to_date
    if partition.pre_vote:
        is_over = epoch > core.epoch and candidate.id == core.leader_id
        granted = grants_pre_vote(core.role, is_up_to_date=is_up_to_date, is_over=is_over)
        if epoch > core.epoch:  # not adopted (`bounds`), but the candidate ignores earlier epochs
            answer(
                core,
                request,
                VoteResponse,
                vote_granted=granted,
                leader_epoch=epoch,
                leader_id=NO_LEADER,
            )
            return
    else:
        granted = candidate.id != core.key.id and grants_vote(
            core.role, candidate, is_up_to_date=is_up_to_date
        )
        if granted and core.voted is None:
            core.vote(candidate)
    answer(core, request, VoteResponse, vote_granted=granted)


def handle_begin_quorum_epoch(
    core: Core, request: Request, message: BeginQuorumEpochRequest
) -> None:
    """Follow the leader of an epoch that has begun."""
    partition: BeginQuorumEpochRequest.PartitionData | None
    partition = _learn_from_request(core, request, BeginQuorumEpochResponse, message)
    if partition is None:
        return
    is_for_me = _is_for_me(core, message.voter_id, partition.voter_directory_id)
    error = _check_is_voter(core) if is_for_me else core.policy.wrong_voter
    answer(core, request, BeginQuorumEpochResponse, error)


def handle_end_quorum_epoch(core: Core, request: Request, message: EndQuorumEpochRequest) -> None:
    """Schedule an election after the leader has resigned, earlier for preferred successors."""
    partition: EndQuorumEpochRequest.PartitionData | None
    partition = _learn_from_request(core, request, EndQuorumEpochResponse, message)
    if partition is None:
        return
    if isinstance(core.role, Follower) and core.role.leader_id == partition.leader_id:
        successors = [
            ReplicaKey(one.candidate_id, one.candidate_directory_id)
            for one in partition.preferred_candidates
        ] or [ReplicaKey(number) for number in partition.preferred_successors]
        ranks = [rank for rank, key in enumerate(successors) if key.matches(core.key)]
        delay = election_backoff_ms(ranks[0] if ranks else len(successors), len(successors))
        core.role.fetch_deadline = core.now + delay
    answer(core, request, EndQuorumEpochResponse, _check_is_voter(core))


def _learn_from_request(
    core: Core,
    request: Request,
    kind: type[R],
    message: BeginQuorumEpochRequest | EndQuorumEpochRequest,
) -> Any:
    """Learn the leader that sent a request; return its struct for the partition.

    If the request is wrong, refuse it and return None.
    """
    partition = accept_partition(core, request, kind)
    if partition is None:
        return None
    leader_id, epoch = partition.leader_id, partition.leader_epoch
    error = _check_voter(core, leader_id, epoch)
    if error:
        answer(core, request, kind, error)
        return None
    announced = listeners_in(message.leader_endpoints)
    if listeners_problem(announced) is not None:
        refuse(core, request, kind, ErrorCode.INVALID_REQUEST)
        return None
    listeners = announced or core.listeners_of(leader_id)
    if not learn_leader(core, epoch, leader_id, listeners):
        refuse(core, request, kind, ErrorCode.INVALID_REQUEST)
        return None
    return partition


def election_backoff_ms(rank: int, count: int) -> int:
    """Return how long a replica waits for its election, by its rank among `count` successors.

    The first does not wait. Each other waits twice as long as the one before, and a replica that is
    not in the list waits longest (`KafkaRaftClient.strictExponentialElectionBackoffMs`, KIP-595).
    Without a list nobody waits.
    """
    if rank == 0:
        return 0
    if rank >= count:
        return _MAX_ELECTION_BACKOFF_MS
    return min(_MAX_ELECTION_BACKOFF_MS, (_MAX_ELECTION_BACKOFF_MS >> (count - 1)) << (rank - 1))


def learn_leader(
    core: Core, epoch: int, leader_id: int | None, listeners: tuple[Listener, ...]
) -> bool:
    """Learn the leader of an epoch that is not below this replica's; return False to refuse it.

    A replica refuses a second leader of an epoch, a claim that it leads itself if it does not, and
    an epoch that elections do not explain.
    """
    if leader_id == core.key.id:
        return core.leader_id == leader_id and epoch == core.epoch
    is_later = epoch > core.epoch
    if is_later and not accepts_epoch(core, epoch):
        return False
    is_other = leader_id is not None and core.leader_id not in (None, leader_id)
    if not is_later and is_other and not may_replace_leader(core):
        return False
    if leader_id is not None and listeners:
        if is_other and not is_later:
            core.replace_leader(leader_id, listeners)
        elif is_later or are_better_listeners(
            listeners, core.leader_listeners, is_heard=core.is_leader_heard
        ):
            core.become_follower(epoch, leader_id, listeners)
    elif is_later:
        core.become_unattached(epoch, leader_id)
    return True


def _check_voter(core: Core, replica_id: int, epoch: int) -> ErrorCode | None:
    if epoch < core.epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    return ErrorCode.INVALID_REQUEST if replica_id < 0 else None


def _check_is_voter(core: Core) -> ErrorCode:
    """Return the error for a leader that believes that this replica is a voter."""
    return ErrorCode.NONE if core.is_voter else core.policy.not_a_voter


def _is_for_me(core: Core, voter_id: int, directory_id: UUID) -> bool:
    """Whether a request is for this replica; early versions do not name their voter."""
    return voter_id == _NO_ID or ReplicaKey(voter_id, directory_id).matches(core.key)
