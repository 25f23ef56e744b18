"""Requests in flight, timeouts and pauses."""

from __future__ import annotations

from kraftwire.raft.core.connections import Connections


def connections() -> Connections[str, str]:
    return Connections(request_timeout_ms=2000, retry_backoff_ms=20)


def test_one_request_at_a_time_to_each_node() -> None:
    some = connections()
    assert some.ready("ab", 0) == ["a", "b"]
    number = some.send("a", 0, "vote")
    assert some.ready("ab", 0) == ["b"]
    assert some.asked() == ["vote"]
    assert some.finish(number, 5) == "vote"
    assert some.is_idle
    assert some.ready("ab", 5) == ["a", "b"]


def test_a_failure_is_followed_by_a_pause() -> None:
    some = connections()
    assert some.finish(some.send("a", 0, "vote"), 5, failed=True) == "vote"
    assert (some.is_ready("a", 24), some.is_ready("a", 25)) == (False, True)
    assert some.deadlines(5) == [25]
    assert some.deadlines(25) == []


def test_a_request_is_given_up_when_its_time_is_over() -> None:
    some = connections()
    number = some.send("a", 0, "vote")
    assert some.deadlines(0) == [2000]
    assert some.expire(1999) == []
    assert some.expire(2000) == ["vote"]
    assert not some.is_ready("a", 2019)
    assert some.is_ready("a", 2020)
    assert some.finish(number, 2030) is None, "the response came too late"


def test_a_response_to_an_earlier_epoch_is_not_taken() -> None:
    some = connections()
    number = some.send("a", 0, "fetch")
    some.forget()
    assert some.is_ready("a", 0)
    again = some.send("a", 0, "vote")
    assert some.finish(number, 1) is None
    assert not some.is_ready("a", 1)
    assert some.finish(again, 1) == "vote"
