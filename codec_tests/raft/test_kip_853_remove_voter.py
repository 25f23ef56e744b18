"""KIP-853, early revision, and KIP-856: how a leader answers RemoveVoter.

Both documents have the same rules but for one, and number them differently. Where shipped Kafka
does something else, the test says what. What only the policy kip-856 does is tested with that.
"""

from __future__ import annotations

from typing import Any

import pytest

from kraftwire.raft.core.inputs import Resign
from kraftwire.raft.core.messages import partition_of
from kraftwire.raft.core.roles import Leader, Resigned
from kraftwire.raft.state.voters import ReplicaKey
from kraftwire_messages.kafka import EndQuorumEpochRequest
from kraftwire_wire.numbers import ErrorCode

from codec_tests.raft.replicas import (
    ME,
    THREE,
    TWO,
    VOTERS,
    ask,
    elected,
    fetched,
    reply_in,
    sent,
    snapshot_request,
    take_snapshot,
)
from codec_tests.raft.voter_changes import (
    FOUR,
    OTHER_DISK,
    adding_now,
    error_in,
    error_now,
    flushed,
    newly_elected,
    removing,
    removing_now,
    voters_written,
)

# -- RemoveVoter, Handling --------------------------------------------------------------------


def test_no_change_is_uncommitted_when_a_voter_is_removed() -> None:
    """KIP-853 early, RemoveVoter, Handling 1; KIP-856, RemoveVoter, Handling 1.

    Shipped: the leader does not wait for that, whoever asks does.
    """
    replica = elected()
    adding_now(replica)
    assert error_now(replica, removing(TWO)) == ErrorCode.REQUEST_TIMED_OUT
    flushed(replica)
    fetched(replica, TWO)
    fetched(replica, FOUR)
    removing_now(replica, TWO)
    assert replica.core.voters.keys == {ME, THREE, FOUR}


def test_the_leader_change_is_committed_when_a_voter_is_removed() -> None:
    """KIP-856, RemoveVoter, Handling 2.

    Shipped: the leader does not wait for that, whoever asks does.
    """
    replica = newly_elected()
    assert error_now(replica, removing(THREE)) == ErrorCode.REQUEST_TIMED_OUT
    fetched(replica, TWO)
    assert error_now(replica, removing(THREE)) is None


def test_a_record_says_that_a_voter_is_removed() -> None:
    """KIP-853 early, RemoveVoter, Handling 2; KIP-856, RemoveVoter, Handling 3.

    Shipped: the record has the whole set.
    """
    assert voters_written(removing_now(elected(), THREE)).keys == {ME, TWO}


def test_a_removed_voter_is_out_of_the_set_as_soon_as_the_record_is_in_the_log() -> None:
    """KIP-853 early, RemoveVoter, Handling 3; KIP-856, RemoveVoter, Handling 4."""
    replica = elected()
    removing_now(replica, THREE)
    assert not replica.core.control.voters.is_committed(replica.core.committed)
    assert replica.core.voters.keys == {ME, TWO}


def test_a_majority_without_the_removed_voter_commits_that() -> None:
    """KIP-853 early, RemoveVoter, Handling 4; KIP-856, RemoveVoter, Handling 5."""
    replica = elected()
    removing_now(replica, THREE)
    before, end = replica.core.committed, replica.core.log.end
    flushed(replica)
    fetched(replica, THREE)
    assert replica.core.committed == before
    fetched(replica, TWO)
    assert replica.core.committed == end


def test_who_asked_to_remove_a_voter_is_answered_when_that_is_committed() -> None:
    """KIP-853 early, RemoveVoter, Handling 5; KIP-856, RemoveVoter, Handling 6."""
    replica = elected()
    assert error_in(removing_now(replica, THREE)) is None
    assert error_in(flushed(replica)) is None
    assert error_in(fetched(replica, TWO)) == ErrorCode.NONE


def test_a_leader_that_is_removed_resigns_when_that_is_committed_and_tells_the_others() -> None:
    """KIP-853 early, RemoveVoter, Handling 6; KIP-856, RemoveVoter, Handling 7."""
    replica = elected()
    removing_now(replica, ME)
    fetched(replica, TWO)
    assert isinstance(replica.core.role, Leader)
    effects = fetched(replica, THREE)
    assert error_in(effects) == ErrorCode.NONE
    assert isinstance(replica.core.role, Resigned)
    assert [one.address.port for one in sent(effects, EndQuorumEpochRequest)] == [9002, 9003]


def test_a_leader_that_is_removed_serves_on_and_is_not_counted() -> None:
    """KIP-853 early, RemoveVoter, Handling 3 and 4; KIP-856, RemoveVoter, Handling 3 and 5."""
    replica = elected()
    snapshot, _ = take_snapshot(replica)
    removing_now(replica, ME)
    flushed(replica)
    before = replica.core.committed
    partition: Any = partition_of(reply_in(fetched(replica, TWO), "fetch"))
    assert partition.error_code == ErrorCode.NONE
    partition = partition_of(ask(replica, snapshot_request(snapshot, replica=THREE)))
    assert partition.error_code == ErrorCode.NONE
    assert replica.core.committed == before, "of two voters one has it, and the leader is neither"


# -- RemoveVoter, errors ----------------------------------------------------------------------


def test_only_a_leader_removes_voters() -> None:
    """KIP-853 early, RemoveVoter, Errors 1; KIP-856, RemoveVoter, Errors 1."""
    replica = elected()
    replica.step(5000, Resign())
    assert error_now(replica, removing(TWO)) == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_voter_is_not_removed_again() -> None:
    """KIP-853 early, RemoveVoter, Errors 2; KIP-856, RemoveVoter, Errors 2.

    Shipped: VOTER_NOT_FOUND.
    """
    replica = elected()
    removing_now(replica, THREE)
    flushed(replica)
    fetched(replica, TWO)
    assert error_now(replica, removing(THREE)) == ErrorCode.VOTER_NOT_FOUND


@pytest.mark.parametrize("key", [FOUR, OTHER_DISK], ids=["another id", "another directory"])
def test_a_replica_that_is_no_voter_is_not_removed(key: ReplicaKey) -> None:
    """KIP-853 early, RemoveVoter, Errors 3; KIP-856, RemoveVoter, Errors 3.

    Shipped: VOTER_NOT_FOUND.
    """
    assert error_now(elected(), removing(key)) == ErrorCode.VOTER_NOT_FOUND


def test_an_id_that_is_configured_may_be_removed_altogether() -> None:
    """KIP-853 early, RemoveVoter, Errors 4; KIP-856, RemoveVoter, Errors 4.

    Shipped: any id under kraft.version 1, but for the last voter.
    """
    replica = elected(static_voters=VOTERS)
    removing_now(replica, THREE)
    assert not replica.core.voters.of_id(3)
