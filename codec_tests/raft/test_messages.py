"""Requests of a replica, at every version that it speaks, and those that are not about metadata."""

from __future__ import annotations

from uuid import UUID

import pytest

from kraftwire.raft.core.messages import (
    begin_quorum_epoch_request,
    end_quorum_epoch_request,
    fetch_request,
    fetch_snapshot_request,
    partition_of,
    vote_request,
)
from kraftwire.raft.metadata_log.log_state import OffsetAndEpoch, UpToDate
from kraftwire.raft.state.voters import Listener, ReplicaKey
from kraftwire_messages.kafka import DescribeQuorumRequest, VoteRequest, registry
from kraftwire_wire.message import Message

ME, OTHER = ReplicaKey(1, UUID(int=10)), ReplicaKey(2, UUID(int=11))
LISTENERS = (Listener("CONTROLLER", "127.0.0.1", 9093),)

REQUESTS: list[tuple[Message, int]] = [
    (vote_request("c", ME, OTHER, 7, UpToDate(6, 99), pre_vote=True), 2),
    (vote_request(None, ME, OTHER, 7, UpToDate(6, 99)), 1),
    (begin_quorum_epoch_request("c", 1, OTHER, 7, LISTENERS), 1),
    (end_quorum_epoch_request("c", 1, 7, [OTHER], LISTENERS), 1),
    (fetch_request("c", ME, 7, OffsetAndEpoch(99, 6), 98, max_wait_ms=500, max_bytes=9), 18),
    (fetch_request("c", ME, 7, OffsetAndEpoch(99, 6), 98, max_wait_ms=500, max_bytes=9), 17),
    (fetch_snapshot_request("c", ME, 7, OffsetAndEpoch(99, 6), 3, max_bytes=9), 1),
]


@pytest.mark.parametrize(("request_", "version"), REQUESTS, ids=str)
def test_a_request_says_its_partition_at_the_other_end(request_: Message, version: int) -> None:
    decoded = type(request_).decode(request_.encode(version), version)
    assert partition_of(decoded) is not None
    assert decoded.encode(version) == request_.encode(version)


def test_requests_about_anything_else_have_no_partition() -> None:
    good = VoteRequest.PartitionData()
    topic = VoteRequest.TopicData
    for topics in (
        [],
        [topic(topic_name="tea", partitions=[good])],
        [topic(topic_name="__cluster_metadata", partitions=[])],
        [topic(topic_name="__cluster_metadata", partitions=[good, good])],
        [
            topic(
                topic_name="__cluster_metadata",
                partitions=[VoteRequest.PartitionData(partition_index=1)],
            )
        ],
        [topic(topic_name="__cluster_metadata", partitions=[good])] * 2,
    ):
        assert partition_of(VoteRequest(topics=topics)) is None


def test_what_clients_send_has_a_partition_too() -> None:
    asked = DescribeQuorumRequest.TopicData(
        topic_name="__cluster_metadata", partitions=[DescribeQuorumRequest.PartitionData()]
    )
    assert partition_of(DescribeQuorumRequest(topics=[asked])) is not None
    assert registry.request(55) is DescribeQuorumRequest
