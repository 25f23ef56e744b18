"""Choosing frames; a request and its response stay together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from uuid import UUID

import pytest

from kraftwire.capture.decoding import selection
from kraftwire.capture.decoding.decoder import decode_frames
from kraftwire.capture.decoding.selection import FrameSelection
from kraftwire.capture.decoding.topics import topics_of
from kraftwire.capture.frame import Frame
from kraftwire_messages.kafka import (
    DeleteTopicsRequest,
    FetchRequest,
    FetchResponse,
    ListGroupsRequest,
    MetadataResponse,
    ProduceRequest,
    registry,
)
from kraftwire_wire.uuids import format_uuid

from codec_tests.capture.sample_frames import (
    metadata_request,
    metadata_response,
    produce_request,
    request,
    response,
)

TEA, CUPS = UUID(int=77), UUID(int=88)


def choose(frames: Iterable[Frame], **wanted: object) -> list[int]:
    """The numbers of the frames that are chosen, in their order."""
    chosen = FrameSelection(**wanted)  # type: ignore[arg-type]
    return [one.number for one in chosen.apply(decode_frames(frames, registry))]


def fetch(correlation_id: int, topic_id: UUID) -> list[Frame]:
    asked = FetchRequest(topics=[FetchRequest.FetchTopic(topic_id=topic_id)])
    return [request(asked, 17, correlation_id), response(FetchResponse(), 17, correlation_id)]


def metadata(correlation_id: int) -> list[Frame]:
    topics = [
        MetadataResponse.MetadataResponseTopic(name=name, topic_id=topic_id)
        for name, topic_id in (("tea", TEA), ("cups", CUPS))
    ]
    answer = MetadataResponse(topics=topics)
    return [metadata_request(correlation_id), response(answer, 12, correlation_id)]


def test_topics_are_found_by_schema() -> None:
    partition = ProduceRequest.TopicProduceData(name="tea", topic_id=TEA)
    assert list(topics_of(ProduceRequest(topic_data=[partition]))) == [("tea", TEA)]
    by_id = FetchRequest(topics=[FetchRequest.FetchTopic(topic_id=TEA)])
    assert list(topics_of(by_id)) == [(None, TEA)]
    names = DeleteTopicsRequest(topic_names=["tea", "cups"])
    assert list(topics_of(names)) == [("tea", None), ("cups", None)]
    assert list(topics_of(ListGroupsRequest())) == []


def test_an_exchange_belongs_to_the_topics_that_either_message_names() -> None:
    frames = [*metadata(1), *fetch(2, TEA), *fetch(3, CUPS)]
    assert choose(frames, topic="tea") == [1, 2, 3, 4]
    assert choose(frames, topic="cups") == [1, 2, 5, 6]
    assert choose(frames, topic=format_uuid(CUPS)) == [1, 2, 5, 6]
    assert choose(frames, topic="saucers") == []
    assert choose(frames, topic="tea", api_key=1) == [3, 4]


def test_a_topic_id_is_unknown_until_a_message_names_it() -> None:
    assert choose([*fetch(1, TEA), *metadata(2)], topic="tea") == [3, 4]


def test_a_request_is_yielded_just_before_its_response() -> None:
    asked, answered = metadata(1)
    others = [*fetch(2, TEA)]
    assert choose([asked, *others, answered], topic="tea") == [1, 4]
    assert choose([asked, *others, answered], topic=format_uuid(TEA)) == [2, 3, 1, 4]


def test_a_response_belongs_to_the_client_of_its_request() -> None:
    frames = [metadata_request(1), metadata_response(1), replace(metadata_response(9))]
    assert choose(frames, client_id="tester") == [1, 2]
    assert choose(frames, client_id="other") == []
    assert choose(frames) == [1, 2, 3]


def test_waiting_requests_are_limited_by_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    frames = [metadata(number) for number in (1, 2, 3)]
    size = len(frames[0][0].data)
    monkeypatch.setattr(selection, "_MAX_HELD_BYTES", 2 * size)
    shuffled = [asked for asked, _ in frames] + [answered for _, answered in frames]
    assert choose(shuffled, topic="tea") == [4, 2, 5, 3, 6]


def test_requests_without_a_response_do_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Producers with acks=0 once held their batches in memory."""
    asked, answered = metadata(1)
    monkeypatch.setattr(selection, "_MAX_HELD", 1)
    unanswered = [produce_request(number, acks=0) for number in range(2, 6)]
    assert choose([asked, *unanswered, answered], topic="tea") == [1, 6]
