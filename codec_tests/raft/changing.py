"""Steps that the tests of voter changes share."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from kraftwire.raft.core.effects import Send
from kraftwire.raft.core.inputs import Flushed, Request, Response
from kraftwire.raft.core.messages import add_raft_voter_request, remove_raft_voter_request
from kraftwire.raft.replica import Replica
from kraftwire.raft.state.voters import ReplicaKey, Voter
from kraftwire_messages.kafka import (
    AddRaftVoterRequest,
    ApiVersionsRequest,
    ApiVersionsResponse,
    RemoveRaftVoterRequest,
)

from codec_tests.raft.replicas import (
    CLUSTER,
    LISTENER,
    THREE,
    TWO,
    VOTERS,
    fetched,
    listeners_of,
    reply_in,
    sent,
)

FOUR, FIVE = (ReplicaKey(number, UUID(int=number)) for number in (4, 5))
TWO_ALONE = VOTERS.removing(THREE)
ALONE = TWO_ALONE.removing(TWO)


def adding(key: ReplicaKey = FOUR, *, ack_when_committed: bool = True) -> AddRaftVoterRequest:
    return add_raft_voter_request(
        CLUSTER,
        Voter(key, listeners_of(key.id)),
        timeout_ms=0,
        ack_when_committed=ack_when_committed,
    )


def removing(key: ReplicaKey) -> RemoveRaftVoterRequest:
    return remove_raft_voter_request(CLUSTER, key)


def versions(low: int = 0, high: int = 1, name: str = "kraft.version") -> ApiVersionsResponse:
    feature = ApiVersionsResponse.SupportedFeatureKey(name=name, min_version=low, max_version=high)
    return ApiVersionsResponse(supported_features=[feature])


def begun(replica: Replica, message: AddRaftVoterRequest | None = None) -> Send:
    """Begin to add replica 4, which has caught up; the question whether it is ready."""
    fetched(replica, FOUR)
    request = Request("asked", message or adding(), 1, LISTENER)
    effects = replica.step(replica.core.now, request)
    assert reply_in(effects) is None
    (question,) = sent(effects, ApiVersionsRequest)
    return question


def answered(replica: Replica, question: Send, response: ApiVersionsResponse) -> Any:
    return replica.step(replica.core.now, Response(question.number, response))


def flushed(replica: Replica) -> Any:
    return replica.step(replica.core.now, Flushed(replica.core.log.end))


def error_of(response: Any) -> int:
    assert (response.error_message is None) == (response.error_code == 0)
    return int(response.error_code)
