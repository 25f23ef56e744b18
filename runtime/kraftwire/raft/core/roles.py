"""The roles of a replica within an epoch (KIP-595, KIP-996).

    Unattached    follows no leader: the epoch is new, or an election was lost
    Prospective   asks voters whether they would elect it, before it starts an epoch
    Candidate     asks for votes in its own epoch
    Leader        was elected
    Follower      fetches from the leader
    Resigned      was the leader, and waits for the next epoch

Every role has `epoch`, `leader_id`, `leader_listeners` and `voted`. `transitions` says which role
may follow which. Whether a replica is a voter is not a role: the voter set says that. Times are in
ms of the clock that the caller of `Replica.step` uses.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar
from uuid import UUID

from kraftwire.raft.core.fetch_purgatory import FetchPurgatory
from kraftwire.raft.core.inputs import Request
from kraftwire.raft.membership import VoterChange
from kraftwire.raft.metadata_log.snapshot_download import SnapshotDownload
from kraftwire.raft.state.tally import Tally
from kraftwire.raft.state.voters import Listener, ReplicaKey, VoterSet


@dataclass
class Unattached:
    """Follows no leader. It may know who leads the epoch, but not where the leader listens."""

    epoch: int
    election_deadline: int | None
    """When a voter starts an election; None for an observer."""
    leader_id: int | None = None
    voted: ReplicaKey | None = None
    leader_listeners: ClassVar[tuple[Listener, ...]] = ()


@dataclass
class Prospective:
    """Asks voters whether they would elect it; epoch, leader and vote stay as they are."""

    epoch: int
    election_deadline: int
    tally: Tally
    leader_id: int | None = None
    leader_listeners: tuple[Listener, ...] = ()
    voted: ReplicaKey | None = None


@dataclass
class Candidate:
    """Asks voters for their votes in its epoch, and has voted for itself."""

    epoch: int
    election_deadline: int
    tally: Tally
    voted: ReplicaKey
    leader_id: ClassVar[None] = None
    leader_listeners: ClassVar[tuple[Listener, ...]] = ()


@dataclass
class Follower:
    """Fetches from the leader. A voter starts an election if the leader does not answer in time."""

    epoch: int
    leader_id: int
    leader_listeners: tuple[Listener, ...]
    """At least one."""
    fetch_deadline: int
    extra_ms: int = 0
    """The random part of `Config.fetch_spread_ms` for this leader."""
    voted: ReplicaKey | None = None
    has_fetched: bool = False
    """Whether this leader has answered a Fetch."""
    download: SnapshotDownload | None = None
    """The snapshot that this replica is fetching from the leader, if any."""
    update_deadline: int = 0
    """When this replica next checks whether the leader needs an UpdateRaftVoter."""
    has_updated: bool = False
    """Whether this leader has answered an UpdateRaftVoter."""


@dataclass
class Resigned:
    """Was the leader of this epoch, and waits for the next one."""

    epoch: int
    leader_id: int
    leader_listeners: tuple[Listener, ...]
    election_deadline: int
    successors: tuple[ReplicaKey, ...] = ()
    """The preferred successors, best first."""
    unacknowledged: set[ReplicaKey] = field(default_factory=set)
    """The voters that have not answered EndQuorumEpoch."""
    voted: ClassVar[None] = None


@dataclass
class Progress:
    """What a leader knows about another replica; a time of -1 means never."""

    end_offset: int | None = None
    """Where its log ends: the offset of its last valid Fetch."""
    last_fetch_ms: int = -1
    last_caught_up_ms: int = -1
    leader_end: int = -1
    """Where the leader's log ended when it last fetched."""


@dataclass
class PendingChange:
    """A requested change of the voter set, which is not committed yet."""

    request: Request
    change: VoterChange
    deadline: int
    """When the request fails with a timeout; a record that is in the log by then stays there."""
    end: int | None = None
    """The offset after its record; None until the leader has appended it."""
    has_asked_versions: bool = False
    """Whether the leader has sent ApiVersions to the new voter, which may not have answered."""
    has_needed_versions: bool = False
    """Whether the new voter has answered that it supports the needed versions (KIP-856)."""
    has_replied: bool = False
    leader_end: int = 0
    """Where the leader's log ended at the request: how far a new voter has to catch up."""


@dataclass
class Leader:
    """Was elected; `epoch_start` is the offset of its LeaderChangeMessage."""

    epoch: int
    leader_id: int
    leader_listeners: tuple[Listener, ...]
    epoch_start: int
    granted: frozenset[ReplicaKey]
    """The replicas that voted for it."""
    check_quorum_deadline: int | None
    """When it resigns if no majority has fetched by then; None for a sole voter."""
    begin_quorum_deadline: int = 0
    """When it next sends BeginQuorumEpoch to voters that do not fetch."""
    high_watermark: int | None = None
    """None until records of this epoch are committed."""
    flushed: int = 0
    """Where the durable part of its own log ends."""
    progress: dict[ReplicaKey, Progress] = field(default_factory=dict)
    """The progress of observers, and of voters by their keys in the voter set."""
    heard: set[ReplicaKey] = field(default_factory=set)
    """The voters that have fetched since a majority last had."""
    purgatory: FetchPurgatory = field(default_factory=FetchPurgatory)
    proposals: list[tuple[object, int]] = field(default_factory=list)
    """Uncommitted proposals: their tokens, and the offsets after them."""
    pending: PendingChange | None = None
    """The change that is being made; there is one at a time."""
    waiting: list[PendingChange] = field(default_factory=list)
    """Changes that may not be made yet, in the order of their requests (KIP-856)."""
    is_open: bool = True
    """Whether state machines may propose; under KIP-856 only after all voters are named."""
    directories: dict[int, UUID] = field(default_factory=dict)
    """Directory ids that voters reported but the log's voter set does not have yet."""
    named_end: int | None = None
    """The offset after the records that name the voters; None until the log has them."""
    described: VoterSet | None = None
    """Under kraft.version 0: the voters as UpdateRaftVoter has described them."""
    voted: ClassVar[None] = None


Role = Unattached | Prospective | Candidate | Leader | Follower | Resigned


def deadline_to_keep(role: Role) -> int | None:
    """Return the election deadline that a replica keeps when it becomes unattached, if any.

    A replica that gives up its candidacy keeps its deadline. With a new one, a replica that lost
    might never be the first to try again.
    """
    if isinstance(role, Leader | Follower):
        return None
    if isinstance(role, Prospective) and role.tally.is_lost:
        return None
    return role.election_deadline
