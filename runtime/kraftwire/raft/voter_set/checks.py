"""Checks of requests that change the voters.

Each check returns a refusal or None; callers decide the order.
"""

from __future__ import annotations

from kraftwire.raft.core.core import Core
from kraftwire.raft.core.listeners import listeners_problem
from kraftwire.raft.core.replies import is_of_this_cluster
from kraftwire.raft.core.roles import Leader
from kraftwire.raft.membership import Refusal
from kraftwire.raft.replication.fetch_server import check_leader
from kraftwire.raft.state.voters import NO_DIRECTORY, Listener, ReplicaKey, Voter
from kraftwire_wire.numbers import ErrorCode


def leader_role(core: Core) -> Leader:
    """Return the role of a replica that leads; call `check_caller` before."""
    assert isinstance(core.role, Leader), "check_caller refuses otherwise"
    return core.role


def check_caller(core: Core, cluster_id: str | None, epoch: int) -> Refusal | None:
    """Refuse a request for another cluster, or for an epoch that this replica does not lead."""
    if not is_of_this_cluster(core, cluster_id):
        return Refusal(ErrorCode.INCONSISTENT_CLUSTER_ID, f"This is not cluster {cluster_id}.")
    error = check_leader(core, epoch)
    if error is not ErrorCode.NONE:
        return Refusal(error, f"This replica does not lead epoch {epoch}.")
    return None


def check_key(key: ReplicaKey) -> Refusal | None:
    """Refuse a key without id or directory id."""
    if key.id < 0 or key.directory_id == NO_DIRECTORY:
        return Refusal(ErrorCode.INVALID_REQUEST, "A voter needs an id and a directory id.")
    return None


def check_listeners(core: Core, listeners: tuple[Listener, ...]) -> Refusal | None:
    """Refuse listeners at which other replicas cannot reach a voter."""
    problem = listeners_problem(listeners)
    if problem is not None:
        return Refusal(ErrorCode.INVALID_REQUEST, problem)
    if core.address_of(listeners) is None:
        reason = f"A voter needs a listener {core.config.default_listener}."
        return Refusal(ErrorCode.INVALID_REQUEST, reason)
    return None


def check_is_settled(leader: Leader) -> Refusal | None:
    """Refuse a change during another, or before this leader has committed a record.

    Until then it does not know what earlier leaders have committed (the bug in Raft's single-server
    changes that Ongaro reported in 2015).
    """
    if leader.pending is not None:
        return Refusal(ErrorCode.REQUEST_TIMED_OUT, "Another change of the voters is in progress.")
    if leader.high_watermark is None:
        reason = "The leader has not committed a record of its epoch yet."
        return Refusal(ErrorCode.REQUEST_TIMED_OUT, reason)
    return None


def check_is_observer(core: Core, leader: Leader, voter: Voter) -> Refusal | None:
    """Refuse to add a replica that is not an observer, or is described with listeners."""
    if voter.key not in leader.progress or core.voters.find(voter.key) is not None:
        return Refusal(ErrorCode.INVALID_REQUEST, f"{voter.key} is not an observer.")
    if voter.listeners:
        reason = "The listeners of voters come from controller.quorum.voters."
        return Refusal(ErrorCode.INVALID_REQUEST, reason)
    return None


def check_is_voter(core: Core, key: ReplicaKey) -> Refusal | None:
    """Refuse to remove a replica whose removal is in the log already, committed or not."""
    if key in core.voters.keys:
        return None
    return Refusal(ErrorCode.INVALID_REQUEST, f"{key} is not a voter.")


def check_is_committed(core: Core, leader: Leader) -> Refusal | None:
    """Refuse a change before the newest voter set is committed."""
    if core.control.voters.is_committed(leader.high_watermark or 0):
        return None
    reason = "The last change of the voters is not committed yet."
    return Refusal(ErrorCode.REQUEST_TIMED_OUT, reason)


def check_kraft_version(core: Core, least: int, most: int) -> Refusal | None:
    """Refuse a voter that does not support the kraft.version of this quorum."""
    version = core.control.kraft_version.last
    if least <= version <= most:
        return None
    reason = f"The voter supports kraft.version {least} to {most}, but the quorum has {version}."
    return Refusal(ErrorCode.INVALID_REQUEST, reason)
