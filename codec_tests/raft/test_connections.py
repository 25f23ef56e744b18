"""Requests in flight, timeouts and pauses."""

from __future__ import annotations

from kraftwire.raft.core.connections import Connections, InFlight, VoteQuery
from kraftwire.raft.state.voters import ReplicaKey

A, B = 1, 2
VOTE = VoteQuery(ReplicaKey(A))


def connections() -> Connections:
    return Connections(request_timeout_ms=2000, retry_backoff_ms=20)


def test_one_request_at_a_time_to_each_node() -> None:
    some = connections()
    assert some.ready([A, B], 0) == [A, B]
    number = some.send(A, 0, VOTE)
    assert some.ready([A, B], 0) == [B]
    assert not some.is_idle
    assert some.finish(number, 5) == InFlight(A, VOTE, 2000, None)
    assert some.is_idle
    assert some.ready([A, B], 5) == [A, B]


def test_a_failure_is_followed_by_a_pause() -> None:
    some = connections()
    assert some.finish(some.send(A, 0, VOTE), 5, failed=True)
    assert (some.is_ready(A, 24), some.is_ready(A, 25)) == (False, True)
    assert some.deadlines(5) == [25]
    assert some.deadlines(25) == []


def test_a_request_is_given_up_when_its_time_is_over() -> None:
    some = connections()
    number = some.send(A, 0, VOTE)
    assert some.deadlines(0) == [2000]
    assert some.expire(1999) == []
    assert some.expire(2000) == [InFlight(A, VOTE, 2000, None)]
    assert not some.is_ready(A, 2019)
    assert some.is_ready(A, 2020)
    assert some.finish(number, 2030) is None, "the response came too late"


def test_a_response_to_an_earlier_epoch_is_not_taken() -> None:
    some = connections()
    number = some.send(A, 0, None)
    some.forget()
    assert some.is_ready(A, 0)
    again = some.send(A, 0, VOTE)
    assert some.finish(number, 1) is None
    assert not some.is_ready(A, 1)
    answered = some.finish(again, 1)
    assert answered is not None
    assert answered.query == VOTE
