"""Whether a replica is ready to be a voter: what it supports, and how far it has fetched."""

from __future__ import annotations

import pytest

from kraftwire.raft.core.connections import VersionsQuery
from kraftwire.raft.core.inputs import Request, RequestFailed, Response, Tick
from kraftwire.raft.replication.leader_updates import Outcome
from kraftwire.raft.voter_set.change_server import handle_versions
from kraftwire_messages.kafka import ApiVersionsRequest, ApiVersionsResponse
from kraftwire_wire.numbers import ErrorCode

from codec_tests.raft.replicas import (
    LISTENER,
    THREE,
    VOTERS,
    ask,
    elected,
    fetched,
    lead,
    listeners_of,
    reply_in,
    sent,
)
from codec_tests.raft.voter_changes import (
    FIVE,
    FOUR,
    adding,
    answered,
    begun,
    error_of,
    removing,
    versions,
)


def test_a_new_voter_is_asked_on_its_default_listener() -> None:
    question = begun(elected())
    assert question.address.port == 9004
    message = question.message
    assert isinstance(message, ApiVersionsRequest)
    assert message.client_software_name == "kraftwire"


def test_a_new_voter_that_cannot_be_asked_yet_is_asked_as_soon_as_it_can_be() -> None:
    """Right behind its removal a replica may still be asked what voters are (disk loss)."""
    replica = elected()
    answered(replica, begun(replica), ApiVersionsResponse(error_code=35))
    again = Request("again", adding(), 1, LISTENER)
    assert not sent(replica.step(5000, again), ApiVersionsRequest)
    assert replica.next_deadline() == 5020
    (question,) = sent(replica.step(5020, Tick()), ApiVersionsRequest)
    answered(replica, question, versions())
    assert FOUR in replica.core.voters.keys


def test_a_new_voter_that_cannot_be_asked_in_time_is_refused() -> None:
    replica = elected()
    answered(replica, begun(replica), ApiVersionsResponse(error_code=35))
    replica.step(5000, Request("early", adding(), 1, LISTENER))
    (question,) = sent(replica.step(5020, Tick()), ApiVersionsRequest)
    early = replica.step(7000, Tick())
    assert error_of(reply_in(early, "early")) == ErrorCode.REQUEST_TIMED_OUT
    again = Request("late", adding(), 1, LISTENER)
    assert not sent(replica.step(7000, again), ApiVersionsRequest)
    late = replica.step(7010, Response(question.number, versions()))
    assert reply_in(late, "late") is None, "that was the answer to the question before"
    assert FOUR not in replica.core.voters.keys
    (question,) = sent(late, ApiVersionsRequest)
    answered(replica, question, versions())
    assert FOUR in replica.core.voters.keys


@pytest.mark.parametrize(
    ("response", "error"),
    [
        (ApiVersionsResponse(error_code=35), ErrorCode.REQUEST_TIMED_OUT),
        (ApiVersionsResponse(), ErrorCode.INVALID_REQUEST),
        (versions(name="metadata.version"), ErrorCode.INVALID_REQUEST),
        (versions(high=0), ErrorCode.INVALID_REQUEST),
        (versions(low=2, high=3), ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_new_voter_that_lacks_something_is_refused(
    response: ApiVersionsResponse, error: ErrorCode
) -> None:
    replica = elected()
    question = begun(replica)
    end = replica.core.log.end
    assert error_of(reply_in(answered(replica, question, response))) == error
    assert (replica.core.log.end, lead(replica).pending) == (end, None)


def test_a_new_voter_that_cannot_be_reached_is_refused() -> None:
    replica = elected()
    question = begun(replica)
    effects = replica.step(5000, RequestFailed(question.number))
    assert error_of(reply_in(effects)) == ErrorCode.REQUEST_TIMED_OUT


def test_a_new_voter_has_caught_up() -> None:
    replica = elected()
    question = begun(replica)
    lead(replica).progress.clear()
    effects = answered(replica, question, versions())
    assert error_of(reply_in(effects)) == ErrorCode.REQUEST_TIMED_OUT, "it never fetched"
    replica = elected()
    fetched(replica, FOUR, 0)
    message = adding()
    (question,) = sent(
        replica.step(5000, Request("asked", message, 1, LISTENER)), ApiVersionsRequest
    )
    effects = answered(replica, question, versions())
    assert error_of(reply_in(effects)) == ErrorCode.REQUEST_TIMED_OUT, "it has not reached the end"


@pytest.mark.parametrize(("age", "is_ready"), [(3_599_999, True), (3_600_000, False)])
def test_a_new_voter_has_fetched_within_the_hour(age: int, is_ready: bool) -> None:
    replica = elected()
    question = begun(replica)
    progress = lead(replica).progress[FOUR]
    replica.core.now = progress.last_fetch_ms + age
    lead(replica).check_quorum_deadline = replica.core.now + 1000
    pending = lead(replica).pending
    assert pending is not None
    pending.deadline = replica.core.now + 1000
    in_flight = replica.core.connections._in_flight
    in_flight[question.number] = in_flight[question.number]._replace(deadline=pending.deadline)
    answered(replica, question, versions())
    assert (FOUR in replica.core.voters.keys) == is_ready


def test_an_answer_that_comes_too_late_changes_nothing() -> None:
    replica = elected()
    question = begun(replica)
    effects = replica.step(7000, Tick())
    assert error_of(reply_in(effects)) == ErrorCode.REQUEST_TIMED_OUT
    answered(replica, question, versions())
    assert replica.core.voters.keys == VOTERS.keys


def test_an_answer_about_another_change_changes_nothing() -> None:
    replica = elected()
    other = VersionsQuery(FIVE)
    assert handle_versions(replica.core, other, versions()) is Outcome.NEWS, "nothing is pending"
    begun(replica)
    assert handle_versions(replica.core, other, versions()) is Outcome.NEWS, "another voter is"
    replica = elected()
    ask(replica, removing(THREE))
    same = VersionsQuery(THREE)
    assert handle_versions(replica.core, same, versions()) is Outcome.NEWS, "a removal is"
    replica = elected()
    answered(replica, begun(replica), versions())
    same = VersionsQuery(FOUR)
    assert handle_versions(replica.core, same, versions()) is Outcome.NEWS, "it is in the log"
    replica.core.become_follower(9, 2, listeners_of(2))
    assert handle_versions(replica.core, same, versions()) is Outcome.NEWS, "nobody leads"
