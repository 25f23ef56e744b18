"""The states of a replica within an epoch (KIP-595, KIP-996).

Being a voter is none of them: that is what the voter set says. Times are in ms, as the clock
that a replica is stepped with counts them.

    Unattached    no leader to follow: of a new epoch, or after a lost election
    Prospective   asks whether it would be elected, without a new epoch
    Candidate     asks for votes in an epoch of its own
    Leader        was elected
    Follower      fetches from the leader
    Resigned      was leader, and waits for the next epoch
"""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

from kraftwire.raft.core.inputs import Request
from kraftwire.raft.core.parked_fetches import ParkedFetches
from kraftwire.raft.membership import Change
from kraftwire.raft.metadata_log.snapshot_download import Download
from kraftwire.raft.state.tally import Tally
from kraftwire.raft.state.voters import Listener, ReplicaKey, VoterSet


@dataclass
class Unattached:
    """No leader is followed; one may be known that has told no address."""

    epoch: int
    election_deadline: int | None
    """When a voter looks for votes; None for an observer."""
    leader_id: int | None = None
    voted: ReplicaKey | None = None


@dataclass
class Prospective:
    """Asks voters whether they would elect it; the epoch stays, and with it leader and vote."""

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


@dataclass
class Follower:
    """Fetches from the leader; voters look for votes when that does not answer in time."""

    epoch: int
    leader_id: int
    leader_listeners: tuple[Listener, ...]
    """Where the leader listens, as far as it was told; there is at least one."""
    fetch_deadline: int
    extra_ms: int = 0
    """What of `Config.fetch_spread_ms` has been drawn for this leader."""
    voted: ReplicaKey | None = None
    has_fetched: bool = False
    """Whether this leader has answered a Fetch."""
    download: Download | None = None
    """The snapshot that is fetched from this leader, where it has one for this replica."""
    update_deadline: int = 0
    """When this replica looks next whether the leader has to be told what it has become."""
    has_updated: bool = False
    """Whether this leader was told."""


@dataclass
class Resigned:
    """Was the leader of this epoch, and takes no part in it any more."""

    epoch: int
    election_deadline: int
    successors: tuple[ReplicaKey, ...] = ()
    """Who should be next, best first."""
    untold: set[ReplicaKey] = field(default_factory=set)
    """The voters that have not answered that they know."""


@dataclass
class Progress:
    """What a leader knows of another replica; -1 is a time that never was."""

    end_offset: int | None = None
    """Up to where it has the log: the offset of its last valid Fetch."""
    last_fetch_ms: int = -1
    last_caught_up_ms: int = -1
    leader_end: int = -1
    """Where the leader's log ended when it last fetched."""


@dataclass
class Pending:
    """A change of the voter set that a request waits for; there is one at a time."""

    request: Request
    change: Change
    deadline: int
    """When it is answered that this takes too long; what is in the log stays there."""
    end: int | None = None
    """The offset behind its record; None while a new voter is asked what it can do."""
    is_asked: bool = False
    """Whether a new voter was asked; before that something else may be asked of it."""
    is_able: bool = False
    """Whether a new voter has answered that it supports what it needs to (KIP-856)."""
    is_answered: bool = False
    leader_end: int = 0
    """Where the leader's log ended when it was asked for, up to which a new voter catches up."""


@dataclass
class Leader:
    """Was elected; `epoch_start` is the offset of its LeaderChangeMessage."""

    epoch: int
    epoch_start: int
    granted: frozenset[ReplicaKey]
    """Who has voted for it."""
    check_quorum_deadline: int | None
    """When it resigns unless a majority fetches before; None for a sole voter."""
    begin_quorum_deadline: int = 0
    """When voters are told next that this epoch has begun."""
    high_watermark: int | None = None
    """None until records of this epoch are committed."""
    flushed: int = 0
    """Up to where its own log is durable."""
    progress: dict[ReplicaKey, Progress] = field(default_factory=dict)
    """Of voters and observers, by the keys that the voter set has for them, or their own."""
    heard: set[ReplicaKey] = field(default_factory=set)
    """The voters that have fetched since a majority last had."""
    parked: ParkedFetches = field(default_factory=ParkedFetches)
    proposed: list[tuple[object, int]] = field(default_factory=list)
    """Proposals that are not committed: their tokens, and the offsets behind them."""
    pending: Pending | None = None
    waiting: list[Pending] = field(default_factory=list)
    """Changes that may not be made yet, in the order of their requests (KIP-856)."""
    is_open: bool = True
    """Whether state machines may write: not before all voters are named (KIP-856)."""
    directories: dict[int, UUID] = field(default_factory=dict)
    """Those that voters have told which the log has without."""
    named_end: int | None = None
    """An offset behind the records that name them; None while there are none."""
    described: VoterSet | None = None
    """Under kraft.version 0, the voters as they have described themselves."""


Role = Unattached | Prospective | Candidate | Leader | Follower | Resigned
