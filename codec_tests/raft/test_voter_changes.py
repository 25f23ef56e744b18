"""AddRaftVoter and RemoveRaftVoter: what is refused, when a change is in force, who is told."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from kraftwire.raft.effects import Append, Flush, Leading, Reply, Send, StoppedLeading
from kraftwire.raft.inputs import Flushed, Request, RequestFailed, Resign, Response, Tick
from kraftwire.raft.leading import note_heard
from kraftwire.raft.log_state import OffsetAndEpoch, UpToDate
from kraftwire.raft.messages import (
    add_raft_voter_request,
    fetch_request,
    partition_of,
    remove_raft_voter_request,
    vote_request,
)
from kraftwire.raft.readiness import AskedVersions
from kraftwire.raft.replica import Replica
from kraftwire.raft.responses import Outcome
from kraftwire.raft.roles import Follower, Leader, Resigned, Unattached
from kraftwire.raft.voter_changes import take_versions
from kraftwire.raft.voters import Listener, ReplicaKey, Voter
from kraftwire_messages.kafka import (
    AddRaftVoterRequest,
    ApiVersionsRequest,
    ApiVersionsResponse,
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    RemoveRaftVoterRequest,
)
from kraftwire_wire.numbers import ErrorCode

from raft.replicas import (
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


# -- readiness --------------------------------------------------------------------------------


def test_a_new_voter_is_asked_on_its_default_listener() -> None:
    question = begun(elected())
    assert question.address.port == 9004
    message = question.message
    assert isinstance(message, ApiVersionsRequest)
    assert message.client_software_name == "kraftwire"


def test_a_new_voter_that_is_asked_already_is_not_asked_again() -> None:
    replica = elected()
    question = begun(replica)
    answered(replica, question, ApiVersionsResponse(error_code=35))
    assert error_of(ask(replica, adding())) == ErrorCode.REQUEST_TIMED_OUT
    replica.step(replica.core.now + 20, Tick())
    assert ask(replica, adding()) is None


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
    replica.core.connections._in_flight[question.number].deadline = replica.core.now + 1000
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
    other = AskedVersions(FIVE)
    assert take_versions(replica.core, other, versions()) is Outcome.TAKEN, "nothing is pending"
    begun(replica)
    assert take_versions(replica.core, other, versions()) is Outcome.TAKEN, "another voter is"
    replica = elected()
    ask(replica, removing(THREE))
    same = AskedVersions(THREE)
    assert take_versions(replica.core, same, versions()) is Outcome.TAKEN, "a removal is"
    replica = elected()
    answered(replica, begun(replica), versions())
    same = AskedVersions(FOUR)
    assert take_versions(replica.core, same, versions()) is Outcome.TAKEN, "it is in the log"
    replica.core.become_follower(9, 2, listeners_of(2))
    assert take_versions(replica.core, same, versions()) is Outcome.TAKEN, "nobody leads"


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


# -- leaders that are removed, sole voters -----------------------------------------------------


def test_a_removed_leader_leads_until_that_is_committed() -> None:
    replica = elected()
    assert ask(replica, removing(ME)) is None
    assert not replica.core.is_voter
    flushed(replica)
    assert reply_in(fetched(replica, TWO)) is None, "both others are the majority of two"
    effects = fetched(replica, THREE)
    assert error_of(reply_in(effects)) == ErrorCode.NONE
    assert isinstance(replica.core.role, Resigned)
    assert StoppedLeading(4) in effects
    told = sent(effects, EndQuorumEpochRequest)
    assert [one.address.port for one in told] == [9002, 9003]
    assert partition_of(told[0].message).preferred_successors == [2, 3]


def test_a_removed_leader_resigns_when_the_request_is_long_over() -> None:
    replica = elected()
    ask(replica, removing(ME))
    flushed(replica)
    fetched(replica, TWO)
    replica.step(7000, Tick())
    assert isinstance(replica.core.role, Leader)
    fetched(replica, THREE)
    assert isinstance(replica.core.role, Resigned)


def test_a_removed_leader_tells_those_that_wait_what_is_committed() -> None:
    replica = elected()
    ask(replica, removing(ME))
    flushed(replica)
    fetched(replica, TWO)
    core = replica.core
    place = OffsetAndEpoch(core.log.end, core.log.last_epoch)
    waits = fetch_request(CLUSTER, TWO, 4, place, 1 << 62, max_wait_ms=500, max_bytes=1000)
    assert replica.step(5000, Request("waits", waits, 18, LISTENER)) == []
    partition = partition_of(reply_in(fetched(replica, THREE), "waits"))
    assert (partition.error_code, partition.high_watermark) == (0, core.log.end)


def test_who_has_resigned_as_no_voter_does_not_stand() -> None:
    replica = elected()
    ask(replica, removing(ME))
    flushed(replica)
    fetched(replica, TWO)
    fetched(replica, THREE)
    replica.step(60_000, Tick())
    assert isinstance(replica.core.role, Unattached)
    assert replica.core.role.election_deadline is None
    replica.step(90_000, Tick())
    assert isinstance(replica.core.role, Unattached)


def test_the_rest_of_two_commits_alone() -> None:
    replica = elected(voters=TWO_ALONE)
    ask(replica, removing(TWO))
    assert lead(replica).check_quorum_deadline is None
    assert error_of(reply_in(flushed(replica))) == ErrorCode.NONE


def test_a_sole_voter_that_is_joined_has_to_be_heard() -> None:
    replica = elected(voters=ALONE)
    assert lead(replica).check_quorum_deadline is None
    answered(replica, begun(replica), versions())
    assert lead(replica).check_quorum_deadline == replica.core.now + 3000
    assert reply_in(flushed(replica)) is None
    assert error_of(reply_in(fetched(replica, FOUR))) == ErrorCode.NONE


def test_who_was_removed_does_not_keep_a_leader() -> None:
    replica = elected(voters=VOTERS.adding(Voter(FOUR, listeners_of(4))))
    core = replica.core
    fetched(replica, TWO)
    fetched(replica, THREE)
    lead(replica).heard.clear()
    note_heard(core, lead(replica), TWO)
    ask(replica, removing(TWO))
    assert lead(replica).heard == set()


def test_a_new_voter_is_told_who_leads() -> None:
    replica = elected()
    answered(replica, begun(replica), versions())
    replica.core.now = 7000
    begins = sent(replica.step(7000, Tick()), BeginQuorumEpochRequest)
    assert 9004 in [one.address.port for one in begins]


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
