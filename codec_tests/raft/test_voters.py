"""Voter sets: who is meant by a key, changes, and the record that says them."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftwire.raft.state.voters import (
    Listener,
    ReplicaKey,
    Voter,
    VoterSet,
    decode_voters,
    encode_voters,
)
from kraftwire_messages.kafka import VotersRecord

A, B = UUID(int=10), UUID(int=11)

KEYS = st.builds(ReplicaKey, st.integers(0, 3), st.sampled_from([UUID(int=0), A, B]))
LISTENERS = st.builds(Listener, st.sampled_from("XY"), st.just("127.0.0.1"), st.integers(0, 65535))
VOTERS = st.builds(
    Voter, KEYS, st.lists(LISTENERS, max_size=2).map(tuple), st.integers(0, 1), st.integers(0, 1)
)
VOTER_SETS = st.lists(VOTERS, max_size=5, unique_by=lambda voter: voter.key).map(VoterSet)


def set_of(*keys: tuple[int, UUID] | int) -> VoterSet:
    """A set of keys, or of ids without a directory."""
    made = [ReplicaKey(key) if isinstance(key, int) else ReplicaKey(*key) for key in keys]
    return VoterSet(Voter(key) for key in made)


@given(VOTER_SETS)
def test_a_set_is_what_its_record_says(voters: VoterSet) -> None:
    data = encode_voters(voters).encode(version=0)
    assert decode_voters(VotersRecord.decode(data, version=0)) == voters


def test_a_voter_without_a_directory_is_any_of_its_id() -> None:
    voters = set_of(1, (2, A))
    assert voters.find(ReplicaKey(1, A)) == voters.find(ReplicaKey(1)) == Voter(ReplicaKey(1))
    assert voters.find(ReplicaKey(2, A)) == Voter(ReplicaKey(2, A))
    assert voters.find(ReplicaKey(2, B)) is None
    assert voters.find(ReplicaKey(2)) is None
    assert voters.find(ReplicaKey(3)) is None


def test_the_directory_counts_before_an_entry_without_one() -> None:
    voters = set_of(1, (1, A))
    assert voters.find(ReplicaKey(1, A)) == Voter(ReplicaKey(1, A))
    assert voters.find(ReplicaKey(1, B)) == Voter(ReplicaKey(1))


def test_an_id_may_have_two_directories_but_no_key_is_there_twice() -> None:
    voters = set_of((3, A)).adding(Voter(ReplicaKey(3, B)))
    assert [voter.key.directory_id for voter in voters.of_id(3)] == [A, B]
    with pytest.raises(ValueError, match="occurs twice"):
        voters.adding(Voter(ReplicaKey(3, B)))


@given(VOTER_SETS, VOTERS)
def test_adding_and_removing_undo_each_other(voters: VoterSet, voter: Voter) -> None:
    if voter.key not in voters.keys:
        more = voters.adding(voter)
        assert more.keys - voters.keys == {voter.key}
        assert more.removing(voter.key) == voters
    else:
        assert len(voters.removing(voter.key)) == len(voters) - 1
    with pytest.raises(ValueError, match="no voter"):
        voters.removing(ReplicaKey(9))


def test_a_directory_becomes_known_by_an_update() -> None:
    voters = set_of(1, 2)
    told = Voter(ReplicaKey(1, A), (Listener("C", "127.0.0.1", 9093),), 0, 1)
    assert voters.updating(told) == VoterSet([told, Voter(ReplicaKey(2))])
    with pytest.raises(ValueError, match="no voter"):
        voters.updating(Voter(ReplicaKey(3)))
