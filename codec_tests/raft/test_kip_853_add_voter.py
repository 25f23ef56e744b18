"""KIP-853, early revision, and KIP-856: how a leader answers AddVoter.

Both documents have the same rules but for one, and number them differently. Where shipped Kafka
does something else, the test says what. What only the policy kip-856 does is tested with that.
"""

from __future__ import annotations

import pytest

from kraftwire.raft.core.inputs import Request, RequestFailed, Tick
from kraftwire.raft.state.election_state import Election
from kraftwire_messages import kafka
from kraftwire_wire.message import Message
from kraftwire_wire.numbers import ErrorCode

from codec_tests.raft.replicas import (
    LISTENER,
    ME,
    THREE,
    TWO,
    VOTERS,
    elected,
    fetched,
    lead,
    replica_of,
    sent,
)
from codec_tests.raft.voter_changes import (
    FOUR,
    OTHER_DISK,
    adding,
    adding_now,
    answered,
    begins,
    begun,
    error_in,
    error_now,
    flushed,
    newly_elected,
    removing_now,
    versions,
    voters_written,
)

# -- AddVoter, Handling -----------------------------------------------------------------------


def test_a_new_voter_has_caught_up_before() -> None:
    """KIP-853 early, AddVoter, Handling 1; KIP-856, AddVoter, Handling 1.

    Shipped: the leader does not wait for that, whoever asks does.
    """
    replica = elected()
    fetched(replica, FOUR, 0)
    effects = replica.step(5000, Request("asked", adding(), 1, LISTENER))
    (question,) = sent(effects, kafka.ApiVersionsRequest)
    assert error_in(answered(replica, question, versions())) == ErrorCode.REQUEST_TIMED_OUT
    adding_now(replica)
    assert FOUR in replica.core.voters.keys


def test_no_change_is_uncommitted_when_a_voter_is_added() -> None:
    """KIP-853 early, AddVoter, Handling 2; KIP-856, AddVoter, Handling 2.

    Shipped: the leader does not wait for that, whoever asks does.
    """
    replica = elected()
    removing_now(replica, THREE)
    assert error_now(replica, adding()) == ErrorCode.REQUEST_TIMED_OUT
    flushed(replica)
    fetched(replica, TWO)
    adding_now(replica)
    assert replica.core.voters.keys == {ME, TWO, FOUR}


def test_the_leader_change_is_committed_when_a_voter_is_added() -> None:
    """KIP-856, AddVoter, Handling 3.

    Shipped: the leader does not wait for that, whoever asks does.
    """
    replica = newly_elected()
    fetched(replica, FOUR)
    assert error_now(replica, adding()) == ErrorCode.REQUEST_TIMED_OUT
    fetched(replica, TWO)
    adding_now(replica)
    assert FOUR in replica.core.voters.keys


def test_a_record_says_that_a_voter_is_added() -> None:
    """KIP-853 early, AddVoter, Handling 3; KIP-856, AddVoter, Handling 4.

    Shipped: the record has the whole set.
    """
    assert voters_written(adding_now(elected())).keys == {ME, TWO, THREE, FOUR}


def test_an_added_voter_is_in_the_set_as_soon_as_the_record_is_in_the_log() -> None:
    """KIP-853 early, AddVoter, Handling 4; KIP-856, AddVoter, Handling 5."""
    replica = elected()
    adding_now(replica)
    assert not replica.core.control.voters.is_committed(replica.core.committed)
    assert replica.core.voters.keys == {ME, TWO, THREE, FOUR}


def test_an_added_voter_is_told_who_leads_until_it_has_heard() -> None:
    """KIP-853 early, AddVoter, Handling 4; KIP-856, AddVoter, Handling 5.

    Shipped: every half fetch timeout, as long as it does not fetch.
    """
    replica = elected()
    adding_now(replica)
    effects = replica.step(6000, Tick())
    assert 9004 in begins(effects)
    for send in sent(effects, kafka.BeginQuorumEpochRequest):
        replica.step(6010, RequestFailed(send.number))
    assert 9004 in begins(replica.step(7000, Tick()))


def test_a_majority_with_the_added_voter_commits_that() -> None:
    """KIP-853 early, AddVoter, Handling 5; KIP-856, AddVoter, Handling 6."""
    replica = elected()
    adding_now(replica)
    before, end = replica.core.committed, replica.core.log.end
    flushed(replica)
    fetched(replica, TWO)
    assert replica.core.committed == before, "two of three are no majority of four"
    fetched(replica, FOUR)
    assert replica.core.committed == end


def test_who_asked_to_add_a_voter_is_answered_when_that_is_committed() -> None:
    """KIP-853 early, AddVoter, Handling 6; KIP-856, AddVoter, Handling 7."""
    replica = elected()
    assert error_in(adding_now(replica)) is None
    assert error_in(flushed(replica)) is None
    assert error_in(fetched(replica, TWO)) is None
    assert error_in(fetched(replica, FOUR)) == ErrorCode.NONE


# -- AddVoter, errors -------------------------------------------------------------------------


def test_only_a_leader_adds_voters() -> None:
    """KIP-853 early, AddVoter, Errors 1; KIP-856, AddVoter, Errors 1."""
    assert error_now(replica_of(Election(3, 2)), adding()) == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_voter_is_not_added_again() -> None:
    """KIP-853 early, AddVoter, Errors 2; KIP-856, AddVoter, Errors 2.

    Shipped: DUPLICATE_VOTER, with another directory too.
    """
    for key in (TWO, OTHER_DISK):
        assert error_now(elected(), adding(key)) == ErrorCode.DUPLICATE_VOTER


def test_a_replica_that_does_not_observe_is_not_added() -> None:
    """KIP-853 early, AddVoter, Errors 3; KIP-856, AddVoter, Errors 3.

    Shipped: it has not caught up, which is REQUEST_TIMED_OUT.
    """
    replica = elected()
    question = begun(replica)
    del lead(replica).progress[FOUR]
    assert error_in(answered(replica, question, versions())) == ErrorCode.REQUEST_TIMED_OUT


def test_a_voter_is_added_with_its_endpoints() -> None:
    """KIP-853 early, AddVoter, Errors 4.

    Shipped: they are needed, and under kraft.version 0, where the configuration has the voters,
    none is added.
    """
    message = adding()
    message.listeners.clear()
    assert error_now(elected(), message) == ErrorCode.INVALID_REQUEST
    replica = elected(kraft_version=0, static_voters=VOTERS)
    assert error_now(replica, adding()) == ErrorCode.UNSUPPORTED_VERSION


def test_an_id_that_is_not_configured_is_added() -> None:
    """KIP-853 early, AddVoter, Errors 5; KIP-856, AddVoter, Errors 4.

    Shipped: any id under kraft.version 1.
    """
    replica = elected(static_voters=VOTERS)
    adding_now(replica)
    assert replica.core.voters.of_id(4)


# -- both requests ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [kafka.AddRaftVoterRequest, kafka.RemoveRaftVoterRequest])
def test_a_broker_takes_such_a_request_too(kind: type[Message]) -> None:
    """KIP-853 early, AddVoter and RemoveVoter, Handling; KIP-856 likewise: to forward it."""
    assert set(kind.LAYOUT.listeners) == {"controller", "broker"}
