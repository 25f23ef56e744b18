"""Quorum maths, beside what follows from trying every majority."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftwire.raft.state.majorities import majorities_overlap, majority, majority_end

SETS = st.frozensets(st.integers(0, 7), min_size=1, max_size=7)


@pytest.mark.parametrize(
    ("count", "needed"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3), (6, 4), (7, 4)]
)
def test_majorities(count: int, needed: int) -> None:
    assert majority(count) == needed


@given(st.lists(st.integers(0, 9), min_size=1, max_size=7))
def test_a_majority_has_the_end_and_none_has_more(ends: list[int]) -> None:
    end = majority_end(ends)
    assert sum(one >= end for one in ends) >= majority(len(ends))
    assert sum(one > end for one in ends) < majority(len(ends))


def test_without_voters_nothing_is_decided() -> None:
    with pytest.raises(ValueError, match="no voters"):
        majority_end([])


def _majorities(voters: frozenset[int]) -> list[set[int]]:
    return [set(some) for some in combinations(sorted(voters), majority(len(voters)))]


@given(SETS, SETS)
def test_majorities_overlap_where_all_of_them_do(
    first: frozenset[int], second: frozenset[int]
) -> None:
    overlap = all(one & other for one in _majorities(first) for other in _majorities(second))
    assert majorities_overlap(first, second) == overlap


@given(SETS, st.integers(0, 7))
def test_one_voter_more_or_less_overlaps(voters: frozenset[int], one: int) -> None:
    assert majorities_overlap(voters, voters | {one})
    if voters - {one}:
        assert majorities_overlap(voters, voters - {one})
