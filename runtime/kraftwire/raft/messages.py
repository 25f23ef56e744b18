"""The partition of the cluster's metadata within requests and responses.

The messages could be about many partitions, and for a quorum are about one: a request that is
about another, or about none, or about several, is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple
from uuid import UUID

from kraftwire.log.directory import METADATA_TOPIC
from kraftwire.raft.log_state import OffsetAndEpoch, UpToDate
from kraftwire.raft.voters import Listener, ReplicaKey
from kraftwire_messages.kafka import (
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
    VoteRequest,
    VoteResponse,
)
from kraftwire_wire.message import Message

METADATA_TOPIC_ID = UUID(int=1)
PARTITION = 0

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
        leader_endpoints=[
            BeginQuorumEpochRequest.LeaderEndpoint(name=name, host=host, port=port)
            for name, host, port in listeners
        ],
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
        leader_endpoints=[
            EndQuorumEpochRequest.LeaderEndpoint(name=name, host=host, port=port)
            for name, host, port in listeners
        ],
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
