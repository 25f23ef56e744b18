"""The messages of the codec benchmark, with values as in a busy cluster.

Each is measured in its newest version and in an old one with most of its fields. Clients wait for
the `quick` ones, which have stricter targets.
"""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from kraftwire_messages.kafka import (
    ApiVersionsResponse,
    DescribeQuorumResponse,
    FetchRequest,
    FetchResponse,
    HeartbeatRequest,
    JoinGroupResponse,
    MetadataResponse,
    ProduceRequest,
    RequestHeader,
    VoteRequest,
)
from kraftwire_wire.message import Message

ZERO_UUID = UUID(int=0)
KIBIBYTE = bytes(range(256)) * 4
CLUSTER_ID = "J8dLq3xZTkO0r5nYw2hV1A"


class Payload(NamedTuple):
    """A message to measure.

    Fields:
        name: as the table shows it.
        message: the value, which every version in `versions` can encode.
        versions: the newest, then an old one.
        quick: whether clients wait for it.
    """

    name: str
    message: Message
    versions: tuple[int, ...]
    quick: bool = False


def uuid(number: int) -> UUID:
    """Return a different UUID for each number."""
    return UUID(int=(number + 1) * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128)


def api_versions() -> ApiVersionsResponse:
    """60 API keys."""
    keys = [ApiVersionsResponse.ApiVersion(api_key=key, max_version=key % 18) for key in range(60)]
    return ApiVersionsResponse(api_keys=keys)


def metadata(*, with_ids: bool) -> MetadataResponse:
    """100 topics of 10 partitions, three brokers."""
    host = "broker-{}.kafka.example.internal"
    brokers = [
        MetadataResponse.MetadataResponseBroker(node_id=n, host=host.format(n), port=9092, rack="a")
        for n in range(3)
    ]
    partitions = [
        MetadataResponse.MetadataResponsePartition(
            partition_index=n, leader_id=n % 3, replica_nodes=[0, 1, 2], isr_nodes=[0, 1, 2]
        )
        for n in range(10)
    ]
    topics = [
        MetadataResponse.MetadataResponseTopic(
            name=f"orders-by-region-{n}", partitions=partitions, topic_id=_id(n, with_ids)
        )
        for n in range(100)
    ]
    return MetadataResponse(brokers=brokers, cluster_id=CLUSTER_ID, controller_id=1, topics=topics)


def _id(number: int, with_ids: bool) -> UUID:
    return uuid(number) if with_ids else ZERO_UUID


def _name(number: int, with_ids: bool) -> str:
    return "" if with_ids else f"orders-by-region-{number}"


def fetch_request(*, with_ids: bool) -> FetchRequest:
    """10 topics of 20 partitions."""
    partitions = [
        FetchRequest.FetchPartition(
            partition=n, fetch_offset=1_000_000 + n, partition_max_bytes=1 << 20
        )
        for n in range(20)
    ]
    topics = [
        FetchRequest.FetchTopic(
            partitions=partitions,
            topic_id=_id(n, with_ids),
            topic=_name(n, with_ids),
        )
        for n in range(10)
    ]
    return FetchRequest(max_wait_ms=500, min_bytes=1, max_bytes=50 << 20, topics=topics)


def fetch_response(*, with_ids: bool, with_tags: bool = False) -> FetchResponse:
    """50 partitions with 1 KiB each, on request with two tagged fields each."""
    epoch_end = FetchResponse.EpochEndOffset(epoch=3, end_offset=99)
    leader = FetchResponse.LeaderIdAndEpoch(leader_id=2, leader_epoch=4)
    partitions = [
        FetchResponse.PartitionData(
            partition_index=n,
            high_watermark=1_000_100,
            last_stable_offset=1_000_100,
            log_start_offset=0,
            aborted_transactions=[],
            records=KIBIBYTE,
            diverging_epoch=epoch_end if with_tags else None,
            current_leader=leader if with_tags else None,
        )
        for n in range(10)
    ]
    responses = [
        FetchResponse.FetchableTopicResponse(
            partitions=partitions,
            topic_id=_id(n, with_ids),
            topic=_name(n, with_ids),
        )
        for n in range(5)
    ]
    return FetchResponse(session_id=7, responses=responses)


