"""Steps that the tests of voter changes under KIP-856 share."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from kraftwire.raft.core.effects import Effect
from kraftwire.raft.core.inputs import Request, Response
from kraftwire.raft.core.messages import add_raft_voter_request, remove_raft_voter_request
from kraftwire.raft.replica import Replica
from kraftwire.raft.state.voters import ReplicaKey, Voter
from kraftwire_messages import kafka

from codec_tests.raft.configured import NEW_DISK, flushed, unnamed
from codec_tests.raft.replicas import CLUSTER, LISTENER, THREE, TWO, ask, fetched, sent

UNLISTED = ReplicaKey(4, UUID(int=4))


def adding(key: ReplicaKey = NEW_DISK) -> kafka.AddRaftVoterRequest:
    return add_raft_voter_request(CLUSTER, Voter(key), timeout_ms=0, ack_when_committed=True)


def removing(key: ReplicaKey = THREE) -> kafka.RemoveRaftVoterRequest:
    return remove_raft_voter_request(CLUSTER, key)


def asked(replica: Replica, message: Any, token: object = "asked") -> list[Effect]:
    """Ask for a change of a leader that waits for no other answer."""
    replica.core.connections.forget()
    version = message.VALID_VERSIONS[-1]
    return replica.step(replica.core.now, Request(token, message, version, LISTENER))


def supported() -> kafka.ApiVersionsResponse:
    """What a replica of ours answers that is asked what it supports."""
    response = ask(unnamed(), kafka.ApiVersionsRequest(), 4)
    assert isinstance(response, kafka.ApiVersionsResponse)
    return response


def answered(replica: Replica, effects: list[Effect]) -> list[Effect]:
    """Let new voters answer what they were asked; what the leader does then."""
    questions = sent(effects, kafka.ApiVersionsRequest)
    answers = [Response(one.number, supported()) for one in questions]
    return [effect for one in answers for effect in replica.step(replica.core.now, one)]


def wished(replica: Replica, message: Any, token: object = "asked") -> list[Effect]:
    """Ask for a change, and let a new voter answer what it supports."""
    effects = asked(replica, message, token)
    return effects + answered(replica, effects)


def added(replica: Replica) -> None:
    """Make the new disk of 3 a voter, and let all have that."""
    fetched(replica, NEW_DISK)
    wished(replica, adding())
    flushed(replica)
    for key in (TWO, NEW_DISK):
        fetched(replica, key)
    assert replica.core.control.voters.is_committed(replica.core.committed)
