"""Responses that say how things stand: an error, the epoch, who leads it and where that listens.

What they say of the leader is what is known behind the change that the request has caused.
"""

from __future__ import annotations

from typing import Any, TypeVar

from kraftwire.log.directory import METADATA_TOPIC
from kraftwire.raft.core.core import Core
from kraftwire.raft.core.effects import LogSlice, Reply, SnapshotSlice
from kraftwire.raft.core.inputs import Request
from kraftwire.raft.core.messages import PARTITION
from kraftwire.raft.state.voters import Listener
from kraftwire_messages.kafka import (
    BeginQuorumEpochResponse,
    EndQuorumEpochResponse,
    VoteResponse,
)
from kraftwire_wire.message import Message
from kraftwire_wire.numbers import ErrorCode

NOBODY = -1
_FIRST_WITH_ENDPOINTS = 1

Response = VoteResponse | BeginQuorumEpochResponse | EndQuorumEpochResponse
R = TypeVar("R", VoteResponse, BeginQuorumEpochResponse, EndQuorumEpochResponse)


def reply(
    core: Core,
    request: Request,
    message: Message,
    content: LogSlice | SnapshotSlice | None = None,
) -> None:
    """Answer a request."""
    core.effects.append(Reply(request.token, message, request.version, content))


def refuse(core: Core, request: Request, kind: type[Response], error: ErrorCode) -> None:
    """Answer with an error about the request as a whole."""
    reply(core, request, kind(error_code=error))


def is_of_this_cluster(core: Core, cluster_id: str | None) -> bool:
    """Whether a request is meant for this cluster, as far as either end knows."""
    return None in (cluster_id, core.config.cluster_id) or cluster_id == core.config.cluster_id


def leader_listener(core: Core, request: Request) -> Listener | None:
    """Where the leader listens on the listener that a request came to; None where not known."""
    if core.leader_id is not None:
        for listener in core.leader_listeners:
            if listener.name == request.listener:
                return listener
    return None


def answer(
    core: Core,
    request: Request,
    kind: type[R],
    error: ErrorCode = ErrorCode.NONE,
    **more: Any,
) -> None:
    """Answer about the partition; `more` are fields that only this kind of response has.

    They may also name another epoch and leader than those that this replica knows.
    """
    known = {"leader_id": leader_of(core), "leader_epoch": core.epoch}
    partition = kind.PartitionData(partition_index=PARTITION, error_code=error, **known | more)
    topic: Any = kind.TopicData(topic_name=METADATA_TOPIC, partitions=[partition])
    response = kind(topics=[topic])
    if partition.leader_id == leader_of(core):
        tell_endpoint(core, request, response)
    reply(core, request, response)


def tell_endpoint(
    core: Core, request: Request, response: Any, *, since: int = _FIRST_WITH_ENDPOINTS
) -> None:
    """Say where the leader listens, where that is known and the version has room for it."""
    listener = leader_listener(core, request)
    if listener is not None and request.version >= since:
        endpoint = type(response).NodeEndpoint(
            node_id=leader_of(core), host=listener.host, port=listener.port
        )
        response.node_endpoints.append(endpoint)


def leader_of(core: Core) -> int:
    """The id of the leader as responses have it."""
    return NOBODY if core.leader_id is None else core.leader_id
