"""The state of a quorum, as its leader reports it in DescribeQuorum."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from kraftwire.raft.state.voters import NO_DIRECTORY, Listener
from kraftwire_messages.kafka import DescribeQuorumResponse


@dataclass(frozen=True, kw_only=True)
class ReplicaStatus:
    """The progress of a replica; None for what the leader does not know."""

    replica_id: int
    directory_id: UUID | None = None
    log_end_offset: int | None = None
    lag: int | None = None
    """Offsets between the end of its log and the leader's."""
    last_fetch_timestamp: int | None = None
    """In ms since 1970."""
    last_caught_up_timestamp: int | None = None
    listeners: tuple[Listener, ...] = ()
    """The listeners of a voter."""


@dataclass(frozen=True, kw_only=True)
class Quorum:
    """The leader, the voters and the observers."""

    cluster_id: str | None
    """None if no server reports it."""
    leader_id: int
    leader_epoch: int
    high_watermark: int | None
    voters: tuple[ReplicaStatus, ...]
    observers: tuple[ReplicaStatus, ...]

    @property
    def leader(self) -> ReplicaStatus | None:
        """The leader; it is an observer while it removes itself."""
        same_id = [one for one in self.voters + self.observers if one.replica_id == self.leader_id]
        # The leader's lost disk may still be listed, with a smaller offset.
        return max(same_id, key=lambda one: one.log_end_offset or 0, default=None)

    @property
    def furthest_behind(self) -> ReplicaStatus | None:
        """The voter with the largest lag; one whose offset is unknown comes first."""
        return max(self.voters, key=lambda one: (one.lag is None, one.lag or 0), default=None)


def quorum_of(
    response: DescribeQuorumResponse,
    partition: DescribeQuorumResponse.PartitionData,
    cluster_id: str | None,
) -> Quorum:
    """Return the quorum that a response without errors describes."""
    replicas = [*partition.current_voters, *partition.observers]
    ends = [one.log_end_offset for one in replicas if one.replica_id == partition.leader_id]
    end = _or_none(max(ends, default=-1))  # the leader's lost disk may still be listed
    listeners = {
        node.node_id: tuple(Listener(one.name, one.host, one.port) for one in node.listeners)
        for node in response.nodes
    }

    def status(one: DescribeQuorumResponse.ReplicaState, is_voter: bool) -> ReplicaStatus:
        own_end = _or_none(one.log_end_offset)
        directory = one.replica_directory_id
        return ReplicaStatus(
            replica_id=one.replica_id,
            directory_id=None if directory == NO_DIRECTORY else directory,
            log_end_offset=own_end,
            lag=None if end is None or own_end is None else max(end - own_end, 0),
            last_fetch_timestamp=_or_none(one.last_fetch_timestamp),
            last_caught_up_timestamp=_or_none(one.last_caught_up_timestamp),
            listeners=listeners.get(one.replica_id, ()) if is_voter else (),
        )

    return Quorum(
        cluster_id=cluster_id,
        leader_id=partition.leader_id,
        leader_epoch=partition.leader_epoch,
        high_watermark=_or_none(partition.high_watermark),
        voters=tuple(status(one, True) for one in partition.current_voters),
        observers=tuple(status(one, False) for one in partition.observers),
    )


def _or_none(number: int) -> int | None:
    return None if number < 0 else number
