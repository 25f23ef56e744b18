"""The partition of the cluster's metadata within requests and responses.

The messages could be about many partitions, and for a quorum are about one: a request that is
about another, or about none, or about several, is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from kraftwire.log.directory import METADATA_TOPIC
from kraftwire.raft.metadata_log.log_state import OffsetAndEpoch, UpToDate
from kraftwire.raft.state.voters import Listener, ReplicaKey, Voter
from kraftwire_messages.kafka import (
    AddRaftVoterRequest,
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    RemoveRaftVoterRequest,
    UpdateRaftVoterRequest,
    VoteRequest,
    VoteResponse,
)
from kraftwire_wire.message import Message

METADATA_TOPIC_ID = UUID(int=1)
PARTITION = 0

E = TypeVar("E")

_METADATA = (METADATA_TOPIC, METADATA_TOPIC_ID)


def vote_request(
    cluster_id: str | None,
    candidate: ReplicaKey,
    voter: ReplicaKey,
    epoch: int,
    log: UpToDate,
    *,
    pre_vote: bool = False,
) -> VoteRequest:
    """Ask a voter for its vote in an epoch, or, with `pre_vote`, whether it would give it."""
    partition = VoteRequest.PartitionData(
        partition_index=PARTITION,
        replica_epoch=epoch,
        replica_id=candidate.id,
        replica_directory_id=candidate.directory_id,
        voter_directory_id=voter.directory_id,
        last_offset_epoch=log.epoch,
        last_offset=log.offset,
        pre_vote=pre_vote,
    )
    topic = VoteRequest.TopicData(topic_name=METADATA_TOPIC, partitions=[partition])
    return VoteRequest(cluster_id=cluster_id, voter_id=voter.id, topics=[topic])


def begin_quorum_epoch_request(
    cluster_id: str | None,
    leader_id: int,
    voter: ReplicaKey,
    epoch: int,
    listeners: Iterable[Listener],
) -> BeginQuorumEpochRequest:
    """Tell a voter who leads an epoch, and where it listens."""
    partition = BeginQuorumEpochRequest.PartitionData(
        partition_index=PARTITION,
        voter_directory_id=voter.directory_id,
        leader_id=leader_id,
        leader_epoch=epoch,
    )
    topic = BeginQuorumEpochRequest.TopicData(topic_name=METADATA_TOPIC, partitions=[partition])
    return BeginQuorumEpochRequest(
        cluster_id=cluster_id,
        voter_id=voter.id,
        topics=[topic],
        leader_endpoints=endpoints(BeginQuorumEpochRequest.LeaderEndpoint, listeners),
    )


def end_quorum_epoch_request(
    cluster_id: str | None,
    leader_id: int,
    epoch: int,
    successors: Iterable[ReplicaKey],
    listeners: Iterable[Listener],
) -> EndQuorumEpochRequest:
    """Tell a voter that the leader of an epoch gives up, and who should be next, best first."""
    successors = list(successors)
    partition = EndQuorumEpochRequest.PartitionData(
        partition_index=PARTITION,
        leader_id=leader_id,
        leader_epoch=epoch,
        preferred_successors=[key.id for key in successors],
        preferred_candidates=[
            EndQuorumEpochRequest.ReplicaInfo(
                candidate_id=key.id, candidate_directory_id=key.directory_id
            )
            for key in successors
        ],
    )
    topic = EndQuorumEpochRequest.TopicData(topic_name=METADATA_TOPIC, partitions=[partition])
    return EndQuorumEpochRequest(
        cluster_id=cluster_id,
        topics=[topic],
        leader_endpoints=endpoints(EndQuorumEpochRequest.LeaderEndpoint, listeners),
    )


def fetch_request(
    cluster_id: str | None,
    replica: ReplicaKey,
    epoch: int,
    fetched: OffsetAndEpoch,
    high_watermark: int,
    *,
    max_wait_ms: int,
    max_bytes: int,
) -> FetchRequest:
    """Ask for the log behind what was fetched; `high_watermark` is what the replica knows."""
    partition = FetchRequest.FetchPartition(
        partition=PARTITION,
        current_leader_epoch=epoch,
        fetch_offset=fetched.offset,
        last_fetched_epoch=fetched.epoch,
        partition_max_bytes=max_bytes,
        replica_directory_id=replica.directory_id,
        high_watermark=high_watermark,
    )
    topic = FetchRequest.FetchTopic(topic_id=METADATA_TOPIC_ID, partitions=[partition])
    return FetchRequest(
        cluster_id=cluster_id,
        replica_state=FetchRequest.ReplicaState(replica_id=replica.id),
        max_wait_ms=max_wait_ms,
        max_bytes=max_bytes,
        topics=[topic],
    )


def fetch_snapshot_request(
    cluster_id: str | None,
    replica: ReplicaKey,
    epoch: int,
    snapshot: OffsetAndEpoch,
    position: int,
    *,
    max_bytes: int,
) -> FetchSnapshotRequest:
    """Ask for bytes of a snapshot from a position on."""
    partition = FetchSnapshotRequest.PartitionSnapshot(
        partition=PARTITION,
        current_leader_epoch=epoch,
        snapshot_id=FetchSnapshotRequest.SnapshotId(
            end_offset=snapshot.offset, epoch=snapshot.epoch
        ),
        position=position,
        replica_directory_id=replica.directory_id,
    )
    topic = FetchSnapshotRequest.TopicSnapshot(name=METADATA_TOPIC, partitions=[partition])
    return FetchSnapshotRequest(
        cluster_id=cluster_id, replica_id=replica.id, max_bytes=max_bytes, topics=[topic]
    )


def add_raft_voter_request(
    cluster_id: str | None, voter: Voter, *, timeout_ms: int, ack_when_committed: bool
) -> AddRaftVoterRequest:
    """Ask the leader to make a replica a voter."""
    return AddRaftVoterRequest(
        cluster_id=cluster_id,
        timeout_ms=timeout_ms,
        voter_id=voter.id,
        voter_directory_id=voter.key.directory_id,
        listeners=endpoints(AddRaftVoterRequest.Listener, voter.listeners),
        ack_when_committed=ack_when_committed,
    )


def remove_raft_voter_request(cluster_id: str | None, voter: ReplicaKey) -> RemoveRaftVoterRequest:
    """Ask the leader to make a voter an observer."""
    return RemoveRaftVoterRequest(
        cluster_id=cluster_id, voter_id=voter.id, voter_directory_id=voter.directory_id
    )


def update_raft_voter_request(
    cluster_id: str | None, epoch: int, voter: Voter
) -> UpdateRaftVoterRequest:
    """Tell the leader of an epoch where a voter listens, and which kraft.version it has."""
    return UpdateRaftVoterRequest(
        cluster_id=cluster_id,
        current_leader_epoch=epoch,
        voter_id=voter.id,
        voter_directory_id=voter.key.directory_id,
        listeners=endpoints(UpdateRaftVoterRequest.Listener, voter.listeners),
        kraft_version_feature=UpdateRaftVoterRequest.KRaftVersionFeature(
            min_supported_version=voter.min_kraft_version,
            max_supported_version=voter.max_kraft_version,
        ),
    )


def endpoints(kind: Callable[..., E], listeners: Iterable[Listener]) -> list[E]:
    """Where a replica listens, in the structs that a kind of message has for that."""
    return [kind(name=name, host=host, port=port) for name, host, port in listeners]


def listeners_in(told: Iterable[Any]) -> tuple[Listener, ...]:
    """Where a request says that a replica listens; names of listeners are in capitals."""
    return tuple(Listener(one.name.upper(), one.host, one.port) for one in told)


class _Place(NamedTuple):
    """Where a message has its topics, and how they and their partitions say which they are."""

    topics: str
    topic: str
    partition: str


_NAMED = _Place("topics", "topic_name", "partition_index")
_SNAPSHOTS = _Place("topics", "name", "partition")
_PLACES: dict[type[Message], _Place] = {
    **dict.fromkeys((VoteRequest, VoteResponse), _NAMED),
    **dict.fromkeys((BeginQuorumEpochRequest, BeginQuorumEpochResponse), _NAMED),
    **dict.fromkeys((EndQuorumEpochRequest, EndQuorumEpochResponse), _NAMED),
    **dict.fromkeys((DescribeQuorumRequest, DescribeQuorumResponse), _NAMED),
    FetchRequest: _Place("topics", "topic_id", "partition"),
    FetchResponse: _Place("responses", "topic_id", "partition_index"),
    FetchSnapshotRequest: _SNAPSHOTS,
    FetchSnapshotResponse: _SNAPSHOTS._replace(partition="index"),
}


def partition_of(message: Message) -> Any:
    """What a request or response says of the metadata; None where it is about anything else."""
    place = _PLACES[type(message)]
    topics = getattr(message, place.topics)
    if len(topics) != 1 or getattr(topics[0], place.topic) not in _METADATA:
        return None
    partitions = topics[0].partitions
    if len(partitions) != 1 or getattr(partitions[0], place.partition) != PARTITION:
        return None
    return partitions[0]
