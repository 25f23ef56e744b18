"""What a replica is told once: who it is, whom it may ask, how long it waits.

Times are in ms, sizes in bytes; the defaults are Kafka's.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kraftwire.address import Address
from kraftwire.raft.state.voters import NO_VOTERS, Listener, ReplicaKey, VoterSet


class Membership(StrEnum):
    """By which rules voters come and go."""

    SHIPPED = "shipped"
    """Those of Kafka 4: VotersRecord holds the whole set."""
    KIP_856 = "kip-856"
    """Those of the document: AddVoterRecord and RemoveVoterRecord, configured ids."""


@dataclass(frozen=True, kw_only=True)
class Config:
    """See the module."""

    key: ReplicaKey
    can_vote: bool = True
    """Whether this is a controller, which may be a voter; brokers only observe."""
    cluster_id: str | None = None
    listeners: tuple[Listener, ...] = ()
    """Where this replica listens."""
    default_listener: str = "CONTROLLER"
    """The listener that replicas speak to one another on."""
    bootstrap: tuple[Address, ...] = ()
    """Whom to ask for the leader while no voter is known."""
    static_voters: VoterSet = NO_VOTERS
    """The voters of `controller.quorum.voters`."""
    membership: Membership = Membership.SHIPPED
    supported_kraft_versions: range = range(2)
    auto_join: bool = False
    """Whether an observer that can vote asks to become a voter, in the place of its id."""

    election_timeout_ms: int = 1000
    """Elections wait between this and twice as long."""
    fetch_timeout_ms: int = 2000
    fetch_spread_ms: int = 0
    """A follower waits for its leader up to so much longer; drawn each time that it follows one.

    The followers of a leader that dies have heard from it last at the same moment. Without this
    they stand at the same moment too, and split the votes.
    """
    request_timeout_ms: int = 2000
    retry_backoff_ms: int = 20
    fetch_max_wait_ms: int = 500
    fetch_max_bytes: int = 8 << 20
    fetch_snapshot_max_bytes: int = 1 << 20
    max_batch_bytes: int = 8 << 20
    """How large a batch may become, that this replica writes or that it decompresses."""
    max_parked: int = 1000
    """How many Fetches may wait at a leader; of more, the oldest is answered."""
    max_observers: int = 1000
    """How many observers a leader remembers; of more, it forgets the one that is silent longest."""
    observer_session_ms: int = 300_000
    caught_up_ms: int = 3_600_000
    """How long ago a replica may have fetched that is to become a voter."""
    shutdown_ms: int = 5000
    """How long a replica that shuts down waits for another leader."""
    retained_snapshots: int = 2
    """How many snapshots are kept, with the log from the first of them on; at least 1."""
    clean_interval_ms: int = 60_000
    """How long a snapshot, and the log before the next, may stay beyond those."""

    @property
    def check_quorum_ms(self) -> int:
        """How long a leader stays one without fetches of a majority."""
        return self.fetch_timeout_ms * 3 // 2

    @property
    def begin_quorum_ms(self) -> int:
        """How often a leader tells voters that have not fetched yet."""
        return self.fetch_timeout_ms // 2
