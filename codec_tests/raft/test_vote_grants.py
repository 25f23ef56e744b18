"""Who gets a vote: the whole table of states, votes and logs."""

from __future__ import annotations

from uuid import UUID

import pytest

from kraftwire.raft.core.roles import (
    Candidate,
    Follower,
    Leader,
    Prospective,
    Resigned,
    Role,
    Unattached,
)
from kraftwire.raft.election.vote_grants import grants_pre_vote, grants_vote
from kraftwire.raft.state.tally import Tally
from kraftwire.raft.state.voters import Listener, ReplicaKey, Voter, VoterSet

A, B = UUID(int=10), UUID(int=11)
ASKING = ReplicaKey(2, A)
LEADER = (Listener("CONTROLLER", "127.0.0.1", 9093),)

FOLLOWER = Follower(5, 1, LEADER, 2000)
FETCHED = Follower(5, 1, LEADER, 2000, has_fetched=True)
TALLY = Tally(VoterSet([Voter(ReplicaKey(1)), Voter(ReplicaKey(4))]), ReplicaKey(4))
OTHERS = [
    Candidate(5, 1000, TALLY, ReplicaKey(4)),
    FOLLOWER,
    FETCHED,
    Leader(5, 4, (), 0, frozenset(), 3000),
    Resigned(5, 4, (), 1000),
]


@pytest.mark.parametrize("is_prospective", [False, True])
@pytest.mark.parametrize("is_up_to_date", [True, False])
@pytest.mark.parametrize(
    ("voted", "leader", "granted"),
    [
        (None, None, None),  # the log decides
        (None, 1, False),
        (ReplicaKey(2, A), None, None),
        (ReplicaKey(2), None, None),
        (ReplicaKey(2, B), None, False),
        (ReplicaKey(3, A), None, False),
        (ReplicaKey(2, A), 1, None),
    ],
)
def test_votes_of_who_has_no_leader(
    is_prospective: bool,
    voted: ReplicaKey | None,
    leader: int | None,
    granted: bool | None,
    is_up_to_date: bool,
) -> None:
    role: Role = Unattached(5, 1000, leader, voted)
    if is_prospective:
        role = Prospective(5, 1000, TALLY, leader, (), voted)
    expected = is_up_to_date if granted is None else granted
    assert grants_vote(role, ASKING, is_up_to_date=is_up_to_date) == expected
    assert grants_pre_vote(role, is_up_to_date=is_up_to_date) == is_up_to_date


@pytest.mark.parametrize("role", OTHERS, ids=lambda role: type(role).__name__)
def test_no_other_state_votes(role: Role) -> None:
    assert not grants_vote(role, ASKING, is_up_to_date=True)
    would = role not in (FETCHED, OTHERS[3])
    assert grants_pre_vote(role, is_up_to_date=True) == would
    assert not grants_pre_vote(role, is_up_to_date=False)
    assert grants_pre_vote(role, is_up_to_date=True, is_over=True) == (role != OTHERS[3])