def produce_request(*, with_ids: bool) -> ProduceRequest:
    """4 topics of 5 partitions with 1 KiB each."""
    partitions = [ProduceRequest.PartitionProduceData(index=n, records=KIBIBYTE) for n in range(5)]
    topics = [
        ProduceRequest.TopicProduceData(
            partition_data=partitions,
            topic_id=_id(n, with_ids),
            name=_name(n, with_ids),
        )
        for n in range(4)
    ]
    return ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=topics)


def vote_request() -> VoteRequest:
    """One partition, as always."""
    partition = VoteRequest.PartitionData(
        replica_epoch=12, replica_id=3, last_offset_epoch=11, last_offset=123_456
    )
    topic = VoteRequest.TopicData(topic_name="__cluster_metadata", partitions=[partition])
    return VoteRequest(cluster_id=CLUSTER_ID, topics=[topic])


def describe_quorum() -> DescribeQuorumResponse:
    """5 voters and 20 observers."""
    states = [
        DescribeQuorumResponse.ReplicaState(
            replica_id=n,
            log_end_offset=123_456 + n,
            last_fetch_timestamp=1_790_000_000_000,
            last_caught_up_timestamp=1_790_000_000_000,
        )
        for n in range(25)
    ]
    partition = DescribeQuorumResponse.PartitionData(
        leader_id=1,
        leader_epoch=12,
        high_watermark=123_456,
        current_voters=states[:5],
        observers=states[5:],
    )
    topic = DescribeQuorumResponse.TopicData(
        topic_name="__cluster_metadata", partitions=[partition]
    )
    return DescribeQuorumResponse(topics=[topic])


def join_group() -> JoinGroupResponse:
    """20 members with 100 bytes of metadata each."""
    members = [
        JoinGroupResponse.JoinGroupResponseMember(
            member_id=f"orders-consumer-{n}-{uuid(n)}", metadata=KIBIBYTE[:100]
        )
        for n in range(20)
    ]
    return JoinGroupResponse(
        generation_id=5,
        protocol_name="range",
        leader=members[0].member_id,
        member_id=members[1].member_id,
        members=members,
    )


def payloads() -> list[Payload]:
    """Return all payloads, in both versions."""
    heartbeat = HeartbeatRequest(
        group_id="orders-consumer", generation_id=5, member_id=f"orders-consumer-{uuid(1)}"
    )
    header = RequestHeader(
        request_api_key=3, request_api_version=12, correlation_id=77, client_id="orders-consumer"
    )
    return [
        Payload("ApiVersionsResponse 60", api_versions(), (4, 0), quick=True),
        Payload("MetadataResponse 100x10", metadata(with_ids=True), (13,), quick=True),
        Payload("MetadataResponse 100x10", metadata(with_ids=False), (5,), quick=True),
        Payload("FetchRequest 200", fetch_request(with_ids=True), (17,)),
        Payload("FetchRequest 200", fetch_request(with_ids=False), (11,)),
        Payload("FetchResponse 50x1KiB", fetch_response(with_ids=True), (17,)),
        Payload("FetchResponse 50x1KiB", fetch_response(with_ids=False), (11,)),
        Payload("FetchResponse 50x1KiB tags", fetch_response(with_ids=True, with_tags=True), (17,)),
        Payload(
            "FetchResponse 50x1KiB tags", fetch_response(with_ids=False, with_tags=True), (12,)
        ),
        Payload("ProduceRequest 20x1KiB", produce_request(with_ids=True), (13,)),
        Payload("ProduceRequest 20x1KiB", produce_request(with_ids=False), (8,)),
        Payload("VoteRequest", vote_request(), (2, 0)),
        Payload("DescribeQuorumResponse 5+20", describe_quorum(), (2, 1)),
        Payload("JoinGroupResponse 20", join_group(), (9, 5)),
        Payload("HeartbeatRequest", heartbeat, (4, 3), quick=True),
        Payload("RequestHeader", header, (2, 1), quick=True),
    ]
