"""What may be wrong with a request that would change the voters, whichever of the three it is.

Each check says why it refuses, or None. The order of the checks is that of their callers.
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


def check_caller(core: Core, cluster_id: str | None, epoch: int) -> Refusal | None:
    """Whether the request is of this cluster, and this replica leads the epoch that it names."""
    if not is_of_this_cluster(core, cluster_id):
        return Refusal(ErrorCode.INCONSISTENT_CLUSTER_ID, f"This cluster is not {cluster_id}.")
    error = check_leader(core, epoch)
    if error is not ErrorCode.NONE:
        return Refusal(error, f"This replica does not lead epoch {epoch}.")
    return None


def check_key(key: ReplicaKey) -> Refusal | None:
    """Whether a voter is named with its id and directory."""
    if key.id < 0 or key.directory_id == NO_DIRECTORY:
        return Refusal(ErrorCode.INVALID_REQUEST, "A voter has an id and a directory id.")
    return None


def check_listeners(core: Core, listeners: tuple[Listener, ...]) -> Refusal | None:
    """Refuse listeners that other replicas cannot reach a voter at."""
    problem = listeners_problem(listeners)
    if problem is not None:
        return Refusal(ErrorCode.INVALID_REQUEST, problem)
    if core.address_of(listeners) is None:
        reason = f"A voter listens on {core.config.default_listener}."
        return Refusal(ErrorCode.INVALID_REQUEST, reason)
    return None


def check_is_settled(leader: Leader) -> Refusal | None:
    """Whether no request waits for a change, and this leader has committed a record.

    Without that it does not know what earlier leaders have committed (Raft, single-server
    changes).
    """
    if leader.pending is not None:
        return Refusal(ErrorCode.REQUEST_TIMED_OUT, "Another change of the voters is under way.")
    if leader.high_watermark is None:
        reason = "The leader has committed nothing in its epoch yet."
        return Refusal(ErrorCode.REQUEST_TIMED_OUT, reason)
    return None


def check_is_observer(core: Core, leader: Leader, voter: Voter) -> Refusal | None:
    """Whether a replica may become a voter as KIP-856 has it: as an observer, where it listens."""
    if voter.key not in leader.progress or core.voters.find(voter.key) is not None:
        return Refusal(ErrorCode.INVALID_REQUEST, f"{voter.key} is no observer.")
    if voter.listeners:
        reason = "controller.quorum.voters says where voters listen."
        return Refusal(ErrorCode.INVALID_REQUEST, reason)
    return None


def check_is_voter(core: Core, key: ReplicaKey) -> Refusal | None:
    """Whether a replica is a voter still, where its removal may be in the log."""
    if key in core.voters.keys:
        return None
    return Refusal(ErrorCode.INVALID_REQUEST, f"{key} is no voter.")


def check_is_committed(core: Core, leader: Leader) -> Refusal | None:
    """Whether the newest voter set is committed."""
    if core.control.voters.is_committed(leader.high_watermark or 0):
        return None
    reason = "The last change of the voters is not committed yet."
    return Refusal(ErrorCode.REQUEST_TIMED_OUT, reason)


def check_kraft_version(core: Core, least: int, most: int) -> Refusal | None:
    """Whether a voter has the kraft.version of this quorum."""
    version = core.control.kraft_version.last
    if least <= version <= most:
        return None
    reason = f"The voter has kraft.version {least} to {most}, and the quorum is at {version}."
    return Refusal(ErrorCode.INVALID_REQUEST, reason)
