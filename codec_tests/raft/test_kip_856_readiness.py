"""Under KIP-856 a replica is asked what it supports before it becomes a voter."""

from __future__ import annotations

from uuid import UUID

import pytest

from kraftwire.raft.core.inputs import Request, RequestFailed, Response, Tick
from kraftwire.raft.state.voters import ReplicaKey
from kraftwire_messages.kafka import AddRaftVoterRequest, ApiVersionsRequest
from kraftwire_wire.numbers import ApiKey, ErrorCode

from codec_tests.raft.configured import NEW_DISK, POLICY, flushed, named, said
from codec_tests.raft.configured_changes import (
    added,
    adding,
    answered,
    asked,
    removing,
    supported,
    wished,
)
from codec_tests.raft.replicas import LISTENER, ME, THREE, TWO, fetched, lead, reply_in, sent
from codec_tests.raft.voter_changes import error_of


def test_a_new_voter_is_asked_what_it_supports_where_the_configuration_says_that_it_listens() -> (
    None
):
    replica = named()
    fetched(replica, NEW_DISK)
    effects = asked(replica, adding())
    (question,) = sent(effects, ApiVersionsRequest)
    assert question.address.port == 9003
    assert said(effects) == [], "it is not added before it has answered"
    assert len(said(answered(replica, effects))) == 1


def test_a_new_voter_is_asked_while_it_catches_up() -> None:
    replica = named()
    fetched(replica, NEW_DISK, 0)
    effects = asked(replica, adding())
    assert said(answered(replica, effects)) == []
    assert len(said(fetched(replica, NEW_DISK))) == 1


def test_a_voter_that_is_removed_is_not_asked() -> None:
    replica = named()
    added(replica)
    assert sent(asked(replica, removing()), ApiVersionsRequest) == []


@pytest.mark.parametrize("lacks", [ApiKey.FETCH, ApiKey.VOTE, ApiKey.ADD_RAFT_VOTER])
@pytest.mark.parametrize("is_older", [True, False])
def test_a_new_voter_without_the_requests_that_have_directories_is_refused(
    lacks: ApiKey, is_older: bool
) -> None:
    replica = named()
    fetched(replica, NEW_DISK)
    (question,) = sent(asked(replica, adding()), ApiVersionsRequest)
    response = supported()
    (api,) = (one for one in response.api_keys if one.api_key == lacks)
    api.max_version = POLICY.needed_apis[lacks] - 1
    if not is_older:
        response.api_keys.remove(api)
    effects = replica.step(replica.core.now, Response(question.number, response))
    assert said(effects) == []
    refused = reply_in(effects)
    assert error_of(refused) == ErrorCode.INVALID_REQUEST
    assert lacks.name in refused.error_message


def test_a_new_voter_without_the_kraft_version_is_refused() -> None:
    replica = named()
    fetched(replica, NEW_DISK)
    (question,) = sent(asked(replica, adding()), ApiVersionsRequest)
    response = supported()
    response.supported_features[0].max_version = 0
    effects = replica.step(replica.core.now, Response(question.number, response))
    assert error_of(reply_in(effects)) == ErrorCode.INVALID_REQUEST


def test_a_new_voter_that_does_not_answer_is_asked_again_and_refused_in_the_end() -> None:
    replica = named()
    core = replica.core
    fetched(replica, NEW_DISK)
    effects = asked(replica, adding())
    deadline = core.now + core.config.request_timeout_ms
    lead(replica).check_quorum_deadline = deadline + 1000
    for _ in range(3):
        (question,) = sent(effects, ApiVersionsRequest)
        effects = replica.step(core.now, RequestFailed(question.number))
        assert (reply_in(effects), sent(effects, ApiVersionsRequest)) == (None, [])
        effects = replica.step(core.now + core.config.retry_backoff_ms, Tick())
    refused = reply_in(replica.step(deadline, Tick()))
    assert error_of(refused) == ErrorCode.REQUEST_TIMED_OUT
    assert "does not answer" in refused.error_message
    assert answered(replica, effects) == [], "that comes too late"
    assert core.voters.keys == {ME, TWO, THREE}


def test_a_new_voter_that_does_not_answer_keeps_no_other_change_waiting() -> None:
    replica = named()
    fetched(replica, NEW_DISK)
    asked(replica, adding(), "silent")
    other = ReplicaKey(2, UUID(int=22))
    fetched(replica, other)
    assert len(said(wished(replica, adding(other)))) == 1


def test_each_of_two_wishes_for_a_new_voter_is_answered() -> None:
    replica = named()
    fetched(replica, NEW_DISK)
    first = asked(replica, adding(), "first")
    again = Request("second", adding(), AddRaftVoterRequest.VALID_VERSIONS[-1], LISTENER)
    second = replica.step(replica.core.now, again)
    assert sent(second, ApiVersionsRequest) == [], "it is asked one thing at a time"
    effects = answered(replica, first)
    assert len(said(effects)) == 1
    effects += answered(replica, effects) + flushed(replica)
    effects += fetched(replica, TWO) + fetched(replica, NEW_DISK)
    assert error_of(reply_in(effects, "first")) == ErrorCode.NONE
    assert error_of(reply_in(effects, "second")) == ErrorCode.DUPLICATE_VOTER
