"""Responses that say how things stand: an error, the epoch, who leads it and where that listens.

What they say of the leader is what is known behind the change that the request has caused.
"""

from __future__ import annotations

from typing import TypeVar

from kraftwire.log.directory import METADATA_TOPIC
from kraftwire.raft.core import Core
from kraftwire.raft.effects import Reply
from kraftwire.raft.inputs import Request
from kraftwire.raft.messages import PARTITION
from kraftwire.raft.voters import Listener
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


def reply(core: Core, request: Request, message: Message) -> None:
    """Answer a request."""
    core.effects.append(Reply(request.token, message, request.version))


def refuse(core: Core, request: Request, kind: type[Response], error: ErrorCode) -> None:
    """Answer with an error about the request as a whole."""
    reply(core, request, kind(error_code=error))


def leader_listener(core: Core, request: Request) -> Listener | None:
    """Where the leader listens on the listener that a request came to; None where not known."""
    if core.leader_id is not None:
        for listener in core.leader_listeners:
            if listener.name == request.listener:
                return listener
    return None


def answer_vote(
    core: Core, request: Request, error: ErrorCode = ErrorCode.NONE, *, granted: bool = False
) -> None:
    """Answer a Vote about the partition."""
    partition = VoteResponse.PartitionData(
        partition_index=PARTITION,
        error_code=error,
        leader_id=_leader_of(core),
        leader_epoch=core.epoch,
        vote_granted=granted,
    )
    topic = VoteResponse.TopicData(topic_name=METADATA_TOPIC, partitions=[partition])
    _answer(core, request, VoteResponse(topics=[topic]))


def answer_begin(core: Core, request: Request, error: ErrorCode = ErrorCode.NONE) -> None:
    """Answer a BeginQuorumEpoch about the partition."""
    partition = BeginQuorumEpochResponse.PartitionData(
        partition_index=PARTITION,
        error_code=error,
        leader_id=_leader_of(core),
        leader_epoch=core.epoch,
    )
    topic = BeginQuorumEpochResponse.TopicData(topic_name=METADATA_TOPIC, partitions=[partition])
    _answer(core, request, BeginQuorumEpochResponse(topics=[topic]))


def answer_end(core: Core, request: Request, error: ErrorCode = ErrorCode.NONE) -> None:
    """Answer an EndQuorumEpoch about the partition."""
    partition = EndQuorumEpochResponse.PartitionData(
        partition_index=PARTITION,
        error_code=error,
        leader_id=_leader_of(core),
        leader_epoch=core.epoch,
    )
    topic = EndQuorumEpochResponse.TopicData(topic_name=METADATA_TOPIC, partitions=[partition])
    _answer(core, request, EndQuorumEpochResponse(topics=[topic]))


def _answer(core: Core, request: Request, response: R) -> None:
    listener = leader_listener(core, request)
    if listener is not None and request.version >= _FIRST_WITH_ENDPOINTS:
        response.node_endpoints = [
            type(response).NodeEndpoint(
                node_id=_leader_of(core), host=listener.host, port=listener.port
            )
        ]
    reply(core, request, response)


def _leader_of(core: Core) -> int:
    return NOBODY if core.leader_id is None else core.leader_id
