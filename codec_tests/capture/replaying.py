"""Scripted cassettes, and asking a replay of them."""

from __future__ import annotations

from itertools import count
from typing import Any

from kraftwire.capture.frame import Frame
from kraftwire.capture.replay.replay import Replay, Reply
from kraftwire.log import Record
from kraftwire.log.batches.encoding import BatchSettings, encode_batch
from kraftwire_messages.kafka import (
    FetchRequest,
    FetchResponse,
    MetadataRequest,
    MetadataResponse,
    ProduceRequest,
    ProduceResponse,
    registry,
)
from kraftwire_wire.message import Message

from codec_tests.capture.sample_frames import request, response

_numbers = count(1)

Pair = tuple[Message, Message | None, int]


def cassette(*pairs: Pair) -> list[Frame]:
    """Frames of one connection: requests with their responses, and the version."""
    frames = []
    for asked, answered, version in pairs:
        number = next(_numbers)
        frames.append(request(asked, version, number))
        if answered is not None:
            frames.append(response(answered, version, number))
    return frames


def replay(*pairs: Pair, **settings: Any) -> Replay:
    return Replay(cassette(*pairs), registry, **settings)


def nowhere(_host: str, _port: int) -> None:
    """No address is rewritten."""


def ask_raw(core: Replay, message: Message, version: int, **how: Any) -> tuple[Any, Reply]:
    header = registry.request_header(message, version, correlation_id=next(_numbers))
    reply = core.answer(registry.encode_request(header, message), nowhere, **how)
    return header, reply


def ask(core: Replay, message: Message, version: int) -> Any:
    """The answer, whose correlation id has to be that of the request."""
    header, reply = ask_raw(core, message, version)
    assert reply.data is not None, [str(miss) for miss in core.misses]
    _, answered = registry.decode_response(reply.data, header)
    return answered


def is_missed(core: Replay, message: Message, version: int) -> bool:
    before = core.missed
    _, reply = ask_raw(core, message, version)
    assert (reply.data is None) == reply.is_miss
    return core.missed == before + 1


def batch(first: int, *values: bytes, timestamp: int = 1000, producer: int = -1) -> bytes:
    records = [Record(first + at, timestamp, None, value, ()) for at, value in enumerate(values)]
    return encode_batch(records, BatchSettings(producer_id=producer))


A_BATCH = batch(0, b"one", b"two")


def produce(records: bytes, topic: str = "tea", partition: int = 0, acks: int = -1) -> Any:
    data = ProduceRequest.PartitionProduceData(index=partition, records=records)
    topics = [ProduceRequest.TopicProduceData(name=topic, partition_data=[data])]
    return ProduceRequest(acks=acks, timeout_ms=100, topic_data=topics)


def produced(offset: int, error_code: int = 0, topic: str = "tea", partition: int = 0) -> Any:
    answer = ProduceResponse.PartitionProduceResponse(
        index=partition, base_offset=offset, error_code=error_code
    )
    topics = [ProduceResponse.TopicProduceResponse(name=topic, partition_responses=[answer])]
    return ProduceResponse(responses=topics)


def fetch(offset: int, partition: int = 0, **more: Any) -> Any:
    asked = FetchRequest.FetchPartition(
        partition=partition, fetch_offset=offset, partition_max_bytes=1 << 20
    )
    topic = FetchRequest.FetchTopic(topic="tea", partitions=[asked])
    return FetchRequest(topics=[topic], max_wait_ms=50, **more)


def fetched(records: bytes, partition: int = 0, error_code: int = 0, **more: Any) -> Any:
    answer = FetchResponse.PartitionData(
        partition_index=partition, records=records, error_code=error_code, high_watermark=9
    )
    topic = FetchResponse.FetchableTopicResponse(topic="tea", partitions=[answer])
    return FetchResponse(responses=[topic], **more)


def values_of(answer: Any) -> list[bytes]:
    """What records a FetchResponse has."""
    from kraftwire.capture.replay.partition_logs import contents_of

    (topic,) = answer.responses
    return [
        value or b"" for part in topic.partitions for _, value, _ in contents_of(part.records) or ()
    ]


def metadata(*topics: str, host: str = "10.0.0.1", port: int = 9092) -> Pair:
    broker = MetadataResponse.MetadataResponseBroker(node_id=1, host=host, port=port)
    asked = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=t) for t in topics])
    answers = [
        MetadataResponse.MetadataResponseTopic(
            name=topic,
            partitions=[MetadataResponse.MetadataResponsePartition(partition_index=0)],
        )
        for topic in topics
    ]
    return asked, MetadataResponse(brokers=[broker], topics=answers), 12
