"""Epochs and offsets that no election explains: whoever announces them, a replica goes on."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from kraftwire.raft.core.effects import SaveElection
from kraftwire.raft.core.inputs import Request, Tick
from kraftwire.raft.core.messages import partition_of, vote_request
from kraftwire.raft.core.roles import Follower, Leader, Unattached
from kraftwire.raft.metadata_log.batches import data_batch
from kraftwire.raft.metadata_log.log_state import UpToDate
from kraftwire.raft.replica import Replica
from kraftwire.raft.self_description.metrics import metrics_of
from kraftwire.raft.state.bounds import MAX_EPOCH, MAX_JUMP, MAX_OFFSET, EpochAllowance
from kraftwire.raft.state.election_state import Election
from kraftwire.raft.state.voters import ReplicaKey
from kraftwire_messages.kafka import FetchRequest, FetchResponse, UpdateRaftVoterRequest
from kraftwire_wire.numbers import ErrorCode

from codec_tests.raft.replicas import (
    CLUSTER,
    LISTENER,
    ME,
    TWO,
    VOTERS,
    ask,
    elected,
    lead,
    replica_of,
    sent,
)
from codec_tests.raft.strangers import (
    BOOTSTRAP,
    LAST,
    NEAR_THE_END,
    STRANGER,
    answer,
    answered,
    begin,
    bootstrapped,
    end,
    fetch,
    following,
    refused,
    vote,
)


def test_the_bounds() -> None:
    assert (MAX_EPOCH, MAX_OFFSET) == ((1 << 31) - 1 - (1 << 20), 1 << 62)


# -- requests -----------------------------------------------------------------------------------


@pytest.mark.parametrize("epoch", NEAR_THE_END)
@pytest.mark.parametrize("request_of", [vote, begin, end])
def test_no_request_brings_an_epoch_near_the_end(request_of: Any, epoch: int) -> None:
    for replica in (replica_of(Election(3)), replica_of(Election(3, 2)), elected()):
        before = replica.core.epoch
        response = ask(replica, request_of(epoch))
        assert response.error_code == ErrorCode.INVALID_REQUEST
        assert replica.core.epoch == before
        assert replica.core.role.epoch == before
        assert metrics_of(replica.core)["number-of-refused-claims"] == 1


@pytest.mark.parametrize("request_of", [vote, begin, end])
def test_a_request_raises_the_epoch_by_what_elections_explain(request_of: Any) -> None:
    replica = replica_of(Election(3))
    assert ask(replica, request_of(3 + MAX_JUMP + 1)).error_code == ErrorCode.INVALID_REQUEST
    assert replica.core.epoch == 3
    assert ask(replica, request_of(3 + MAX_JUMP)).error_code == 0
    assert replica.core.epoch == 3 + MAX_JUMP


def test_many_small_jumps_get_no_further_than_a_large_one() -> None:
    replica = replica_of(Election(3))
    for _ in range(3 * MAX_JUMP):
        ask(replica, vote(replica.core.epoch + 1))
    assert replica.core.epoch == 3 + MAX_JUMP
    replica.core.now += 1000
    for _ in range(3 * MAX_JUMP):
        ask(replica, vote(replica.core.epoch + 1))
    assert 3 + MAX_JUMP < replica.core.epoch < 3 + MAX_JUMP + 32


def test_the_allowance_comes_back_with_time() -> None:
    allowance = EpochAllowance(1000, 0)
    assert allowance.spend(MAX_JUMP, 0)
    assert not allowance.spend(1, 0)
    assert allowance.spend(16, 1000)
    assert not allowance.spend(1, 1000)
    assert not allowance.spend(MAX_JUMP + 1, 1 << 60)
    assert allowance.spend(MAX_JUMP, 1 << 60)


def test_what_voters_answer_counts_for_the_allowance_too() -> None:
    """Else a stranger would get further with each voter that it asks."""
    replica = replica_of(Election(3))
    (asked,) = sent(replica.start(), FetchRequest)
    answered(replica, asked, answer(3 + MAX_JUMP, error=ErrorCode.FENCED_LEADER_EPOCH))
    assert ask(replica, vote(4 + MAX_JUMP)).error_code == ErrorCode.INVALID_REQUEST
    replica.core.now += 100
    assert ask(replica, vote(4 + MAX_JUMP)).error_code == 0


def observer(**more: Any) -> Replica:
    return replica_of(Election(3), voters=VOTERS.removing(ME), **more)


def test_who_is_no_voter_goes_no_further_than_an_election_could() -> None:
    replica = observer()
    for _ in range(99):
        ask(replica, vote(replica.core.epoch + 1))
        replica.core.now += 1000
    assert replica.core.epoch == 3 + 16
    asked, *_ = sent(replica.step(replica.core.now, Tick()), FetchRequest)
    answered(replica, asked, answer(7000, error=ErrorCode.FENCED_LEADER_EPOCH))
    replica.core.now += 1000
    for _ in range(99):
        ask(replica, vote(replica.core.epoch + 1))
    assert replica.core.epoch == 7016


@pytest.mark.parametrize("request_of", [vote, begin, end])
def test_who_is_no_voter_believes_nothing_while_a_leader_answers(request_of: Any) -> None:
    replica = observer()
    (asked,) = sent(replica.start(), FetchRequest)
    effects = answered(replica, asked, answer(3, 2, error=ErrorCode.NOT_LEADER_OR_FOLLOWER))
    (asked,) = sent(effects, FetchRequest)
    answered(replica, asked, answer(3, 2))
    assert ask(replica, request_of(4)).error_code == ErrorCode.INVALID_REQUEST
    assert (replica.core.epoch, replica.core.leader_id) == (3, 2)


def test_what_is_refused_says_why_and_who() -> None:
    replica = replica_of(Election(3))
    request = vote(LAST)
    effects = replica.step(5000, Request("token", request, 2, LISTENER))
    (one,) = refused(effects)
    assert one.peer == "token"
    assert "VoteRequest" in one.reason
    assert str(LAST) in one.reason
    assert str(MAX_EPOCH) in one.reason
    kept = [effect.election for effect in effects if isinstance(effect, SaveElection)]
    assert kept in ([], [Election(3)])


def test_a_vote_with_an_offset_that_no_log_has_is_refused() -> None:
    replica = replica_of(Election(3))
    request = vote_request(CLUSTER, STRANGER, ME, 4, UpToDate(3, MAX_OFFSET + 1))
    assert ask(replica, request).error_code == ErrorCode.INVALID_REQUEST
    assert (replica.core.epoch, replica.core.voted) == (3, None)


def test_a_candidate_that_no_voter_set_has_gets_a_vote_still() -> None:
    """KIP-853: the set that a voter knows may be older than the candidate's."""
    replica = replica_of(Election(3))
    assert partition_of(ask(replica, vote(4))).vote_granted
    assert replica.core.epoch == 4


