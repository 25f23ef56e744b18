"""KIP-853, early revision, and KIP-856: Fetch, FetchSnapshot, votes, beginnings and ends of epochs.

Both documents have the same rules. Where shipped Kafka does something else, the test says what.
AddVoter and RemoveVoter are in `test_kip_853_add_voter` and `test_kip_853_remove_voter`, what
messages and records look like is in `test_kip_853_messages`.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from kraftwire.raft.core.inputs import Tick
from kraftwire.raft.core.messages import partition_of, vote_request
from kraftwire.raft.metadata_log.log_state import UpToDate
from kraftwire.raft.replica import Replica
from kraftwire.raft.self_description.metrics import metrics_of
from kraftwire.raft.state.election_state import Election, decode_election, encode_election
from kraftwire.raft.state.voters import ReplicaKey
from kraftwire_messages import kafka, kip_853, kip_856
from kraftwire_wire.numbers import ErrorCode

from codec_tests.raft.followers import WITHOUT_ME, Following, follower
from codec_tests.raft.message_fields import fields
from codec_tests.raft.replicas import (
    CLUSTER,
    ME,
    THREE,
    TWO,
    VOTERS,
    ask,
    elected,
    fetched,
    lead,
    replica_of,
    reply_in,
    sent,
    snapshot_request,
    states,
    take_snapshot,
)
from codec_tests.raft.voter_changes import FOUR, begin_request, end_request, flushed, removing

OTHER_DISK = ReplicaKey(2, UUID(int=99))
NEWER = UpToDate(3, 9)

# -- Fetch ------------------------------------------------------------------------------------


def test_a_replica_fetches_with_its_id_and_directory() -> None:
    """KIP-853 early, Fetch, Handling; KIP-856, Fetch, Handling."""
    (send,) = sent(follower().start(), kafka.FetchRequest)
    assert isinstance(send.message, kafka.FetchRequest)
    assert send.message.replica_state is not None
    told = partition_of(send.message).replica_directory_id
    assert ReplicaKey(send.message.replica_state.replica_id, told) == ME


def test_who_fetches_with_id_and_directory_could_be_a_voter() -> None:
    """KIP-853 early, Fetch, Handling; KIP-856, Fetch, Handling."""
    replica = elected()
    for key, possible in ((ReplicaKey(5), 0), (ReplicaKey(-1), 0), (FOUR, 1)):
        fetched(replica, key)
        assert metrics_of(replica.core)["number-of-possible-voters"] == possible


def test_how_far_a_replica_is_is_known_by_id_and_directory() -> None:
    """KIP-853 early, Fetch, Handling; KIP-856, Fetch, Handling."""
    replica = elected()
    end = replica.core.log.end
    fetched(replica, OTHER_DISK, 0)
    progress = lead(replica).progress
    assert (progress[TWO].end_offset, progress[OTHER_DISK].end_offset) == (end, 0)


def test_a_leader_that_is_removed_leads_on_and_answers_fetches() -> None:
    """KIP-853 early, Fetch, Handling; KIP-856, Fetch, Handling."""
    replica = elected()
    ask(replica, removing(ME))
    before, end = replica.core.committed, replica.core.log.end
    flushed(replica)
    for key in (FOUR, TWO):
        partition = partition_of(reply_in(fetched(replica, key), "fetch"))
        assert (partition.error_code, partition.current_leader.leader_id) == (0, 1)
    assert replica.core.committed == before, "the leader does not count itself"
    fetched(replica, THREE)
    assert replica.core.committed == end


# -- FetchSnapshot ----------------------------------------------------------------------------


def test_a_replica_fetches_snapshots_with_its_id_and_directory() -> None:
    """KIP-853 early, FetchSnapshot, Handling; KIP-856, FetchSnapshot, Handling."""
    node = Following()
    node.name()
    assert isinstance(node.asked, kafka.FetchSnapshotRequest)
    told = partition_of(node.asked).replica_directory_id
    assert ReplicaKey(node.asked.replica_id, told) == ME


@pytest.mark.parametrize(("key", "deadline"), [(TWO, 10_000), (OTHER_DISK, 8000)])
def test_who_fetches_a_snapshot_is_known_by_id_and_directory(
    key: ReplicaKey, deadline: int
) -> None:
    """KIP-853 early, FetchSnapshot, Handling; KIP-856, FetchSnapshot, Handling."""
    replica = elected()
    snapshot, _ = take_snapshot(replica)
    replica.step(7000, Tick())
    ask(replica, snapshot_request(snapshot, replica=key))
    assert lead(replica).check_quorum_deadline == deadline


def test_a_leader_that_is_removed_serves_snapshots() -> None:
    """KIP-853 early, FetchSnapshot, Handling; KIP-856, FetchSnapshot, Handling."""
    replica = elected()
    snapshot, _ = take_snapshot(replica)
    ask(replica, removing(ME))
    for key in (FOUR, TWO):
        partition = partition_of(ask(replica, snapshot_request(snapshot, replica=key)))
        assert partition.error_code == ErrorCode.NONE


# -- Vote -------------------------------------------------------------------------------------


def voted(replica: Replica, candidate: ReplicaKey, voter: ReplicaKey = ME) -> Any:
    """What a replica answers a candidate of the next epoch."""
    return partition_of(ask(replica, vote_request(CLUSTER, candidate, voter, 4, NEWER)))


def test_a_candidate_asks_those_that_it_knows_as_voters() -> None:
    """KIP-853 early, Vote, Handling; KIP-856, Vote, Handling."""
    replica = replica_of(Election(3), voters=VOTERS.removing(THREE))
    asked = [send.address.port for send in sent(replica.step(9000, Tick()), kafka.VoteRequest)]
    assert asked == [9002]


def test_a_candidate_that_is_no_voter_here_gets_the_vote() -> None:
    """KIP-853 early, Vote, Handling; KIP-856, Vote, Handling; KIP-856, Leader Election."""
    assert voted(replica_of(Election(3)), FOUR).vote_granted


def test_a_replica_that_is_no_voter_here_votes() -> None:
    """KIP-853 early, Vote, Handling; KIP-856, Vote, Handling; KIP-856, Leader Election."""
    replica = replica_of(Election(3), voters=WITHOUT_ME)
    assert not replica.core.is_voter
    assert voted(replica, TWO).vote_granted


@pytest.mark.parametrize("candidate", [FOUR, TWO])
def test_no_candidate_gets_the_vote_with_an_older_log(candidate: ReplicaKey) -> None:
    """KIP-856, Leader Election."""
    replica = replica_of(Election(3))
    replica.core.log.append(0, 9, 3)
    assert not voted(replica, candidate).vote_granted


def test_a_vote_is_kept_with_id_and_directory() -> None:
    """KIP-853 early, Vote, Handling; KIP-856, Vote, Handling."""
    replica = replica_of(Election(3))
    voted(replica, TWO)
    kept = decode_election(encode_election(Election(4, None, replica.core.voted), 1))
    assert kept.voted == TWO


def test_one_candidate_of_an_epoch_gets_the_vote_by_id_and_directory() -> None:
    """KIP-853 early, Vote, Handling; KIP-856, Vote, Handling."""
    replica = replica_of(Election(4, None, TWO))
    granted = [voted(replica, key).vote_granted for key in (OTHER_DISK, THREE, TWO)]
    assert granted == [False, False, True]


@pytest.mark.parametrize(
    ("voter", "error"),
    [
        (ME, ErrorCode.NONE),
        (ReplicaKey(1), ErrorCode.NONE),
        (TWO, ErrorCode.INVALID_VOTER_KEY),
        (ReplicaKey(1, UUID(int=99)), ErrorCode.INVALID_VOTER_KEY),
    ],
    ids=["this one", "no directory", "another id", "another directory"],
)
def test_a_vote_is_asked_of_this_replica(voter: ReplicaKey, error: ErrorCode) -> None:
    """KIP-853 early, Vote, Errors 1; KIP-856, Vote, Errors 1. Shipped: INVALID_VOTER_KEY."""
    assert voted(replica_of(Election(3)), TWO, voter).error_code == error


# -- BeginQuorumEpoch, EndQuorumEpoch ---------------------------------------------------------


@pytest.mark.parametrize(
    ("voter", "error"),
    [
        (ReplicaKey(1), ErrorCode.NONE),
        (TWO, ErrorCode.INVALID_VOTER_KEY),
        (ReplicaKey(1, UUID(int=99)), ErrorCode.INVALID_VOTER_KEY),
    ],
    ids=["no directory", "another id", "another directory"],
)
def test_the_beginning_of_an_epoch_is_told_this_replica(
    voter: ReplicaKey, error: ErrorCode
) -> None:
    """KIP-853 early, BeginQuorumEpoch, Errors 1; KIP-856, BeginQuorumEpoch, Errors 1.

    Shipped: INVALID_VOTER_KEY.
    """
    assert partition_of(ask(replica_of(Election(3)), begin_request(voter))).error_code == error


def test_the_beginning_of_an_epoch_may_be_told_a_replica_that_is_no_voter_here() -> None:
    """KIP-853 early, BeginQuorumEpoch, Errors 2; KIP-856, BeginQuorumEpoch, Errors 2.

    Shipped: there is no NOT_VOTER.
    """
    replica = replica_of(Election(3), voters=WITHOUT_ME)
    assert partition_of(ask(replica, begin_request())).error_code == ErrorCode.NONE
    assert replica.core.leader_id == 2


def test_the_end_of_an_epoch_does_not_say_whom_it_is_told() -> None:
    """KIP-856, EndQuorumEpoch, Errors 1. Shipped: there is nothing that could be wrong."""
    assert not any("voter" in name for name in fields(kafka.EndQuorumEpochRequest, 1))
    assert partition_of(ask(follower(), end_request())).error_code == ErrorCode.NONE


def test_the_end_of_an_epoch_may_be_told_a_replica_that_is_no_voter_here() -> None:
    """KIP-856, EndQuorumEpoch, Errors 2. Shipped: there is no NOT_VOTER."""
    assert partition_of(ask(follower(WITHOUT_ME), end_request())).error_code == ErrorCode.NONE


# -- DescribeQuorum ---------------------------------------------------------------------------


def test_observers_that_could_be_voters_are_described_with_id_and_directory() -> None:
    """KIP-853 early, DescribeQuorum, Response 1; KIP-856, DescribeQuorum, Response 1."""
    replica = elected()
    fetched(replica, FOUR)
    (described,) = states(replica)[1]
    assert ReplicaKey(described.replica_id, described.replica_directory_id) == FOUR
    for draft in (kip_853.DescribeQuorumResponse, kip_856.DescribeQuorumResponse):
        added = fields(draft, 2) - fields(draft, 1)
        places = {f"topics.partitions.{which}" for which in ("current_voters", "observers")}
        assert added == {f"{place}.replica_uuid" for place in places}
