"""FetchSnapshot, as a leader answers it: the checks in their order, pieces, who is counted."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from kraftwire.raft.core.effects import Effect, Reply, SnapshotSlice
from kraftwire.raft.core.inputs import Request
from kraftwire.raft.core.messages import partition_of
from kraftwire.raft.metadata_log.log_state import BOOTSTRAP, OffsetAndEpoch
from kraftwire.raft.replica import Replica
from kraftwire.raft.state.voters import ReplicaKey
from kraftwire_messages.kafka import FetchSnapshotRequest, FetchSnapshotResponse
from kraftwire_wire.numbers import ErrorCode

from codec_tests.raft.replicas import (
    CLUSTER,
    LISTENER,
    ME,
    TWO,
    ask,
    elected,
    lead,
    snapshot_request,
    take_snapshot,
)


def give(replica: Replica, message: FetchSnapshotRequest) -> list[Effect]:
    return replica.step(replica.core.now, Request("asked", message, 1, LISTENER))


def test_a_piece_comes_with_where_it_is_and_who_leads() -> None:
    replica = elected()
    snapshot, content = take_snapshot(replica)
    (reply,) = give(replica, snapshot_request(snapshot, 10))
    assert isinstance(reply, Reply)
    assert reply.content == SnapshotSlice(snapshot, 10, 1000)
    assert isinstance(reply.message, FetchSnapshotResponse)
    partition = partition_of(reply.message)
    assert (partition.error_code, partition.size, partition.position) == (0, len(content), 10)
    assert (partition.snapshot_id.end_offset, partition.snapshot_id.epoch) == snapshot
    assert (partition.current_leader.leader_id, partition.current_leader.leader_epoch) == (1, 4)
    assert [(one.node_id, one.port) for one in reply.message.node_endpoints] == [(1, 9001)]


def test_version_0_has_no_room_for_endpoints() -> None:
    replica = elected()
    snapshot, _ = take_snapshot(replica)
    assert ask(replica, snapshot_request(snapshot), version=0).node_endpoints == []


@pytest.mark.parametrize(("asked", "given"), [(1 << 30, 1 << 20), (5, 5), (0, 1), (-1, 1)])
def test_a_piece_is_never_empty_and_never_too_large(asked: int, given: int) -> None:
    replica = elected()
    snapshot, _ = take_snapshot(replica)
    (reply,) = give(replica, snapshot_request(snapshot, max_bytes=asked))
    assert isinstance(reply, Reply)
    assert reply.content == SnapshotSlice(snapshot, 0, given)


def wrong(**more: Any) -> FetchSnapshotRequest:
    """A request whose checks fail from a certain one on."""
    found = snapshot_request(OffsetAndEpoch(77, 7), -1, epoch=more.get("epoch", 9))
    found.cluster_id = more.get("cluster_id", CLUSTER)
    found.topics[0].name = more.get("name", found.topics[0].name)
    found.topics[0].partitions[0].partition = more.get("partition", 0)
    found.topics *= more.get("topics", 1)
    return found


@pytest.mark.parametrize(
    ("message", "error"),
    [
        (wrong(cluster_id="other", topics=0), ErrorCode.INCONSISTENT_CLUSTER_ID),
        (wrong(topics=0), ErrorCode.INVALID_REQUEST),
        (wrong(topics=2), ErrorCode.INVALID_REQUEST),
    ],
)
def test_errors_about_the_whole_request(message: FetchSnapshotRequest, error: ErrorCode) -> None:
    response = ask(elected(), message)
    assert (response.error_code, response.topics) == (error, [])


@pytest.mark.parametrize("more", [{"name": "other"}, {"partition": 5}])
def test_another_partition_is_not_known(more: dict[str, Any]) -> None:
    response = ask(elected(), wrong(**more))
    (topic,) = response.topics
    (partition,) = topic.partitions
    assert partition.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert (topic.name, partition.index) == (more.get("name", topic.name), more.get("partition", 0))
    assert partition.current_leader is None


UNKNOWN = OffsetAndEpoch(77, 7)


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"snapshot": UNKNOWN, "epoch": 3}, ErrorCode.FENCED_LEADER_EPOCH),
        ({"snapshot": UNKNOWN, "epoch": 5}, ErrorCode.UNKNOWN_LEADER_EPOCH),
        ({"snapshot": UNKNOWN, "replica": ME}, ErrorCode.UNKNOWN_SERVER_ERROR),
        ({"snapshot": UNKNOWN, "position": -1}, ErrorCode.SNAPSHOT_NOT_FOUND),
        ({"snapshot": BOOTSTRAP}, ErrorCode.SNAPSHOT_NOT_FOUND),
        ({"position": -1}, ErrorCode.POSITION_OUT_OF_RANGE),
        ({"position": 1 << 40}, ErrorCode.POSITION_OUT_OF_RANGE),
    ],
)
def test_errors_about_the_partition_in_their_order(more: dict[str, Any], error: ErrorCode) -> None:
    replica = elected()
    snapshot, _ = take_snapshot(replica)
    response = ask(replica, snapshot_request(**{"snapshot": snapshot, **more}))
    partition = partition_of(response)
    assert (response.error_code, partition.error_code) == (0, error)
    assert partition.unaligned_records == b""
    assert (partition.current_leader.leader_id, partition.current_leader.leader_epoch) == (1, 4)


def test_the_byte_behind_the_last_is_out_of_range() -> None:
    replica = elected()
    snapshot, content = take_snapshot(replica)
    for position, error in ((len(content) - 1, 0), (len(content), ErrorCode.POSITION_OUT_OF_RANGE)):
        partition = partition_of(ask(replica, snapshot_request(snapshot, position)))
        assert partition.error_code == error


def test_who_does_not_lead_serves_no_snapshots() -> None:
    replica = elected()
    snapshot, _ = take_snapshot(replica)
    replica.core.become_resigned()
    partition = partition_of(ask(replica, snapshot_request(snapshot)))
    assert partition.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_who_fetches_a_snapshot_is_heard_but_has_not_come_further() -> None:
    replica = elected()
    snapshot, _ = take_snapshot(replica)
    replica.step(7900, request_of(snapshot, ReplicaKey(2, UUID(int=99))))
    assert lead(replica).check_quorum_deadline == 8000, "an observer does not count"
    before = lead(replica).progress[TWO]
    known = (before.end_offset, before.last_fetch_ms)
    replica.step(7900, request_of(snapshot, TWO))
    assert lead(replica).check_quorum_deadline == 7900 + 3000
    after = lead(replica).progress[TWO]
    assert (after.end_offset, after.last_fetch_ms) == known


def request_of(snapshot: OffsetAndEpoch, replica: ReplicaKey) -> Request:
    return Request("asked", snapshot_request(snapshot, replica=replica), 1, LISTENER)


def test_who_asks_for_what_is_not_there_is_not_heard() -> None:
    replica = elected()
    replica.step(7900, request_of(UNKNOWN, TWO))
    assert lead(replica).check_quorum_deadline == 8000
