"""Answers DescribeQuorum with the progress of all replicas (KIP-595, KIP-836, KIP-853).

This is also where the leader forgets observers that have not fetched for a while: no one else reads
their progress.
"""

from __future__ import annotations

from kraftwire.log.directories.partition import METADATA_TOPIC
from kraftwire.raft.core.core import Core
from kraftwire.raft.core.inputs import Request
from kraftwire.raft.core.messages import PARTITION, endpoints, partition_of
from kraftwire.raft.core.replies import reply
from kraftwire.raft.core.roles import Leader, Progress
from kraftwire.raft.state.voters import NO_DIRECTORY, ReplicaKey
from kraftwire_messages.kafka import DescribeQuorumRequest, DescribeQuorumResponse
from kraftwire_wire.numbers import ErrorCode

_UNKNOWN = -1
_FIRST_WITH_DIRECTORIES = 2


def handle_describe_quorum(core: Core, request: Request, message: DescribeQuorumRequest) -> None:
    """Report the leader, the voters and the observers, and where each log ends."""
    if partition_of(message) is None:
        _refuse_all(core, request, message)
        return
    partition = DescribeQuorumResponse.PartitionData(partition_index=PARTITION, error_message=None)
    response = DescribeQuorumResponse(error_message=None)
    topic = DescribeQuorumResponse.TopicData(topic_name=METADATA_TOPIC, partitions=[partition])
    response.topics.append(topic)
    if isinstance(core.role, Leader):
        _describe(core, core.role, request.version, partition)
        if request.version >= _FIRST_WITH_DIRECTORIES:
            response.nodes = _nodes(core)
    else:
        partition.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
        partition.error_message = "This replica is not the leader."
    reply(core, request, response)


def _refuse_all(core: Core, request: Request, message: DescribeQuorumRequest) -> None:
    response = DescribeQuorumResponse(error_message=None)
    for topic in message.topics:
        partitions = [
            DescribeQuorumResponse.PartitionData(
                partition_index=one.partition_index,
                error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                error_message="Only the metadata partition describes a quorum.",
            )
            for one in topic.partitions
        ]
        response.topics.append(
            DescribeQuorumResponse.TopicData(topic_name=topic.topic_name, partitions=partitions)
        )
    reply(core, request, response)


def _describe(
    core: Core, leader: Leader, version: int, partition: DescribeQuorumResponse.PartitionData
) -> None:
    _forget_observers(core, leader)
    voters = [voter.key for voter in core.voters]
    observers = sorted(leader.progress.keys() - core.voters.keys)
    partition.leader_id = core.key.id
    partition.leader_epoch = core.epoch
    known = leader.high_watermark
    partition.high_watermark = _UNKNOWN if known is None else known
    partition.current_voters = [_state(core, leader, version, key) for key in voters]
    partition.observers = [_state(core, leader, version, key) for key in observers]


def _forget_observers(core: Core, leader: Leader) -> None:
    last = core.now - core.config.observer_session_ms
    leader.progress = {
        key: progress
        for key, progress in leader.progress.items()
        if key in core.voters.keys or key.matches(core.key) or progress.last_fetch_ms > last
    }


def _state(
    core: Core, leader: Leader, version: int, key: ReplicaKey
) -> DescribeQuorumResponse.ReplicaState:
    """Return the progress of a replica; the leader itself is always caught up."""
    progress = leader.progress.get(key, Progress())
    if key.matches(core.key):  # a voter with its id on a lost disk is another replica
        progress = Progress(core.log.end, core.now, core.now)
    end = progress.end_offset
    has_directory = version >= _FIRST_WITH_DIRECTORIES
    return DescribeQuorumResponse.ReplicaState(
        replica_id=key.id,
        replica_directory_id=key.directory_id if has_directory else NO_DIRECTORY,
        log_end_offset=_UNKNOWN if end is None else end,
        last_fetch_timestamp=progress.last_fetch_ms,
        last_caught_up_timestamp=progress.last_caught_up_ms,
    )


def _nodes(core: Core) -> list[DescribeQuorumResponse.Node]:
    return [
        DescribeQuorumResponse.Node(
            node_id=voter.id, listeners=endpoints(DescribeQuorumResponse.Listener, voter.listeners)
        )
        for voter in core.voters
    ]
