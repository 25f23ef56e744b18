"""Builds responses about the metadata partition: error, epoch, leader and its endpoint.

They describe the replica after the changes that the request has caused.
"""

from __future__ import annotations

from typing import Any, TypeVar

from kraftwire.log.directories.partition import METADATA_TOPIC
from kraftwire.raft.core.core import Core
from kraftwire.raft.core.effects import LogSlice, Reply, SnapshotSlice
from kraftwire.raft.core.inputs import Request
from kraftwire.raft.core.messages import PARTITION, partition_of
from kraftwire.raft.state.voters import Listener
from kraftwire_messages.kafka import BeginQuorumEpochResponse, EndQuorumEpochResponse, VoteResponse
from kraftwire_wire.message import Message
from kraftwire_wire.numbers import ErrorCode

NO_LEADER = -1
_FIRST_WITH_ENDPOINTS = 1

R = TypeVar("R", VoteResponse, BeginQuorumEpochResponse, EndQuorumEpochResponse)


def reply(
    core: Core, request: Request, message: Message, content: LogSlice | SnapshotSlice | None = None
) -> None:
    """Answer a request."""
    core.effects.append(Reply(request.token, message, request.version, content))


def refuse(core: Core, request: Request, kind: Any, error: ErrorCode) -> None:
    """Answer with an error about the request as a whole."""
    reply(core, request, kind(error_code=error))


def is_of_this_cluster(core: Core, cluster_id: str | None) -> bool:
    """Whether a request is for this cluster; it is if either end does not know its cluster id."""
    return None in (cluster_id, core.config.cluster_id) or cluster_id == core.config.cluster_id


def accept_partition(core: Core, request: Request, kind: Any) -> Any:
    """Return a request's struct for the metadata partition.

    Refuse a request for another cluster or another partition, and return None.
    """
    message: Any = request.message
    partition = partition_of(message)
    if not is_of_this_cluster(core, message.cluster_id):
        refuse(core, request, kind, ErrorCode.INCONSISTENT_CLUSTER_ID)
        return None
    if partition is None:
        refuse(core, request, kind, ErrorCode.INVALID_REQUEST)
    return partition


def leader_listener(core: Core, request: Request) -> Listener | None:
    """Return the leader's listener with the name of the one that received a request, if known."""
    if core.leader_id is not None:
        for listener in core.leader_listeners:
            if listener.name == request.listener:
                return listener
    return None


def answer(
    core: Core, request: Request, kind: type[R], error: ErrorCode = ErrorCode.NONE, **fields: Any
) -> None:
    """Answer a request with the error, epoch and leader of the partition.

    `fields` are those that only this kind of response has. They may also override the epoch and
    the leader.
    """
    known = {"leader_id": leader_of(core), "leader_epoch": core.epoch}
    partition = kind.PartitionData(partition_index=PARTITION, error_code=error, **known | fields)
    topic: Any = kind.TopicData(topic_name=METADATA_TOPIC, partitions=[partition])
    response = kind(topics=[topic])
    if partition.leader_id == leader_of(core):
        add_endpoint(core, request, response)
    reply(core, request, response)


def add_endpoint(
    core: Core, request: Request, response: Any, *, since: int = _FIRST_WITH_ENDPOINTS
) -> None:
    """Add the leader's endpoint, if that is known and the version has the field."""
    listener = leader_listener(core, request)
    if listener is not None and request.version >= since:
        endpoint = type(response).NodeEndpoint(
            node_id=leader_of(core), host=listener.host, port=listener.port
        )
        response.node_endpoints.append(endpoint)


def leader_of(core: Core) -> int:
    """Return the id of the leader for a response; -1 if it is unknown."""
    return NO_LEADER if core.leader_id is None else core.leader_id
