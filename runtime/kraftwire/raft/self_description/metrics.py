"""What a replica's metrics say (KIP-595, KIP-853, KIP-856, KIP-996), as far as it knows itself.

They are those of Kafka's group `raft-metrics`. Rates and latencies are for whoever runs a
replica, who has the clock: from proposals to `Settled`, from inputs to effects.
"""

from __future__ import annotations

from kraftwire.log.properties import format_uuid
from kraftwire.raft.core.core import Core
from kraftwire.raft.core.replies import NOBODY, leader_of
from kraftwire.raft.core.roles import Candidate, Follower, Leader, Prospective, Resigned, Unattached
from kraftwire.raft.membership import Adding, Removing
from kraftwire.raft.state.config import Membership
from kraftwire.raft.state.voters import NO_DIRECTORY, ReplicaKey

Metric = int | str

_UNKNOWN = -1


def metrics_of(core: Core) -> dict[str, Metric]:
    """All metrics by their names; those that only leaders have are there in a leader alone."""
    voted = core.key if isinstance(core.role, Leader) else core.voted or ReplicaKey(NOBODY)
    has_static = core.config.membership is Membership.SHIPPED and len(core.config.static_voters) > 0
    found: dict[str, Metric] = {
        "current-state": state_of(core),
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


def state_of(core: Core) -> str:
    """The name of the state that a replica is in."""
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
    """What only a leader knows; the last three are as KIP-856 names them."""
    observers = leader.progress.keys() - core.voters.keys
    asked = [*leader.waiting] if leader.pending is None else [leader.pending, *leader.waiting]
    changes = [one.change for one in asked]
    return {
        "number-of-observers": len(observers),
        "uncommitted-voter-change": int(leader.pending is not None),
        "number-of-possible-voters": sum(key.directory_id != NO_DIRECTORY for key in observers),
        "pending-add-voter": int(any(isinstance(one, Adding) for one in changes)),
        "pending-remove-voter": int(any(isinstance(one, Removing) for one in changes)),
    }


def _high_watermark(core: Core) -> int:
    known = core.role.high_watermark if isinstance(core.role, Leader) else core.committed or None
    return _UNKNOWN if known is None else known
