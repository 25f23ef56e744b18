"""Votes and the beginning and end of epochs, as a replica answers other replicas."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftwire.raft.core.core import Core
from kraftwire.raft.core.effects import SaveElection
from kraftwire.raft.core.inputs import Request
from kraftwire.raft.core.messages import (
    begin_quorum_epoch_request,
    end_quorum_epoch_request,
    partition_of,
    vote_request,
)
from kraftwire.raft.core.roles import Candidate, Follower, Leader, Prospective, Unattached
from kraftwire.raft.election.vote_server import (
    election_backoff_ms,
    handle_begin_quorum_epoch,
    handle_end_quorum_epoch,
    handle_vote,
    learn_leader,
)
from kraftwire.raft.metadata_log.log_state import UpToDate
from kraftwire.raft.state.election_state import Election
from kraftwire.raft.state.voters import ReplicaKey
from kraftwire_messages.kafka import VoteRequest
from kraftwire_wire.message import Message
from kraftwire_wire.numbers import ErrorCode

from codec_tests.raft.replicas import (
    CLUSTER,
    LISTENER,
    ME,
    THREE,
    TWO,
    core_of,
    listeners_of,
    replies,
    saved,
)

HANDLERS = {
    "VoteRequest": handle_vote,
    "BeginQuorumEpochRequest": handle_begin_quorum_epoch,
    "EndQuorumEpochRequest": handle_end_quorum_epoch,
}


def ask(core: Core, message: Message, version: int) -> Any:
    """Ask over the wire; the response, over the wire too."""
    sent = type(message).decode(message.encode(version), version)
    handler: Any = HANDLERS[type(message).__name__]
    handler(core, Request("token", sent, version, LISTENER), sent)
    reply = replies(core)[-1]
    assert (reply.token, reply.version, core.effects[-1]) == ("token", version, reply)
    return type(reply.message).decode(reply.message.encode(version), version)


AHEAD = UpToDate(2, 9)


def vote(epoch: int, log: UpToDate = AHEAD, **more: Any) -> VoteRequest:
    """What replica 2 asks replica 1."""
    return vote_request(CLUSTER, TWO, more.pop("voter", ME), epoch, log, **more)


# -- Vote -------------------------------------------------------------------------------------


def test_a_vote_is_kept_before_it_is_told() -> None:
    core = core_of(Election(3), log_epoch=2)
    partition = partition_of(ask(core, vote(4), 2))
    assert (partition.error_code, partition.vote_granted, partition.leader_epoch) == (0, True, 4)
    assert saved(core) == Election(4, None, TWO)
    assert isinstance(core.effects[-2], SaveElection)


def test_the_same_candidate_is_told_again_and_no_other() -> None:
    core = core_of(Election(3), log_epoch=2)
    ask(core, vote(4), 2)
    kept = len(core.effects)
    assert partition_of(ask(core, vote(4), 2)).vote_granted
    assert not partition_of(ask(core, vote(4, UpToDate(0, 0)), 2)).vote_granted
    other = vote_request(CLUSTER, THREE, ME, 4, UpToDate(3, 99))
    assert not partition_of(ask(core, other, 2)).vote_granted
    assert len(core.effects) == kept + 3, "nothing more was kept"


@pytest.mark.parametrize(
    ("log", "granted"),
    [
        (UpToDate(2, 1), True),
        (UpToDate(2, 0), False),
        (UpToDate(1, 99), False),
        (UpToDate(3, 0), True),
    ],
)
def test_the_log_decides(log: UpToDate, granted: bool) -> None:
    core = core_of(Election(3), log_epoch=2)
    assert partition_of(ask(core, vote(4, log), 2)).vote_granted == granted


def test_a_pre_vote_keeps_no_vote_and_no_epoch() -> None:
    core = core_of(Election(3), log_epoch=2)
    partition = partition_of(ask(core, vote(3, pre_vote=True), 2))
    assert (partition.vote_granted, core.epoch, core.voted) == (True, 3, None)
    partition = partition_of(ask(core, vote(5, pre_vote=True), 2))
    assert (partition.vote_granted, partition.leader_epoch) == (True, 5)
    assert (core.epoch, core.voted) == (3, None)


def test_a_follower_refuses_and_names_its_leader() -> None:
    core = core_of(Election(3, 3), log_epoch=2)
    response = ask(core, vote(3), 2)
    partition = partition_of(response)
    assert (partition.vote_granted, partition.leader_id, partition.leader_epoch) == (False, 3, 3)
    assert [(one.node_id, one.port) for one in response.node_endpoints] == [(3, 9003)]
    assert ask(core, vote(3), 0).node_endpoints == [], "which version 0 has no room for"


@pytest.mark.parametrize(
    ("message", "top", "error"),
    [
        (vote_request("other", TWO, ME, 4, UpToDate(2, 9)), ErrorCode.INCONSISTENT_CLUSTER_ID, 0),
        (VoteRequest(cluster_id=CLUSTER), ErrorCode.INVALID_REQUEST, 0),
        (vote(4, UpToDate(4, 9)), 0, ErrorCode.INVALID_REQUEST),
        (vote(4, UpToDate(5, 9), pre_vote=True), 0, ErrorCode.INVALID_REQUEST),
        (vote(4, UpToDate(2, -1)), 0, ErrorCode.INVALID_REQUEST),
        (vote(2, UpToDate(1, 9)), 0, ErrorCode.FENCED_LEADER_EPOCH),
        (
            vote_request(CLUSTER, ReplicaKey(-1), ME, 4, UpToDate(2, 9)),
            0,
            ErrorCode.INVALID_REQUEST,
        ),
        (vote(4, voter=THREE), 0, ErrorCode.INVALID_VOTER_KEY),
        (vote(4, voter=ReplicaKey(1, UUID(int=9))), 0, ErrorCode.INVALID_VOTER_KEY),
    ],
)
def test_errors_of_votes(message: VoteRequest, top: int, error: int) -> None:
    core = core_of(Election(3), log_epoch=2)
    response = ask(core, message, 2)
    assert response.error_code == top
    if not top:
        assert partition_of(response).error_code == error
    assert core.voted is None


def test_an_epoch_is_taken_from_a_request_for_another_voter() -> None:
    core = core_of(Election(3), log_epoch=2)
    partition = partition_of(ask(core, vote(7, voter=THREE), 2))
    assert (partition.error_code, partition.leader_epoch) == (ErrorCode.INVALID_VOTER_KEY, 7)


# -- BeginQuorumEpoch -------------------------------------------------------------------------


def begin(epoch: int, leader: int = 2, voter: ReplicaKey = ME) -> Message:
    return begin_quorum_epoch_request(CLUSTER, leader, voter, epoch, listeners_of(leader))


def test_a_new_leader_is_followed() -> None:
    core = core_of(Election(3))
    response = ask(core, begin(4), 1)
    assert isinstance(core.role, Follower)
    assert (core.epoch, core.leader_id, core.leader_listeners) == (4, 2, listeners_of(2))
    assert saved(core) == Election(4, 2)
    partition = partition_of(response)
    assert (partition.error_code, partition.leader_id, partition.leader_epoch) == (0, 2, 4)


def test_a_leader_that_tells_no_listener_is_looked_for_among_the_voters() -> None:
    core = core_of(Election(3))
    ask(core, begin(4), 0)
    assert core.leader_listeners == listeners_of(2)


def test_a_candidate_follows_who_won() -> None:
    core = core_of(Election(3))
    core.become_prospective()
    core.become_candidate()
    ask(core, begin(4), 1)
    assert saved(core) == Election(4, 2, ME)


def test_a_leader_that_is_told_again_changes_nothing() -> None:
    core = core_of(Election(3))
    ask(core, begin(4), 1)
    role = core.role
    core.now += 700
    ask(core, begin(4), 1)
    assert core.role is role


def test_a_second_leader_of_an_epoch_is_refused() -> None:
    core = core_of(Election(3))
    ask(core, begin(4), 1)
    assert ask(core, begin(4, leader=3), 1).error_code == ErrorCode.INVALID_REQUEST
    assert core.leader_id == 2
    assert ask(core, begin(5, leader=1), 1).error_code == ErrorCode.INVALID_REQUEST
    assert core.epoch == 4


def test_who_is_not_meant_follows_and_says_so() -> None:
    core = core_of(Election(3))
    partition = partition_of(ask(core, begin(4, voter=THREE), 1))
    assert partition.error_code == ErrorCode.INVALID_VOTER_KEY
    assert core.leader_id == 2


def test_an_epoch_that_is_over_is_fenced() -> None:
    core = core_of(Election(3))
    partition = partition_of(ask(core, begin(2), 1))
    assert (partition.error_code, partition.leader_epoch) == (ErrorCode.FENCED_LEADER_EPOCH, 3)


# -- EndQuorumEpoch ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("successors", "wait"),
    [([ME, THREE], 0), ([THREE, ME], 500), ([THREE], 1000), ([], 0), ([ReplicaKey(1)], 0)],
)
def test_successors_stand_one_after_the_other(successors: list[ReplicaKey], wait: int) -> None:
    core = core_of(Election(3))
    ask(core, begin(4), 1)
    end = end_quorum_epoch_request(CLUSTER, 2, 4, successors, ())
    assert partition_of(ask(core, end, 1)).error_code == 0
    assert isinstance(core.role, Follower)
    assert core.role.fetch_deadline == core.now + wait


def test_waits_of_successors() -> None:
    assert [election_backoff_ms(place, 3) for place in range(4)] == [0, 250, 500, 1000]
    assert [election_backoff_ms(place, 5) for place in range(6)] == [0, 62, 124, 248, 496, 1000]


def test_the_end_of_an_unknown_epoch_is_its_beginning_too() -> None:
    core = core_of(Election(3))
    ask(core, end_quorum_epoch_request(CLUSTER, 2, 9, [THREE], ()), 1)
    assert (core.epoch, core.leader_id) == (9, 2)


# -- anything ---------------------------------------------------------------------------------

IDS = st.sampled_from([-1, 1, 2, 3, 9])
DIRECTORIES = st.sampled_from([UUID(int=number) for number in (0, 1, 2, 9)])
KEYS = st.builds(ReplicaKey, IDS, DIRECTORIES)
EPOCHS = st.integers(-1, 6)
CLUSTERS = st.sampled_from([None, CLUSTER, "other"])
MESSAGES = st.one_of(
    st.tuples(
        st.builds(
            vote_request,
            CLUSTERS,
            KEYS,
            KEYS,
            EPOCHS,
            st.builds(UpToDate, EPOCHS, st.integers(-1, 3)),
            pre_vote=st.booleans(),
        ),
        st.just(2),
    ),
    st.tuples(
        st.builds(
            begin_quorum_epoch_request,
            CLUSTERS,
            IDS,
            KEYS,
            EPOCHS,
            st.sampled_from([(), listeners_of(2), listeners_of(3) * 2]),
        ),
        st.just(1),
    ),
    st.tuples(
        st.builds(
            end_quorum_epoch_request, CLUSTERS, IDS, EPOCHS, st.lists(KEYS, max_size=3), st.just(())
        ),
        st.just(1),
    ),
)
STEPS = st.lists(
    st.one_of(MESSAGES, st.sampled_from(["prospective", "candidate", "lead", "resign"])),
    max_size=12,
)


@given(STEPS)
def test_whatever_is_asked_epochs_rise_and_votes_and_leaders_stay(
    steps: list[tuple[Message, int] | str],
) -> None:
    core = core_of(Election(2), log_epoch=1)
    votes: dict[int, ReplicaKey] = {}
    leaders: dict[int, int] = {}
    for step in steps:
        epoch = core.epoch
        if step == "prospective" and not isinstance(core.role, Leader | Prospective):
            core.become_prospective()
        elif step == "candidate" and isinstance(core.role, Prospective):
            core.become_candidate()
        elif step == "lead" and isinstance(core.role, Candidate):
            core.role = Leader(epoch, ME.id, (), 0, core.role.tally.granted, None)
        elif step == "resign" and isinstance(core.role, Leader):
            core.become_resigned()
        elif isinstance(step, tuple):
            ask(core, *step)
        assert core.epoch >= epoch
        if core.voted is not None:
            assert votes.setdefault(core.epoch, core.voted) == core.voted
        if core.leader_id is not None:
            assert leaders.setdefault(core.epoch, core.leader_id) == core.leader_id


def test_a_leader_is_not_told_who_leads() -> None:
    core = core_of(Election(3))
    assert not learn_leader(core, 9, 1, listeners_of(1))
    assert isinstance(core.role, Unattached)
    assert core.epoch == 3
