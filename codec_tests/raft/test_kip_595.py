"""KIP-595, the Raft protocol: leaders that nobody fetches from, votes, who tells who leads.

Where shipped Kafka does something else, the test says what.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftwire.log.directories.partition import METADATA_TOPIC
from kraftwire.raft.core import messages
from kraftwire.raft.core.effects import StoppedLeading
from kraftwire.raft.core.inputs import Response, Tick
from kraftwire.raft.core.roles import Candidate, Follower, Leader, Prospective, Resigned
from kraftwire.raft.election.vote_client import note_vote, start_election, time_out
from kraftwire.raft.metadata_log.log_state import OffsetAndEpoch, UpToDate
from kraftwire.raft.replica import Replica
from kraftwire.raft.state.election_state import Election
from kraftwire_messages import kafka, kip_595
from kraftwire_wire.numbers import ErrorCode

from codec_tests.raft.message_fields import fields
from codec_tests.raft.replicas import (
    CLUSTER,
    ME,
    THREE,
    TWO,
    ask,
    core_of,
    elected,
    fetch_response,
    fetched,
    lead,
    replica_of,
    sent,
)

# -- Leader Progress Timeout ------------------------------------------------------------------


def test_a_leader_that_no_majority_fetches_from_gives_up() -> None:
    """KIP-595, Leader Progress Timeout. Shipped: it resigns, after 1.5 times the fetch timeout."""
    replica = elected()
    replica.step(7999, Tick())
    assert isinstance(replica.core.role, Leader)
    effects = replica.step(8000, Tick())
    assert StoppedLeading(4) in effects
    assert [one.address.port for one in sent(effects, kafka.EndQuorumEpochRequest)] == [9002, 9003]


def test_a_leader_that_a_majority_fetches_from_stays() -> None:
    """KIP-595, Leader Progress Timeout."""
    replica = elected()
    for now in range(6000, 30_000, 1000):
        replica.step(now, Tick())
        fetched(replica, TWO)
    assert lead(replica).epoch == 4


def roles_without_answers(replica: Replica, until: int) -> set[type]:
    """The states that a replica goes through that nobody answers."""
    roles = set()
    while replica.core.now < until:
        deadline = replica.next_deadline()
        assert deadline is not None
        replica.step(max(deadline, replica.core.now + 1), Tick())
        roles.add(type(replica.core.role))
    return roles


def test_a_leader_that_nobody_answers_stands_again_and_again() -> None:
    """KIP-595, Leader Progress Timeout. Shipped: by pre-votes, for which no epoch rises."""
    replica = elected()
    assert roles_without_answers(replica, 60_000) == {Leader, Resigned, Prospective}
    assert replica.core.epoch == 5


def test_a_leader_that_hears_of_a_later_one_follows_it() -> None:
    """KIP-595, Leader Progress Timeout."""
    replica = elected()
    send, _ = sent(replica.step(8000, Tick()), kafka.EndQuorumEpochRequest)
    told = kafka.EndQuorumEpochResponse.PartitionData(
        error_code=ErrorCode.FENCED_LEADER_EPOCH, leader_id=3, leader_epoch=9
    )
    topic = kafka.EndQuorumEpochResponse.TopicData(topic_name=METADATA_TOPIC, partitions=[told])
    replica.step(8000, Response(send.number, kafka.EndQuorumEpochResponse(topics=[topic])))
    assert isinstance(replica.core.role, Follower)
    assert (replica.core.epoch, replica.core.leader_id) == (9, 3)


def test_a_candidate_goes_on_until_it_wins_or_another_has() -> None:
    """KIP-595, Leader Progress Timeout. Shipped: it asks again whether it would win, first."""
    core = core_of(Election(3), log_epoch=2)
    start_election(core)
    note_vote(core, TWO, granted=True)
    assert isinstance(core.role, Candidate)
    time_out(core)
    assert isinstance(core.role, Prospective)
    for _ in range(2):
        note_vote(core, THREE, granted=True)
    assert isinstance(core.role, Leader)


# -- Vote -------------------------------------------------------------------------------------


LOGS = st.builds(UpToDate, st.integers(1, 9), st.integers(1, 9))


@given(LOGS, LOGS)
def test_a_voter_denies_its_vote_to_a_log_that_is_less_up_to_date(
    mine: UpToDate, candidates: UpToDate
) -> None:
    """KIP-595, Vote, Request Handling: the last epoch counts, and only then the offset."""
    replica = replica_of(Election(10))
    replica.core.log.append(0, mine.offset - 1, mine.epoch)
    response = ask(replica, messages.vote_request(CLUSTER, TWO, ME, 11, candidates))
    is_later = candidates.epoch > mine.epoch
    is_longer = candidates.epoch == mine.epoch and candidates.offset >= mine.offset
    assert messages.partition_of(response).vote_granted == (is_later or is_longer)


def test_a_request_has_one_partition() -> None:
    """KIP-595, Vote: its arrays leave room for several quorums, of which there is one."""
    message = messages.vote_request(CLUSTER, TWO, ME, 4, UpToDate(2, 9))
    message.topics[0].partitions *= 2
    response = ask(replica_of(Election(3)), message)
    assert (response.error_code, response.topics) == (ErrorCode.INVALID_REQUEST, [])


# -- EndQuorumEpoch ---------------------------------------------------------------------------


def test_a_candidate_may_end_an_epoch_in_the_draft_alone() -> None:
    """KIP-595, EndQuorumEpoch, Request. Shipped: leaders only, and no other replica is named."""
    draft = kip_595.EndQuorumEpochRequest.PartitionData(replica_id=2, leader_id=-1, leader_epoch=4)
    topic = kip_595.EndQuorumEpochRequest.TopicData(partitions=[draft])
    message = kip_595.EndQuorumEpochRequest(topics=[topic])
    assert kip_595.EndQuorumEpochRequest.decode(message.encode(0), 0) == message
    assert "topics.partitions.replica_id" not in fields(kafka.EndQuorumEpochRequest, 0)
    replica = replica_of(Election(3))
    response = ask(replica, messages.end_quorum_epoch_request(CLUSTER, -1, 4, [THREE], ()))
    assert messages.partition_of(response).error_code == ErrorCode.INVALID_REQUEST
    assert replica.core.epoch == 3


# -- Fetch, DescribeQuorum --------------------------------------------------------------------


def test_a_replica_that_does_not_lead_tells_who_does() -> None:
    """KIP-595, Fetch, Current Leader Discovery."""
    replica = replica_of(Election(3, 2))
    message = messages.fetch_request(
        CLUSTER, THREE, 3, OffsetAndEpoch(0, 0), 0, max_wait_ms=0, max_bytes=1
    )
    partition: Any = messages.partition_of(ask(replica, message))
    assert partition.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (partition.current_leader.leader_id, partition.current_leader.leader_epoch) == (2, 3)


def test_a_replica_that_starts_finds_the_leader_by_fetching() -> None:
    """KIP-595, Fetch, Current Leader Discovery."""
    replica = replica_of(Election(3))
    (fetch,) = sent(replica.start(), kafka.FetchRequest)
    response = fetch_response(7, 3, ErrorCode.FENCED_LEADER_EPOCH)
    effects = replica.step(5000, Response(fetch.number, response))
    assert isinstance(replica.core.role, Follower)
    assert [one.address.port for one in sent(effects, kafka.FetchRequest)] == [9003]


@pytest.mark.parametrize("name", ["current_voters", "target_voters", "observers"])
def test_three_lists_of_replicas_describe_a_quorum_in_the_draft(name: str) -> None:
    """KIP-595, DescribeQuorum, Response. Shipped: without target voters."""
    place = f"topics.partitions.{name}"
    assert {f"{place}.replica_id", f"{place}.log_end_offset"} <= fields(
        kip_595.DescribeQuorumResponse, 0
    )


def test_the_draft_of_vote_is_the_shipped_one_by_other_names() -> None:
    """KIP-595, Vote, Request and Response."""
    renamed = {"candidate_epoch": "replica_epoch", "candidate_id": "replica_id"}
    draft = {name.rpartition(".")[2] for name in fields(kip_595.VoteRequest, 0)}
    shipped = {name.rpartition(".")[2] for name in fields(kafka.VoteRequest, 0)}
    assert {renamed.get(name, name) for name in draft} == shipped
