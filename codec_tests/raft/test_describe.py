"""DescribeQuorum: who is told what of whom."""

from __future__ import annotations

from uuid import UUID

import pytest

from kraftwire.log.directories.partition import METADATA_TOPIC
from kraftwire.raft.core.inputs import Flushed, Resign, Tick
from kraftwire.raft.core.messages import partition_of, remove_raft_voter_request
from kraftwire.raft.state.voters import ReplicaKey
from kraftwire_wire.numbers import ErrorCode

from codec_tests.raft.replicas import (
    CLUSTER,
    ME,
    THREE,
    TWO,
    ask,
    describe_request,
    elected,
    fetched,
    lead,
    states,
)

FOUR = ReplicaKey(4, UUID(int=4))


def test_what_a_leader_tells() -> None:
    replica = elected()
    response = ask(replica, describe_request())
    partition = partition_of(response)
    assert (response.error_code, response.error_message) == (0, None)
    assert (partition.leader_id, partition.leader_epoch) == (1, 4)
    assert partition.high_watermark == replica.core.log.end
    keys = [
        ReplicaKey(one.replica_id, one.replica_directory_id) for one in partition.current_voters
    ]
    assert keys == [ME, TWO, THREE]
    assert [one.node_id for one in response.nodes] == [1, 2, 3]
    assert [(one.name, one.port) for one in response.nodes[1].listeners] == [("CONTROLLER", 9002)]


def test_ends_and_times_of_replicas() -> None:
    replica = elected()
    lead(replica).progress[THREE].end_offset = None
    lead(replica).progress[THREE].last_fetch_ms = -1
    replica.core.now += 700
    (mine, two, three), _ = states(replica)
    end = replica.core.log.end
    assert (mine.log_end_offset, two.log_end_offset, three.log_end_offset) == (end, end, -1)
    assert (mine.last_fetch_timestamp, mine.last_caught_up_timestamp) == (5700, 5700)
    assert (two.last_fetch_timestamp, three.last_fetch_timestamp) == (5000, -1)


@pytest.mark.parametrize("version", [0, 1])
def test_earlier_versions_have_less(version: int) -> None:
    replica = elected()
    (_, two, _), _ = states(replica, version)
    assert two.last_fetch_timestamp == (5000 if version else -1)
    assert two.replica_directory_id == UUID(int=0)


def test_nothing_is_committed_yet() -> None:
    replica = elected()
    lead(replica).high_watermark = None
    assert partition_of(ask(replica, describe_request())).high_watermark == -1


def test_observers_are_there_until_they_have_not_fetched_for_a_session() -> None:
    replica = elected()
    fetched(replica, FOUR)
    _, observers = states(replica)
    assert [one.replica_id for one in observers] == [4]
    fetched_at = replica.core.now
    replica.core.now = fetched_at + 299_999
    lead(replica).check_quorum_deadline = replica.core.now + 3000
    assert len(states(replica)[1]) == 1
    replica.core.now += 1
    assert states(replica)[1] == []
    assert FOUR not in lead(replica).progress
    assert TWO in lead(replica).progress, "voters are never forgotten"


def test_a_leader_that_is_removed_is_an_observer() -> None:
    replica = elected()
    ask(replica, remove_raft_voter_request(CLUSTER, ME))
    replica.step(5000, Flushed(replica.core.log.end))
    replica.step(7000, Tick())
    replica.core.now = 900_000
    lead(replica).check_quorum_deadline = 900_001
    voters, observers = states(replica)
    assert [one.replica_id for one in voters] == [2, 3]
    assert [(one.replica_id, one.last_fetch_timestamp) for one in observers] == [(1, 900_000)]


def test_other_partitions_are_not_described() -> None:
    replica = elected()
    replica.step(5000, Resign())
    for topic_name, *partitions in (("other",), (METADATA_TOPIC, 0, 1), (METADATA_TOPIC, 7)):
        message = describe_request(topic_name, *partitions)
        response = ask(replica, message)
        (topic,) = response.topics
        assert response.error_code == 0
        assert [one.partition_index for one in topic.partitions] == [
            one.partition_index for one in message.topics[0].partitions
        ]
        errors = {one.error_code for one in topic.partitions}
        assert errors == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


def test_only_a_leader_describes() -> None:
    replica = elected()
    replica.step(5000, Resign())
    partition = partition_of(ask(replica, describe_request()))
    assert partition.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert partition.error_message
    assert (partition.leader_id, partition.current_voters) == (0, [])
