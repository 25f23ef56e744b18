"""What other replicas ask and tell of elections: Vote, BeginQuorumEpoch, EndQuorumEpoch.

The checks come in the order in which Kafka makes them, since clients can tell. Errors about the
request as a whole are those of its cluster and form; all others are about the partition, and
come with the epoch and the leader that this replica knows.

A real controller ends when it is told of a second leader of an epoch. Here that is refused, and
changes nothing: it says that somebody is wrong, and not who.
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
from kraftwire.raft.core.messages import listeners_in, partition_of
from kraftwire.raft.core.replies import NOBODY, R, Response, answer, is_of_this_cluster, refuse
from kraftwire.raft.core.roles import Follower
from kraftwire.raft.election.vote_rules import grants_pre_vote, grants_vote
from kraftwire.raft.membership import policy_of
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
_MAX_HAND_OVER_MS = 1000


def handle_vote(core: Core, request: Request, message: VoteRequest) -> None:
    """Answer whether a candidate gets the vote, or would get it."""
    partition: VoteRequest.PartitionData | None = partition_of(message)
    if not _is_acceptable(core, request, VoteResponse, message.cluster_id, partition):
        return
    assert partition is not None
    epoch, last_epoch = partition.replica_epoch, partition.last_offset_epoch
    is_ahead = last_epoch > epoch if partition.pre_vote else last_epoch >= epoch
    if partition.last_offset < 0 or last_epoch < 0 or is_ahead:
        answer(core, request, VoteResponse, ErrorCode.INVALID_REQUEST)
        return
    error = _check_voter(core, partition.replica_id, epoch)
    if error:
        answer(core, request, VoteResponse, error)
        return
    if not _may_be_asked(core, partition):
        refuse(core, request, VoteResponse, ErrorCode.INVALID_REQUEST)
        return
    if epoch > core.epoch and not partition.pre_vote:
        core.become_unattached(epoch)
    if not _may_be_me(core, message.voter_id, partition.voter_directory_id):
        answer(core, request, VoteResponse, policy_of(core.config).not_mine)
        return
    candidate = ReplicaKey(partition.replica_id, partition.replica_directory_id)
    is_up_to_date = UpToDate(last_epoch, partition.last_offset) >= core.log.up_to_date
    if partition.pre_vote:
        is_over = epoch > core.epoch and candidate.id == core.leader_id
        granted = grants_pre_vote(core.role, is_up_to_date=is_up_to_date, is_over=is_over)
        if epoch > core.epoch:
            _answer_in_its_epoch(core, request, epoch, granted=granted)
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
    partition = _learn_from(core, request, BeginQuorumEpochResponse, message)
    if partition is None:
        return
    is_meant = _may_be_me(core, message.voter_id, partition.voter_directory_id)
    error = _check_is_voter(core) if is_meant else policy_of(core.config).not_mine
    answer(core, request, BeginQuorumEpochResponse, error)


def handle_end_quorum_epoch(core: Core, request: Request, message: EndQuorumEpochRequest) -> None:
    """Stand for election when the leader has given up, the sooner the more that prefers it."""
    partition: EndQuorumEpochRequest.PartitionData | None
    partition = _learn_from(core, request, EndQuorumEpochResponse, message)
    if partition is None:
        return
    if isinstance(core.role, Follower) and core.role.leader_id == partition.leader_id:
        successors = [
            ReplicaKey(one.candidate_id, one.candidate_directory_id)
            for one in partition.preferred_candidates
        ] or [ReplicaKey(number) for number in partition.preferred_successors]
        places = [place for place, key in enumerate(successors) if key.means(core.key)]
        place = places[0] if places else len(successors)
        core.role.fetch_deadline = core.now + hand_over_ms(place, len(successors))
    answer(core, request, EndQuorumEpochResponse, _check_is_voter(core))


def _learn_from(
    core: Core,
    request: Request,
    kind: type[R],
    message: BeginQuorumEpochRequest | EndQuorumEpochRequest,
) -> Any:
    """Take in the leader that a request is from; what it says of the partition.

    None where it was refused, and is answered.
    """
    partition = partition_of(message)
    if not _is_acceptable(core, request, kind, message.cluster_id, partition):
        return None
    leader_id, epoch = partition.leader_id, partition.leader_epoch
    error = _check_voter(core, leader_id, epoch)
    if error:
        answer(core, request, kind, error)
        return None
    told = listeners_in(message.leader_endpoints)
    if listeners_problem(told) is not None:
        refuse(core, request, kind, ErrorCode.INVALID_REQUEST)
        return None
    listeners = told or core.listeners_of(leader_id)
    if not learn_leader(core, epoch, leader_id, listeners):
        refuse(core, request, kind, ErrorCode.INVALID_REQUEST)
        return None
    return partition


def hand_over_ms(place: int, count: int) -> int:
    """How long a successor waits before it stands, by its place among `count` of them.

    The first does not wait, others twice as long as the one before; who is not among them
    the longest. Where there is no list, nobody waits.
    """
    if place == 0:
        return 0
    if place >= count:
        return _MAX_HAND_OVER_MS
    return min(_MAX_HAND_OVER_MS, (_MAX_HAND_OVER_MS >> (count - 1)) << (place - 1))


def learn_leader(
    core: Core, epoch: int, leader_id: int | None, listeners: tuple[Listener, ...]
) -> bool:
    """Learn who leads an epoch that is not below this replica's; return whether that can be.

    It cannot if this replica knows another leader of the epoch, or is said to lead itself, or if
    elections do not explain the epoch.
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
        elif is_later or _knows_less(core, listeners):
            core.become_follower(epoch, leader_id, listeners)
    elif is_later:
        core.become_unattached(epoch, leader_id)
    return True


