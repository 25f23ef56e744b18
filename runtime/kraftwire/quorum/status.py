"""How a quorum stands, as its leader tells in DescribeQuorum."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from kraftwire.raft.state.voters import NO_DIRECTORY, Listener
from kraftwire_messages.kafka import DescribeQuorumResponse


@dataclass(frozen=True, kw_only=True)
class ReplicaStatus:
    """How far a replica has come, as the leader knows; None where it does not."""

    replica_id: int
    directory_id: UUID | None = None
    log_end_offset: int | None = None
    lag: int | None = None
    """How many offsets its log ends before the leader's."""
    last_fetch_timestamp: int | None = None
    """In ms since 1970."""
    last_caught_up_timestamp: int | None = None
    listeners: tuple[Listener, ...] = ()
    """Where a voter listens."""


@dataclass(frozen=True, kw_only=True)
class Quorum:
    """Who leads, who votes, who observes."""

    cluster_id: str | None
    """None where no server tells it."""
    leader_id: int
    leader_epoch: int
    high_watermark: int | None
    voters: tuple[ReplicaStatus, ...]
    observers: tuple[ReplicaStatus, ...]

    @property
    def leader(self) -> ReplicaStatus | None:
        """The leader, which is an observer while it removes itself."""
        same_id = [one for one in self.voters + self.observers if one.replica_id == self.leader_id]
        # A disk that it has lost may be there too.
        return max(same_id, key=lambda one: one.log_end_offset or 0, default=None)

    @property
    def furthest_behind(self) -> ReplicaStatus | None:
        """The voter whose log ends first; one that has never told where is before all others."""
        return max(self.voters, key=lambda one: (one.lag is None, one.lag or 0), default=None)


def quorum_of(
    response: DescribeQuorumResponse,
    partition: DescribeQuorumResponse.PartitionData,
    cluster_id: str | None,
) -> Quorum:
    """The quorum that a response without errors describes, in its one partition."""
    replicas = [*partition.current_voters, *partition.observers]
    ends = [one.log_end_offset for one in replicas if one.replica_id == partition.leader_id]
    end = _known(max(ends, default=-1))  # its lost disk may be there too, with its id
    listeners = {
        node.node_id: tuple(Listener(one.name, one.host, one.port) for one in node.listeners)
        for node in response.nodes
    }

    def status(one: DescribeQuorumResponse.ReplicaState, is_voter: bool) -> ReplicaStatus:
        own_end = _known(one.log_end_offset)
        directory = one.replica_directory_id
        return ReplicaStatus(
            replica_id=one.replica_id,
            directory_id=None if directory == NO_DIRECTORY else directory,
            log_end_offset=own_end,
            lag=None if end is None or own_end is None else max(end - own_end, 0),
            last_fetch_timestamp=_known(one.last_fetch_timestamp),
            last_caught_up_timestamp=_known(one.last_caught_up_timestamp),
            listeners=listeners.get(one.replica_id, ()) if is_voter else (),
        )

    return Quorum(
        cluster_id=cluster_id,
        leader_id=partition.leader_id,
        leader_epoch=partition.leader_epoch,
        high_watermark=_known(partition.high_watermark),
        voters=tuple(status(one, True) for one in partition.current_voters),
        observers=tuple(status(one, False) for one in partition.observers),
    )


def _known(number: int) -> int | None:
    return None if number < 0 else number