@pytest.mark.parametrize(
    ("epoch", "offset"), [(LAST, 0), (3, (1 << 63) - 1), (3, MAX_OFFSET + 1), (MAX_EPOCH, 1)]
)
def test_fetches_of_strangers_change_nothing(epoch: int, offset: int) -> None:
    for replica in (elected(), replica_of(Election(3))):
        before, end_of_log = replica.core.epoch, replica.core.log.end
        ask(replica, fetch(epoch, offset=offset))
        assert (replica.core.epoch, replica.core.log.end) == (before, end_of_log)
        if isinstance(replica.core.role, Leader):
            assert STRANGER not in lead(replica).progress


def test_a_leader_gives_way_to_a_replica_of_a_later_epoch() -> None:
    """It would be left behind until an election: its epoch never falls, and no leader has it."""
    replica = elected()
    partition = partition_of(ask(replica, fetch(9)))
    assert partition.error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    assert isinstance(replica.core.role, Unattached)
    assert replica.core.epoch == 9


def test_a_reader_without_an_id_does_not_end_an_epoch() -> None:
    replica = elected()
    ask(replica, fetch(9, ReplicaKey(-1)))
    assert isinstance(replica.core.role, Leader)


def test_updates_from_the_end_of_epochs_change_nothing() -> None:
    replica = elected()
    request = UpdateRaftVoterRequest(
        cluster_id=CLUSTER, current_leader_epoch=LAST, voter_id=2, voter_directory_id=UUID(int=2)
    )
    assert ask(replica, request).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    assert replica.core.epoch == 4


# -- pre-votes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("epoch", [3, 4, 9, MAX_EPOCH])
def test_a_pre_vote_is_answered_in_its_epoch_and_changes_none(epoch: int) -> None:
    """Whoever asks counts answers of its own epoch alone, as a real controller does."""
    replica = replica_of(Election(3))
    partition = partition_of(ask(replica, vote(epoch, pre_vote=True)))
    assert (partition.error_code, partition.vote_granted) == (0, True)
    assert (partition.leader_epoch, partition.leader_id) == (epoch, -1)
    assert (replica.core.epoch, replica.core.voted) == (3, None)


@pytest.mark.parametrize("epoch", NEAR_THE_END)
def test_a_pre_vote_near_the_end_of_epochs_is_refused(epoch: int) -> None:
    replica = replica_of(Election(3))
    assert ask(replica, vote(epoch, pre_vote=True)).error_code == ErrorCode.INVALID_REQUEST
    assert replica.core.epoch == 3


def test_a_leader_that_is_asked_for_a_pre_vote_of_a_later_epoch_stays_one() -> None:
    replica = elected()
    partition = partition_of(ask(replica, vote(9, pre_vote=True)))
    assert (partition.vote_granted, partition.leader_epoch, partition.leader_id) == (False, 9, -1)
    assert lead(replica).epoch == 4


