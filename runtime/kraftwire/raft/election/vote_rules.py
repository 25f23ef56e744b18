"""Whom a replica votes for (KIP-595), and would vote for if there were an election (KIP-996).

Whether either of the two is a voter is not asked (KIP-853): a set that one has may be newer
than the other's.
"""

from __future__ import annotations

from kraftwire.raft.core.roles import Follower, Leader, Prospective, Role, Unattached
from kraftwire.raft.state.voters import ReplicaKey


def grants_vote(role: Role, candidate: ReplicaKey, *, is_up_to_date: bool) -> bool:
    """Whether a candidate of this replica's epoch gets its vote.

    A replica that has voted in the epoch votes again for the same candidate alone: the response to
    the first request may have been lost. The log counts then too, unlike in Kafka: somebody else
    may have asked in the name of the candidate, with a log that it does not have.
    """
    if not isinstance(role, Unattached | Prospective) or not is_up_to_date:
        return False
    if role.voted is not None:
        return role.voted.means(candidate)
    return role.leader_id is None


def grants_pre_vote(role: Role, *, is_up_to_date: bool, is_over: bool = False) -> bool:
    """Whether this replica would vote in a new epoch: not while it has a leader that answers.

    `is_over` says that the leader itself asks, in a later epoch: it does not lead any more.
    """
    has_leader = isinstance(role, Follower) and role.has_fetched and not is_over
    return is_up_to_date and not has_leader and not isinstance(role, Leader)
