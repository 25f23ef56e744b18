"""Counting answers: won and lost as a majority of the voters has it."""

from __future__ import annotations

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from kraftwire.raft.state.tally import Tally
from kraftwire.raft.state.voters import ReplicaKey, Voter, VoterSet

A = UUID(int=10)


def tally_of(count: int) -> Tally:
    """The tally of voter 0 among voters with the ids below `count`."""
    return Tally(
        VoterSet(Voter(ReplicaKey(number, A)) for number in range(count)), ReplicaKey(0, A)
    )


@given(st.integers(1, 7), st.lists(st.tuples(st.integers(1, 9), st.booleans()), max_size=20))
def test_the_last_answer_of_each_voter_counts(count: int, answers: list[tuple[int, bool]]) -> None:
    tally = tally_of(count)
    last = {0: True}
    for number, granted in answers:
        tally.note(ReplicaKey(number, A), granted=granted)
        if number < count:
            last[number] = granted
    yes = sum(last.values())
    assert tally.is_won == (yes * 2 > count)
    assert tally.is_lost == ((count - (len(last) - yes)) * 2 <= count)
    assert not (tally.is_won and tally.is_lost)
    assert [key.id for key in tally.silent] == [one for one in range(count) if one not in last]
    assert {key.id for key in tally.granted} == {one for one, said in last.items() if said}


def test_a_sole_voter_has_won_at_once() -> None:
    assert tally_of(1).is_won


def test_another_directory_is_another_replica() -> None:
    tally = tally_of(3)
    tally.note(ReplicaKey(1, UUID(int=11)), granted=True)
    assert not tally.is_won


def test_a_voter_without_a_directory_is_known_by_its_id() -> None:
    voters = VoterSet(Voter(ReplicaKey(number)) for number in range(3))
    tally = Tally(voters, ReplicaKey(0, A))
    tally.note(ReplicaKey(1, A), granted=True)
    assert tally.is_won
    assert tally.silent == [ReplicaKey(2)]


def test_who_is_no_voter_may_ask_and_does_not_count() -> None:
    tally = Tally(VoterSet([Voter(ReplicaKey(1))]), ReplicaKey(2))
    assert (tally.is_won, tally.is_lost, tally.silent) == (False, False, [ReplicaKey(1)])
    tally.note(ReplicaKey(1), granted=True)
    assert tally.is_won