def test_a_shorter_log_is_refused_in_the_epoch_of_the_pre_vote() -> None:
    replica = elected()
    replica.core.become_resigned()
    request = vote_request(CLUSTER, TWO, ME, 9, UpToDate(1, 0), pre_vote=True)
    partition = partition_of(ask(replica, request))
    assert (partition.vote_granted, partition.leader_epoch) == (False, 9)
    assert replica.core.epoch == 4


# -- votes in a voter's name --------------------------------------------------------------------


def test_a_vote_that_was_asked_for_in_its_name_does_not_elect_a_shorter_log() -> None:
    replica = elected()
    replica.core.become_resigned()
    forged = vote_request(CLUSTER, ReplicaKey(2), ME, 5, UpToDate(4, 1 << 40))
    assert partition_of(ask(replica, forged)).vote_granted
    behind = vote_request(CLUSTER, TWO, ME, 5, UpToDate(3, 0))
    assert not partition_of(ask(replica, behind)).vote_granted
    as_long = vote_request(CLUSTER, TWO, ME, 5, replica.core.log.up_to_date)
    assert partition_of(ask(replica, as_long)).vote_granted


# -- responses ----------------------------------------------------------------------------------


@pytest.mark.parametrize("epoch", [1, 10 * MAX_JUMP, MAX_EPOCH])
def test_a_bootstrap_server_may_tell_a_new_observer_any_epoch(epoch: int) -> None:
    replica, asked = bootstrapped(Election(0))
    answered(replica, asked, answer(epoch, error=ErrorCode.FENCED_LEADER_EPOCH))
    assert replica.core.epoch == epoch


@pytest.mark.parametrize("epoch", [10 * MAX_JUMP, MAX_EPOCH])
def test_a_voter_may_tell_one_that_was_away_any_epoch(epoch: int) -> None:
    replica = replica_of(Election(3))
    (asked,) = sent(replica.start(), FetchRequest)
    answered(replica, asked, answer(epoch, error=ErrorCode.FENCED_LEADER_EPOCH))
    assert replica.core.epoch == epoch


@pytest.mark.parametrize("epoch", NEAR_THE_END)
def test_no_answer_brings_an_epoch_near_the_end(epoch: int) -> None:
    replica, asked = bootstrapped(Election(0))
    effects = answered(replica, asked, answer(epoch, error=ErrorCode.FENCED_LEADER_EPOCH))
    assert replica.core.epoch == 0
    (one,) = refused(effects)
    assert one.peer == BOOTSTRAP
    assert "FetchResponse" in one.reason


def test_a_leader_that_only_a_request_named_is_not_believed_more_than_a_request() -> None:
    replica = replica_of(Election(3))
    effects = replica.step(5000, Request("token", begin(4), 1, LISTENER))
    (asked,) = sent(effects, FetchRequest)
    assert asked.address.port == 1
    answered(replica, asked, answer(4 + MAX_JUMP, error=ErrorCode.FENCED_LEADER_EPOCH))
    assert replica.core.epoch == 4
    assert metrics_of(replica.core)["number-of-refused-claims"] == 1


@pytest.mark.parametrize(
    "more",
    [
        {"diverging_epoch": FetchResponse.EpochEndOffset(epoch=LAST, end_offset=0)},
        {"diverging_epoch": FetchResponse.EpochEndOffset(epoch=4, end_offset=0)},
        {"diverging_epoch": FetchResponse.EpochEndOffset(epoch=1, end_offset=-7)},
        {"diverging_epoch": FetchResponse.EpochEndOffset(epoch=1, end_offset=MAX_OFFSET + 1)},
        {"snapshot_id": FetchResponse.SnapshotId(end_offset=9, epoch=LAST)},
        {"snapshot_id": FetchResponse.SnapshotId(end_offset=9, epoch=-1)},
        {"snapshot_id": FetchResponse.SnapshotId(end_offset=-9, epoch=3)},
        {"snapshot_id": FetchResponse.SnapshotId(end_offset=MAX_OFFSET + 1, epoch=3)},
        {"high_watermark": MAX_OFFSET + 1},
    ],
)
def test_what_no_leader_can_have_is_refused(more: dict[str, Any]) -> None:
    replica, asked = following()
    effects = answered(replica, asked, answer(3, 2, **more))
    role = replica.core.role
    assert isinstance(role, Follower)
    assert (role.download, role.has_fetched, replica.core.committed) == (None, False, 0)
    assert len(refused(effects)) == 1


def test_a_batch_behind_all_offsets_is_refused() -> None:
    replica, asked = following()
    data = bytearray(data_batch(0, 3, 0, [b"x"]).data)
    replica.core.log.start = replica.core.log.end = MAX_OFFSET
    data[:8] = MAX_OFFSET.to_bytes(8)
    answered(replica, asked, answer(3, 2, records=bytes(data)))
    assert replica.core.log.end == MAX_OFFSET


def test_batches_of_a_later_epoch_are_left_out() -> None:
    replica, asked = following()
    answered(replica, asked, answer(3, 2, records=data_batch(0, LAST, 0, [b"x"]).data))
    assert replica.core.log.end == 0
