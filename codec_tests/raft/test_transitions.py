"""The table of role changes, cell by cell, against the state diagram of KIP-595 and KIP-996."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

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
from kraftwire.raft.core.transitions import TRANSITIONS, Transition, check_transition
from kraftwire.raft.state.tally import Tally

from codec_tests.raft.replicas import ME, THREE, TWO, VOTERS, listeners_of

LOST, WON = Tally(VOTERS, ME), Tally(VOTERS, ME)
LOST.note(TWO, granted=False)
LOST.note(THREE, granted=False)
WON.note(TWO, granted=True)
ROLES: dict[type, Role] = {
    Unattached: Unattached(5, 1000),
    Prospective: Prospective(5, 1000, WON),
    Candidate: Candidate(5, 1000, WON, ME),
    Follower: Follower(5, 2, listeners_of(2), 1000),
    Leader: Leader(5, 1, (), 0, frozenset(), 1000),
    Resigned: Resigned(5, 1, (), 1000),
}
DIAGRAM = {
    (Unattached, Prospective, 0),
    (Unattached, Follower, 0),
    (Prospective, Candidate, 1),
    (Prospective, Follower, 0),
    (Prospective, Unattached, 0),
    (Candidate, Leader, 0),
    (Candidate, Follower, 0),
    (Candidate, Prospective, 0),
    (Follower, Prospective, 0),
    (Leader, Resigned, 0),
}
"""Apart from these, any role may become Unattached or Follower in a later epoch."""


def is_allowed(
    before: Any, after: Any, *, is_electable: bool = True, is_leader_heard: bool = True
) -> bool:
    try:
        check_transition(Transition(before, after, is_electable, is_leader_heard))
    except ValueError as error:
        assert f"of epoch {after.epoch} from" in str(error)
        return False
    return True


def test_the_table_has_a_row_for_each_role() -> None:
    assert TRANSITIONS.keys() == ROLES.keys()


@pytest.mark.parametrize(("before", "after"), list(product(ROLES, ROLES)))
def test_each_cell_of_the_table(before: type, after: type) -> None:
    for jump in (-1, 0, 1, 2):
        expected = (before, after, jump) in DIAGRAM
        expected |= jump > 0 and after in (Unattached, Follower)
        later: Any = replace(ROLES[after], epoch=5 + jump)
        assert is_allowed(ROLES[before], later) == expected


def test_a_candidate_leads_only_after_it_has_won() -> None:
    assert not is_allowed(Candidate(5, 1000, LOST, ME), ROLES[Leader])


@pytest.mark.parametrize("before", [Unattached, Candidate, Follower])
def test_an_observer_starts_no_election(before: type) -> None:
    assert not is_allowed(ROLES[before], ROLES[Prospective], is_electable=False)


def test_only_an_observer_leaves_its_leader_within_an_epoch() -> None:
    assert is_allowed(ROLES[Follower], ROLES[Unattached], is_electable=False)


def test_a_follower_stays_with_what_it_knows_best() -> None:
    known = Follower(5, 2, listeners_of(2), 1000)
    more = Follower(5, 2, listeners_of(2) * 2, 1000)
    others = Follower(5, 2, listeners_of(7), 1000)
    another = Follower(5, 3, listeners_of(3), 1000)
    for is_heard in (False, True):
        assert not is_allowed(known, known, is_leader_heard=is_heard)
        assert is_allowed(known, more, is_leader_heard=is_heard)
        assert is_allowed(known, others, is_leader_heard=is_heard) != is_heard
        assert is_allowed(known, another, is_leader_heard=is_heard) != is_heard
