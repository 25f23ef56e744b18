"""Requests and steps that the tests of voter changes share."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from kraftwire.raft.core import messages
from kraftwire.raft.core.effects import Append, Effect, Send
from kraftwire.raft.core.inputs import Flushed, Request, Response
from kraftwire.raft.metadata_log.batches import controls_of
from kraftwire.raft.replica import Replica
from kraftwire.raft.state.election_state import Election
from kraftwire.raft.state.voters import ReplicaKey, Voter, VoterSet, decode_voters
from kraftwire_messages import kafka
from kraftwire_wire.message import Message

from codec_tests.raft.replicas import (
    CLUSTER,
    LISTENER,
    ME,
    THREE,
    TWO,
    VOTERS,
    ask,
    fetched,
    listeners_of,
    replica_of,
    reply_in,
    sent,
    win,
)

FOUR, FIVE = (ReplicaKey(number, UUID(int=number)) for number in (4, 5))
TWO_ALONE = VOTERS.removing(THREE)
ALONE = TWO_ALONE.removing(TWO)


def adding(key: ReplicaKey = FOUR, *, ack_when_committed: bool = True) -> kafka.AddRaftVoterRequest:
    return messages.add_raft_voter_request(
        CLUSTER,
        Voter(key, listeners_of(key.id)),
        timeout_ms=0,
        ack_when_committed=ack_when_committed,
    )


def removing(key: ReplicaKey) -> kafka.RemoveRaftVoterRequest:
    return messages.remove_raft_voter_request(CLUSTER, key)


def versions(low: int = 0, high: int = 1, name: str = "kraft.version") -> kafka.ApiVersionsResponse:
    feature = kafka.ApiVersionsResponse.SupportedFeatureKey(
        name=name, min_version=low, max_version=high
    )
    return kafka.ApiVersionsResponse(supported_features=[feature])


def begun(replica: Replica, message: kafka.AddRaftVoterRequest | None = None) -> Send:
    """Begin to add replica 4, which has caught up; the question whether it is ready."""
    fetched(replica, FOUR)
    request = Request("asked", message or adding(), 1, LISTENER)
    effects = replica.step(replica.core.now, request)
    assert reply_in(effects) is None
    (question,) = sent(effects, kafka.ApiVersionsRequest)
    return question


def answered(replica: Replica, question: Send, response: kafka.ApiVersionsResponse) -> Any:
    return replica.step(replica.core.now, Response(question.number, response))


def flushed(replica: Replica) -> Any:
    return replica.step(replica.core.now, Flushed(replica.core.log.end))


def error_of(response: Any) -> int:
    assert (response.error_message is None) == (response.error_code == 0)
    return int(response.error_code)


OTHER_DISK = ReplicaKey(2, UUID(int=99))


def error_now(replica: Replica, message: Message) -> int | None:
    """The error of an immediate answer; None if the request waits."""
    response = ask(replica, message)
    return None if response is None else int(response.error_code)


def error_in(effects: list[Effect]) -> int | None:
    response = reply_in(effects)
    return None if response is None else int(response.error_code)


def newly_elected() -> Replica:
    """A leader whose LeaderChangeMessage nobody has fetched."""
    replica = replica_of(Election(3))
    win(replica.core, TWO)
    flushed(replica)
    return replica


def adding_now(replica: Replica) -> list[Effect]:
    """Add replica 4, up to the record that says so."""
    return list(answered(replica, begun(replica), versions()))


def removing_now(replica: Replica, key: ReplicaKey) -> list[Effect]:
    """Remove a voter, up to the record that says so."""
    return replica.step(replica.core.now, Request("asked", removing(key), 0, LISTENER))


def voters_written(effects: list[Effect]) -> VoterSet:
    """The set that the one batch among effects says, by its one record."""
    (append,) = [one for one in effects if isinstance(one, Append)]
    ((_, control),) = controls_of(append.batch, kafka.registry)
    assert isinstance(control.message, kafka.VotersRecord)
    return decode_voters(control.message)


def begins(effects: list[Effect]) -> list[int]:
    """Where voters were told that the epoch has begun."""
    return [one.address.port for one in sent(effects, kafka.BeginQuorumEpochRequest)]


def begin_request(voter: ReplicaKey = ME) -> kafka.BeginQuorumEpochRequest:
    return messages.begin_quorum_epoch_request(CLUSTER, 2, voter, 4, listeners_of(2))


def end_request() -> kafka.EndQuorumEpochRequest:
    return messages.end_quorum_epoch_request(CLUSTER, 2, 3, [THREE], ())
