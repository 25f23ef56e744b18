"""AddRaftVoter and RemoveRaftVoter: what is refused, when a change is in force, who is told."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from kraftwire.raft.core.effects import Append, Flush, Leading, Reply, StoppedLeading
from kraftwire.raft.core.inputs import Request, Resign, Tick
from kraftwire.raft.core.messages import vote_request
from kraftwire.raft.core.roles import Follower
from kraftwire.raft.metadata_log.log_state import UpToDate
from kraftwire.raft.state.voters import Listener, ReplicaKey, Voter
from kraftwire_messages.kafka import AddRaftVoterRequest
from kraftwire_wire.numbers import ErrorCode

from codec_tests.raft.replicas import (
    CLUSTER,
    LISTENER,
    ME,
    THREE,
    TWO,
    VOTERS,
    ask,
    elected,
    fetched,
    lead,
    listeners_of,
    reply_in,
)
from codec_tests.raft.voter_changes import (
    ALONE,
    FIVE,
    FOUR,
    adding,
    answered,
    begun,
    error_of,
    flushed,
    removing,
    versions,
)

# -- refused ----------------------------------------------------------------------------------


def test_another_cluster_is_refused_first() -> None:
    replica = elected()
    replica.step(5000, Resign())
    for message in (adding(), removing(TWO)):
        message.cluster_id = "other"
        assert error_of(ask(replica, message)) == ErrorCode.INCONSISTENT_CLUSTER_ID


@pytest.mark.parametrize("message", [adding(ReplicaKey(-1)), removing(ReplicaKey(-1))])
def test_only_a_leader_looks_at_what_is_asked(message: Any) -> None:
    replica = elected()
    replica.step(5000, Resign())
    assert error_of(ask(replica, message)) == ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize("key", [ReplicaKey(-1, UUID(int=4)), ReplicaKey(4)])
def test_a_voter_is_named_by_id_and_directory(key: ReplicaKey) -> None:
    replica = elected()
    lead(replica).high_watermark = None
    for message in (adding(key), removing(key)):
        assert error_of(ask(replica, message)) == ErrorCode.INVALID_REQUEST
    response = ask(replica, removing(ReplicaKey(0, UUID(int=4))))
    assert error_of(response) == ErrorCode.REQUEST_TIMED_OUT


def test_a_voter_listens_where_replicas_speak() -> None:
    replica = elected()
    lead(replica).high_watermark = None
    message = adding()
    message.listeners[0].name = "OTHER"
    assert error_of(ask(replica, message)) == ErrorCode.INVALID_REQUEST
    message.listeners[0].name = LISTENER.lower()
    assert error_of(ask(replica, message)) == ErrorCode.REQUEST_TIMED_OUT


def test_one_change_at_a_time() -> None:
    replica = elected()
    begun(replica)
    for message in (adding(FIVE), removing(TWO)):
        assert error_of(ask(replica, message)) == ErrorCode.REQUEST_TIMED_OUT


def test_a_new_leader_that_has_committed_nothing_changes_nothing() -> None:
    replica = elected(kraft_version=0)
    lead(replica).high_watermark = None
    for message in (adding(), removing(TWO)):
        assert error_of(ask(replica, message)) == ErrorCode.REQUEST_TIMED_OUT


def test_voters_do_not_change_under_kraft_version_0() -> None:
    replica = elected(kraft_version=0)
    for message in (adding(TWO), removing(FOUR)):
        assert error_of(ask(replica, message)) == ErrorCode.UNSUPPORTED_VERSION


def test_a_change_that_is_not_committed_is_waited_for() -> None:
    replica = elected()
    ask(replica, removing(THREE))
    replica.step(replica.core.now + 2000, Tick())
    assert lead(replica).pending is None, "that took too long"
    for message in (adding(TWO), removing(FOUR)):
        assert error_of(ask(replica, message)) == ErrorCode.REQUEST_TIMED_OUT


def test_an_id_is_there_once() -> None:
    replica = elected()
    other_disk = ReplicaKey(2, UUID(int=99))
    assert error_of(ask(replica, adding(other_disk))) == ErrorCode.DUPLICATE_VOTER


def test_only_a_voter_with_that_directory_is_removed_and_not_the_last() -> None:
    replica = elected()
    for key in (FOUR, ReplicaKey(2, UUID(int=99))):
        assert error_of(ask(replica, removing(key))) == ErrorCode.VOTER_NOT_FOUND
    assert error_of(ask(elected(voters=ALONE), removing(ME))) == ErrorCode.VOTER_NOT_FOUND


# -- in force ---------------------------------------------------------------------------------


def test_an_added_voter_is_in_force_at_once_and_answered_when_committed() -> None:
    replica = elected()
    effects = answered(replica, begun(replica), versions())
    added = replica.core.voters.find(FOUR)
    assert added == Voter(FOUR, listeners_of(4), 0, 1)
    kinds = [type(effect) for effect in effects]
    assert kinds.index(Append) < kinds.index(Flush)
    assert reply_in(effects) is None
    assert reply_in(flushed(replica)) is None
    assert reply_in(fetched(replica, TWO)) is None, "two of four are no majority"
    assert error_of(reply_in(fetched(replica, FOUR))) == ErrorCode.NONE
    assert lead(replica).pending is None


def test_who_does_not_wait_for_the_commit_is_answered_behind_the_append() -> None:
    replica = elected()
    question = begun(replica, adding(ack_when_committed=False))
    effects = answered(replica, question, versions())
    assert error_of(reply_in(effects)) == ErrorCode.NONE
    replies = [
        effect for effect in effects if isinstance(effect, Reply) and effect.token == "asked"
    ]
    flush = next(effect for effect in effects if isinstance(effect, Flush))
    assert effects.index(flush) < effects.index(replies[0])
    assert error_of(ask(replica, removing(TWO))) == ErrorCode.REQUEST_TIMED_OUT, "it is pending"
    flushed(replica)
    fetched(replica, TWO)
    assert reply_in(fetched(replica, FOUR)) is None, "it is answered once"
    assert lead(replica).pending is None


def test_what_the_leader_knows_of_an_observer_it_knows_of_the_voter() -> None:
    replica = elected()
    question = begun(replica)
    end = replica.core.log.end
    answered(replica, question, versions())
    assert lead(replica).progress[FOUR].end_offset == end


def test_a_removed_voter_is_an_observer_at_once() -> None:
    replica = elected()
    assert ask(replica, removing(THREE)) is None
    assert replica.core.voters.keys == {ME, TWO}
    assert THREE in lead(replica).progress
    flushed(replica)
    assert reply_in(fetched(replica, THREE)) is None, "it is not counted"
    assert error_of(reply_in(fetched(replica, TWO))) == ErrorCode.NONE


def test_a_change_that_takes_too_long_stands_and_is_answered_so() -> None:
    replica = elected()
    ask(replica, removing(THREE))
    flushed(replica)
    assert reply_in(replica.step(6999, Tick())) is None
    assert replica.next_deadline() == 7000
    response = reply_in(replica.step(7000, Tick()))
    assert error_of(response) == ErrorCode.REQUEST_TIMED_OUT
    assert reply_in(fetched(replica, TWO)) is None
    assert replica.core.voters.keys == {ME, TWO}
    assert error_of(ask(replica, removing(THREE))) == ErrorCode.VOTER_NOT_FOUND


def test_a_request_that_comes_when_the_pending_one_is_over_is_looked_at() -> None:
    replica = elected()
    begun(replica)
    effects = replica.step(7000, Request("next", removing(THREE), 0, LISTENER))
    assert error_of(reply_in(effects)) == ErrorCode.REQUEST_TIMED_OUT
    assert reply_in(effects, "next") is None
    assert replica.core.voters.keys == {ME, TWO}


@pytest.mark.parametrize("is_appended", [False, True])
def test_with_the_leadership_the_request_is_lost(is_appended: bool) -> None:
    replica = elected()
    question = begun(replica)
    if is_appended:
        answered(replica, question, versions())
    vote = vote_request(CLUSTER, TWO, ME, 9, UpToDate(8, 0))
    effects = replica.step(5000, Request("vote", vote, 2, LISTENER))
    assert error_of(reply_in(effects)) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert StoppedLeading(4) in effects
    assert answered(replica, question, versions()) == []


def test_what_is_truncated_is_in_force_no_more() -> None:
    replica = elected()
    core = replica.core
    end = core.log.end
    answered(replica, begun(replica), versions())
    core.become_follower(9, 2, listeners_of(2))
    core.truncate(end)
    assert core.voters.keys == VOTERS.keys


# -- followers --------------------------------------------------------------------------------


def test_leading_is_told_once_for_each_epoch() -> None:
    replica = elected()
    effects = replica.step(5000, Resign())
    assert [type(one) for one in effects if isinstance(one, Leading | StoppedLeading)] == [
        StoppedLeading
    ]


def test_listeners_of_a_voter_may_be_many() -> None:
    replica = elected()
    message = adding()
    message.listeners.append(AddRaftVoterRequest.Listener(name="B", host="b", port=1))
    question = begun(replica, message)
    answered(replica, question, versions())
    added = replica.core.voters.find(FOUR)
    assert added is not None
    assert added.listeners == (*listeners_of(4), Listener("B", "b", 1))


def test_a_change_of_a_follower_is_none() -> None:
    replica = elected()
    replica.core.become_follower(9, 2, listeners_of(2))
    assert isinstance(replica.core.role, Follower)
    assert error_of(ask(replica, removing(TWO))) == ErrorCode.NOT_LEADER_OR_FOLLOWER
