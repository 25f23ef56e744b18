"""Whom a replica votes for (KIP-595), and would vote for if there were an election (KIP-996).

Whether either of the two is a voter is not asked (KIP-853): a set that one has may be newer
than the other's.
"""

from __future__ import annotations

from kraftwire.raft.roles import Follower, Leader, Prospective, Role, Unattached
from kraftwire.raft.voters import ReplicaKey


def grants_vote(role: Role, candidate: ReplicaKey, *, is_up_to_date: bool) -> bool:
    """Whether a candidate of this replica's epoch gets its vote.

    Who has voted in the epoch votes again for the same replica alone, be it up to date or not:
    the response to its first request may have been lost.
    """
    if not isinstance(role, Unattached | Prospective):
        return False
    if role.voted is not None:
        return role.voted.means(candidate)
    return role.leader_id is None and is_up_to_date


def grants_pre_vote(role: Role, *, is_up_to_date: bool) -> bool:
    """Whether this replica would vote in a new epoch: not while it has a leader that answers."""
    if isinstance(role, Leader) or (isinstance(role, Follower) and role.has_fetched):
        return False
    return is_up_to_date
