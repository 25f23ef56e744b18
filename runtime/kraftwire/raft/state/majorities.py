"""Quorum maths: how many voters decide, up to where a majority has a log, which sets overlap."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Set


def majority(count: int) -> int:
    """How many of `count` voters decide."""
    return count // 2 + 1


def is_majority(some: Set[Hashable], voters: Set[Hashable]) -> bool:
    """Whether those of `some` that are voters decide; others do not count."""
    return len(voters & some) >= majority(len(voters))


def majority_end(end_offsets: Iterable[int]) -> int:
    """The largest offset that a majority has reached, of the end offsets of all voters.

    `ValueError` without voters, where no majority is.
    """
    ordered = sorted(end_offsets, reverse=True)
    if not ordered:
        raise ValueError("no voters")
    return ordered[len(ordered) // 2]


def majorities_overlap(first: Set[Hashable], second: Set[Hashable]) -> bool:
    """Whether each majority of one set has a voter in common with each majority of the other.

    Then no two leaders can be elected, nor two values committed, by one set each. A set with
    one voter more or less overlaps; one with a voter exchanged may not.
    """
    common = len(first & second)
    # A majority takes as few of the common voters as it can.
    of_first = max(0, majority(len(first)) - (len(first) - common))
    of_second = max(0, majority(len(second)) - (len(second) - common))
    return of_first + of_second > common
