"""Builds the requests that a replica sends, and finds the metadata partition in messages.

The protocol allows many partitions, but a quorum has one. Replicas refuse a request about another
partition, about none or about several.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from kraftwire.log.directories.partition import METADATA_TOPIC
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
    """Ask a voter for its vote in an epoch; with `pre_vote`, ask whether it would grant it."""
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
    """Announce the leader of an epoch, and where it listens, to a voter."""
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
    successors: Sequence[ReplicaKey],
    listeners: Iterable[Listener],
) -> EndQuorumEpochRequest:
    """Announce that the leader of an epoch resigns, and who should be next, best first."""
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
    """Ask for the log after `fetched`; `high_watermark` is the one that the replica knows."""
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
    """Ask for the bytes of a snapshot from a position on."""
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
    """Report to the leader where a voter listens, and which kraft.version it supports."""
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
    """Return listeners as the structs that a message has for them."""
    return [kind(name=name, host=host, port=port) for name, host, port in listeners]


def listeners_in(structs: Iterable[Any]) -> tuple[Listener, ...]:
    """Return the listeners that a request announces; their names are upper case in Kafka."""
    return tuple(Listener(one.name.upper(), one.host, one.port) for one in structs)


class _PartitionFields(NamedTuple):
    """The names of a message's fields for the topics, a topic's name or id, a partition's index."""

    topics: str
    topic: str
    partition: str


_ELECTIONS = _PartitionFields("topics", "topic_name", "partition_index")
_SNAPSHOTS = _PartitionFields("topics", "name", "partition")
_FIELDS: dict[type[Message], _PartitionFields] = {
    **dict.fromkeys((VoteRequest, VoteResponse), _ELECTIONS),
    **dict.fromkeys((BeginQuorumEpochRequest, BeginQuorumEpochResponse), _ELECTIONS),
    **dict.fromkeys((EndQuorumEpochRequest, EndQuorumEpochResponse), _ELECTIONS),
    **dict.fromkeys((DescribeQuorumRequest, DescribeQuorumResponse), _ELECTIONS),
    FetchRequest: _PartitionFields("topics", "topic_id", "partition"),
    FetchResponse: _PartitionFields("responses", "topic_id", "partition_index"),
    FetchSnapshotRequest: _SNAPSHOTS,
    FetchSnapshotResponse: _SNAPSHOTS._replace(partition="index"),
}


def partition_of(message: Message) -> Any:
    """Return a message's struct for the metadata partition; None if it is about anything else."""
    fields = _FIELDS[type(message)]
    topics = getattr(message, fields.topics)
    if len(topics) != 1 or getattr(topics[0], fields.topic) not in _METADATA:
        return None
    partitions = topics[0].partitions
    if len(partitions) != 1 or getattr(partitions[0], fields.partition) != PARTITION:
        return None
    return partitions[0]
