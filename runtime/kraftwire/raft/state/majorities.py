"""Quorum maths: the size of a majority, how far its logs reach, and whether two sets overlap."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Set


def majority(count: int) -> int:
    """Return how many of `count` voters are a majority."""
    return count // 2 + 1


def majority_end(end_offsets: Iterable[int]) -> int:
    """Return the largest offset that a majority has reached, given the log ends of all voters.

    Raises `ValueError` without voters.
    """
    ordered = sorted(end_offsets, reverse=True)
    if not ordered:
        raise ValueError("no voters")
    return ordered[len(ordered) // 2]


def majorities_overlap(first: Set[Hashable], second: Set[Hashable]) -> bool:
    """Whether every majority of one set shares a voter with every majority of the other.

    If so, the two sets cannot elect a leader each, nor commit different records. Sets that differ
    by one added or removed voter overlap; sets with a voter exchanged may not.
    """
    common = len(first & second)
    # The smallest number of common voters in a majority of each set.
    of_first = max(0, majority(len(first)) - (len(first) - common))
    of_second = max(0, majority(len(second)) - (len(second) - common))
    return of_first + of_second > common
