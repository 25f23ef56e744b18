"""The settings of a replica. Times are in ms, sizes in bytes; the defaults are Kafka's."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kraftwire.address import Address
from kraftwire.raft.state.voters import NO_VOTERS, Listener, ReplicaKey, VoterSet


class Membership(StrEnum):
    """The rules by which the voter set changes."""

    SHIPPED = "shipped"
    """Kafka 4: a VotersRecord holds the whole set."""
    KIP_856 = "kip-856"
    """The draft: AddVoterRecord and RemoveVoterRecord, and configured ids."""


@dataclass(frozen=True, kw_only=True)
class Config:
    """Who the replica is, which nodes it may ask, and how long it waits."""

    key: ReplicaKey
    can_vote: bool = True
    """Whether this is a controller, which may be a voter; brokers are observers."""
    cluster_id: str | None = None
    listeners: tuple[Listener, ...] = ()
    default_listener: str = "CONTROLLER"
    """The listener that replicas use among themselves."""
    bootstrap: tuple[Address, ...] = ()
    """Servers that may know the leader (`controller.quorum.bootstrap.servers`)."""
    static_voters: VoterSet = NO_VOTERS
    """The voters of `controller.quorum.voters`."""
    membership: Membership = Membership.SHIPPED
    supported_kraft_versions: range = range(2)
    auto_join: bool = False
    """Whether an observer that can vote asks to become a voter, and replaces one of its id."""

    election_timeout_ms: int = 1000
    """An election waits between this time and twice as long."""
    fetch_timeout_ms: int = 2000
    fetch_spread_ms: int = 0
    """Upper bound of the random time that is added to the fetch timeout for each leader.

    When a leader dies, its followers have all heard from it at the same moment. Without a spread
    they also start their elections at the same moment, and split the votes.
    """
    request_timeout_ms: int = 2000
    retry_backoff_ms: int = 20
    fetch_max_wait_ms: int = 500
    fetch_max_bytes: int = 8 << 20
    fetch_snapshot_max_bytes: int = 1 << 20
    max_batch_bytes: int = 8 << 20
    """The largest batch that this replica writes, or decompresses."""
    max_waiting_fetches: int = 1000
    """How many Fetches may wait at a leader; if there are more, it answers the oldest."""
    max_observers: int = 1000
    """How many observers a leader remembers; beyond that, it forgets the one silent for longest."""
    observer_session_ms: int = 300_000
    caught_up_ms: int = 3_600_000
    """A replica that has not fetched for longer than this cannot become a voter."""
    shutdown_ms: int = 5000
    """How long a replica that shuts down waits for another leader."""
    retained_snapshots: int = 2
    """How many snapshots to keep, with the log from the first of them on; at least 1."""
    clean_interval_ms: int = 60_000
    """How long surplus snapshots and their part of the log stay before they are removed."""

    @property
    def check_quorum_ms(self) -> int:
        """How long a leader leads without Fetches from a majority."""
        return self.fetch_timeout_ms * 3 // 2

    @property
    def begin_quorum_ms(self) -> int:
        """How often a leader sends BeginQuorumEpoch to voters that do not fetch."""
        return self.fetch_timeout_ms // 2
