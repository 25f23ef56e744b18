"""Whether a replica grants a vote (KIP-595) or a pre-vote (KIP-996).

Neither replica nor candidate has to be a voter (KIP-853): either may know a newer voter set.
"""

from __future__ import annotations

from kraftwire.raft.core.roles import Follower, Leader, Prospective, Role, Unattached
from kraftwire.raft.state.voters import ReplicaKey


def grants_vote(role: Role, candidate: ReplicaKey, *, is_up_to_date: bool) -> bool:
    """Whether a candidate of this replica's epoch gets its vote.

    A replica repeats its vote for the same candidate, since the first response may have been lost.
    Unlike in Kafka (`UnattachedState.canGrantVote`), the log also has to be up to date then: a
    stranger may have asked in the candidate's name and claimed a longer log.
    """
    if not isinstance(role, Unattached | Prospective) or not is_up_to_date:
        return False
    if role.voted is not None:
        return role.voted.matches(candidate)
    return role.leader_id is None


def grants_pre_vote(role: Role, *, is_up_to_date: bool, is_over: bool = False) -> bool:
    """Whether this replica would vote in a new epoch: not while it has a leader that answers.

    `is_over` is true if the leader itself asks in a later epoch: so it no longer leads.
    """
    has_leader = isinstance(role, Follower) and role.has_fetched and not is_over
    return is_up_to_date and not has_leader and not isinstance(role, Leader)
