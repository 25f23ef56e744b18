"""Answers FetchSnapshot with a piece of a snapshot (KIP-630).

A voter that fetches a snapshot keeps the leader from resigning, but does not advance the high
watermark. The checks are in the order of Kafka's `KafkaRaftClient`. If Kafka cannot encode an error
and closes the connection, this leader answers with the error and no bytes.
"""

from __future__ import annotations

from kraftwire.log.directories.partition import METADATA_TOPIC
from kraftwire.raft.core.core import Core
from kraftwire.raft.core.effects import SnapshotSlice
from kraftwire.raft.core.inputs import Request
from kraftwire.raft.core.messages import PARTITION, partition_of
from kraftwire.raft.core.replies import add_endpoint, is_of_this_cluster, leader_of, refuse, reply
from kraftwire.raft.core.roles import Leader
from kraftwire.raft.election.leadership import note_heard
from kraftwire.raft.metadata_log.log_state import BOOTSTRAP, OffsetAndEpoch
from kraftwire.raft.replication.fetch_server import check_leader
from kraftwire.raft.state.voters import ReplicaKey
from kraftwire_messages.kafka import FetchSnapshotRequest, FetchSnapshotResponse
from kraftwire_wire.numbers import ErrorCode

_RequestPartition = FetchSnapshotRequest.PartitionSnapshot
_ResponsePartition = FetchSnapshotResponse.PartitionSnapshot


def handle_fetch_snapshot(core: Core, request: Request, message: FetchSnapshotRequest) -> None:
    """Answer with a piece of a snapshot, or with an error."""
    if not is_of_this_cluster(core, message.cluster_id):
        refuse(core, request, FetchSnapshotResponse, ErrorCode.INCONSISTENT_CLUSTER_ID)
    elif [len(topic.partitions) for topic in message.topics] != [1]:
        refuse(core, request, FetchSnapshotResponse, ErrorCode.INVALID_REQUEST)
    elif partition_of(message) is None:
        _refuse_partition(core, request, message)
    else:
        _answer(core, request, message, partition_of(message))


def _refuse_partition(core: Core, request: Request, message: FetchSnapshotRequest) -> None:
    asked = message.topics[0]
    partition = _ResponsePartition(
        index=asked.partitions[0].partition, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    )
    topic = FetchSnapshotResponse.TopicSnapshot(name=asked.name, partitions=[partition])
    reply(core, request, FetchSnapshotResponse(topics=[topic]))


def _answer(
    core: Core, request: Request, message: FetchSnapshotRequest, asked: _RequestPartition
) -> None:
    snapshot = OffsetAndEpoch(asked.snapshot_id.end_offset, asked.snapshot_id.epoch)
    size = core.log.size_of(snapshot) or 0
    error = _check(core, message.replica_id, asked, size)
    partition = _ResponsePartition(
        index=PARTITION,
        error_code=error,
        snapshot_id=FetchSnapshotResponse.SnapshotId(
            end_offset=snapshot.offset, epoch=snapshot.epoch
        ),
        current_leader=FetchSnapshotResponse.LeaderIdAndEpoch(
            leader_id=leader_of(core), leader_epoch=core.epoch
        ),
        size=size,
        position=asked.position,
    )
    content = None
    if error is ErrorCode.NONE:
        assert isinstance(core.role, Leader), "check_leader refuses otherwise"
        replica = ReplicaKey(message.replica_id, asked.replica_directory_id)
        note_heard(core, core.role, replica)
        max_bytes = max(1, min(message.max_bytes, core.config.fetch_snapshot_max_bytes))
        content = SnapshotSlice(snapshot, asked.position, max_bytes)
    topic = FetchSnapshotResponse.TopicSnapshot(name=METADATA_TOPIC, partitions=[partition])
    response = FetchSnapshotResponse(topics=[topic])
    add_endpoint(core, request, response)
    reply(core, request, response, content)


def _check(core: Core, replica_id: int, asked: _RequestPartition, size: int) -> ErrorCode:
    """Return the error for a piece of a snapshot; size 0 means that no such snapshot exists."""
    error = check_leader(core, asked.current_leader_epoch)
    if error is not ErrorCode.NONE:
        return error
    if replica_id == core.key.id:
        return ErrorCode.UNKNOWN_SERVER_ERROR
    if not size or asked.snapshot_id.end_offset == BOOTSTRAP.offset:
        return ErrorCode.SNAPSHOT_NOT_FOUND
    if not 0 <= asked.position < size:
        return ErrorCode.POSITION_OUT_OF_RANGE
    return ErrorCode.NONE