def _knows_less(core: Core, listeners: tuple[Listener, ...]) -> bool:
    """Whether these are better listeners of the leader than those that are known.

    They are if there are more of them, or if the leader has never answered at the others: these
    may have been announced by a stranger.
    """
    known = core.leader_listeners
    if core.leader_id is None or len(listeners) > len(known):
        return True
    return listeners != known and not core.is_leader_heard


def _may_be_asked(core: Core, partition: VoteRequest.PartitionData) -> bool:
    """Whether a Vote names an epoch and an offset that can be; if not, that is counted."""
    epoch = partition.replica_epoch
    if not is_possible_offset(core, partition.last_offset, "log end"):
        return False
    if partition.pre_vote:
        return is_possible_epoch(core, epoch)
    return accepts_epoch(core, epoch)


def _answer_in_its_epoch(core: Core, request: Request, epoch: int, *, granted: bool) -> None:
    """Answer a pre-vote of a later epoch, which this replica does not go on to (see `bounds`).

    Whoever asks ignores answers of an earlier epoch. In the later one no leader is known here.
    """
    answer(core, request, VoteResponse, vote_granted=granted, leader_epoch=epoch, leader_id=NOBODY)


def _is_acceptable(
    core: Core,
    request: Request,
    kind: type[Response],
    cluster_id: str | None,
    partition: object | None,
) -> bool:
    """Whether a request is of this cluster and about its metadata; else it is refused."""
    if not is_of_this_cluster(core, cluster_id):
        refuse(core, request, kind, ErrorCode.INCONSISTENT_CLUSTER_ID)
        return False
    if partition is None:
        refuse(core, request, kind, ErrorCode.INVALID_REQUEST)
        return False
    return True


def _check_voter(core: Core, replica_id: int, epoch: int) -> ErrorCode | None:
    """What is wrong with who asks, and with its epoch."""
    if epoch < core.epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    return ErrorCode.INVALID_REQUEST if replica_id < 0 else None


def _check_is_voter(core: Core) -> ErrorCode:
    """What a leader is told that takes this replica for a voter; it has learnt who leads."""
    return ErrorCode.NONE if core.is_voter else policy_of(core.config).not_voter


def _may_be_me(core: Core, voter_id: int, directory_id: UUID) -> bool:
    """Whether a request is for this replica; earlier versions do not say whom they are for."""
    return voter_id == _NO_ID or ReplicaKey(voter_id, directory_id).means(core.key)
