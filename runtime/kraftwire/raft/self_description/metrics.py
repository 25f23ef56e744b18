"""The metrics of a replica (KIP-595, KIP-853, KIP-856, KIP-996): Kafka's group `raft-metrics`.

The caller of a replica measures rates and latencies, since it has the clock: from `Propose` to
`ProposalOutcome`, and from inputs to effects.
"""

from __future__ import annotations

from kraftwire.raft.core.core import Core
from kraftwire.raft.core.replies import NO_LEADER, leader_of
from kraftwire.raft.core.roles import Candidate, Follower, Leader, Prospective, Resigned, Unattached
from kraftwire.raft.membership import AddVoter, RemoveVoter
from kraftwire.raft.state.config import Membership
from kraftwire.raft.state.voters import NO_DIRECTORY, ReplicaKey
from kraftwire_wire.uuids import format_uuid

Metric = int | str

_UNKNOWN = -1


def metrics_of(core: Core) -> dict[str, Metric]:
    """Return all metrics by name; a leader has more of them."""
    voted = core.key if isinstance(core.role, Leader) else core.voted or ReplicaKey(NO_LEADER)
    has_static = core.config.membership is Membership.SHIPPED and len(core.config.static_voters) > 0
    found: dict[str, Metric] = {
        "current-state": _state_of(core),
        "current-leader": leader_of(core),
        "current-vote": voted.id,
        "current-vote-directory-id": format_uuid(voted.directory_id),
        "current-epoch": core.epoch,
        "high-watermark": _high_watermark(core),
        "log-end-offset": core.log.end,
        "log-end-epoch": core.log.last_epoch,
        "number-unknown-voter-connections": 0,
        "number-of-voters": len(core.voters),
        "number-of-refused-claims": core.refused_claims,
        "ignored-static-voters": int(has_static and core.voters != core.config.static_voters),
    }
    if isinstance(core.role, Leader):
        found |= _leader_metrics(core, core.role)
    return found


def _state_of(core: Core) -> str:
    match core.role:
        case Leader():
            return "leader"
        case Prospective(voted=voted):
            return "prospective" if voted is None else "prospective-voted"
        case Candidate():
            return "candidate"
        case Unattached(voted=ReplicaKey()):
            return "unattached-voted"
        case Follower():
            return "follower" if core.is_voter else "observer"
        case Unattached() | Resigned():
            return "unattached"


def _leader_metrics(core: Core, leader: Leader) -> dict[str, Metric]:
    observers = leader.progress.keys() - core.voters.keys
    pending = [*leader.waiting] if leader.pending is None else [leader.pending, *leader.waiting]
    changes = [one.change for one in pending]
    return {
        "number-of-observers": len(observers),
        "uncommitted-voter-change": int(leader.pending is not None),
        "number-of-possible-voters": sum(key.directory_id != NO_DIRECTORY for key in observers),
        "pending-add-voter": int(any(isinstance(one, AddVoter) for one in changes)),
        "pending-remove-voter": int(any(isinstance(one, RemoveVoter) for one in changes)),
    }


def _high_watermark(core: Core) -> int:
    known = core.role.high_watermark if isinstance(core.role, Leader) else core.committed or None
    return _UNKNOWN if known is None else known
