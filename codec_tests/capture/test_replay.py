"""A cassette as a broker: which recorded answer a request gets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftwire.capture.cassette import CassetteReader
from kraftwire.capture.frame import Frame
from kraftwire.capture.replay.replay import Replay
from kraftwire_messages.kafka import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    MetadataRequest,
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
    registry,
)

from codec_tests.capture.replaying import (
    A_BATCH,
    ask,
    ask_raw,
    cassette,
    fetch,
    fetched,
    is_missed,
    metadata,
    nowhere,
    produce,
    produced,
    replay,
)
from codec_tests.capture.sample_frames import CAPTURE

KAFKA = CAPTURE.parent / "kafka.jsonl"


def coordinator(code: int) -> FindCoordinatorResponse:
    return FindCoordinatorResponse(error_code=code)


def heartbeat(code: int, generation: int = 1) -> tuple[Any, Any, int]:
    asked = HeartbeatRequest(group_id="g", generation_id=generation, member_id="m")
    return asked, HeartbeatResponse(error_code=code), 4


def delete(*names: str) -> DeleteTopicsRequest:
    return DeleteTopicsRequest(topic_names=list(names), timeout_ms=7)


# -- the order of answers ------------------------------------------------------------------


def test_answers_come_in_the_order_of_the_recording() -> None:
    asked = FindCoordinatorRequest(key="g")
    core = replay((asked, coordinator(15), 3), (asked, coordinator(0), 3))
    assert [ask(core, asked, 3).error_code for _ in range(4)] == [15, 0, 0, 0]
    assert core.misses == []


def test_requests_that_are_not_polled_are_answered_once() -> None:
    core = replay((delete("a"), DeleteTopicsResponse(throttle_time_ms=5), 5))
    assert ask(core, delete("a"), 5).throttle_time_ms == 5
    assert is_missed(core, delete("a"), 5)
    assert "more often than recorded" in str(core.misses[0])


def test_the_nearest_of_two_matches_is_used() -> None:
    core = replay(heartbeat(0), heartbeat(27), heartbeat(0, generation=2))
    later = HeartbeatRequest(group_id="g", generation_id=2, member_id="m")
    assert [ask(core, later, 4).error_code for _ in range(3)] == [0, 0, 0]
    first = replace(later, generation_id=1)
    assert [ask(core, first, 4).error_code for _ in range(2)] == [0, 27]


def test_a_client_sees_no_effects_before_their_cause() -> None:
    joining = JoinGroupRequest(group_id="g", member_id="other")
    core = replay(heartbeat(0), (joining, JoinGroupResponse(), 7), heartbeat(27))
    asked, _, version = heartbeat(0)
    assert [ask(core, asked, version).error_code for _ in range(3)] == [0, 0, 0]
    ask(core, joining, 7)
    assert ask(core, asked, version).error_code == 27


def test_unrecorded_heartbeats_are_answered() -> None:
    core = replay(heartbeat(27))
    asked, _, version = heartbeat(0)
    assert ask(core, replace(asked, member_id="other"), version).error_code == 0
    assert ask(core, replace(asked, generation_id=2), version).error_code == 0
    assert is_missed(core, replace(asked, group_id="other"), version)


def test_a_request_without_an_answer_gets_none_again() -> None:
    core = replay((delete("a"), None, 5), metadata("tea"))
    _, reply = ask_raw(core, delete("a"), 5)
    assert (reply.data, reply.is_miss) == (None, False)


def test_a_reply_has_the_brokers_response_time() -> None:
    frames = cassette(metadata("tea"))
    frames[1] = replace(frames[1], time=frames[0].time + 2.5)
    _, reply = ask_raw(Replay(frames, registry), metadata("tea")[0], 12)
    assert reply.delay_s == 2.5


def test_a_recorded_kafka_answers_all_recorded_requests() -> None:
    """Each request of the committed capture, in its order; every answer is of its kind."""
    with KAFKA.open("rb") as stream:
        frames = list(CassetteReader(stream, KAFKA.name))
    core = Replay(frames, registry)
    requests = [frame.data for frame in frames if frame.direction == "request"]
    replies = [core.answer(data, nowhere) for data in requests]
    assert [str(miss) for miss in core.misses] == []
    assert core.tape.unused() == {}
    for data, reply in zip(requests, replies, strict=True):
        if reply.data is not None:
            registry.decode_response(reply.data, registry.decode_request_header(data)[0])


# -- what may differ -----------------------------------------------------------------------


def test_only_volatile_fields_may_differ() -> None:
    asked = JoinGroupRequest(group_id="g", protocol_type="consumer", session_timeout_ms=6000)
    core = replay((asked, JoinGroupResponse(generation_id=3), 7))
    assert is_missed(core, replace(asked, group_id="other"), 7)
    (found,) = core.misses[0].differences
    assert (found.path, found.actual, found.expected) == ("group_id", "other", "g")
    living = replace(asked, session_timeout_ms=1, member_id="me", reason="restarted")
    assert ask(core, living, 8).generation_id == 3


def test_more_fields_are_ignored_on_request() -> None:
    recorded = delete("a"), DeleteTopicsResponse(), 5
    assert is_missed(replay(recorded), delete("b"), 5)
    assert ask(replay(recorded, ignore=["DeleteTopicsRequest.topic_names"]), delete("b"), 5)
    assert ask(replay(recorded, ignore=["*.topic_*"]), delete("b"), 5)


@pytest.mark.parametrize("bad", ["", "topics", ".topics", "DeleteTopicsRequest."])
def test_a_path_without_a_message_is_refused(bad: str) -> None:
    with pytest.raises(ValueError, match=r"Message\.path"):
        replay(ignore=[bad])


def test_the_order_of_a_list_is_ignored() -> None:
    core = replay((delete("a", "b"), DeleteTopicsResponse(), 5))
    assert ask(core, delete("b", "a"), 5)


def test_redacted_fields_match_anything() -> None:
    asked = delete("(redacted)")
    frames = cassette((asked, DeleteTopicsResponse(), 5))
    first = frames[0]
    frames[0] = Frame(
        first.connection, first.direction, first.time, first.data, redacted=("topic_names[0]",)
    )
    assert ask(Replay(frames, registry), delete("secret"), 5)


def test_any_login_is_answered() -> None:
    recorded = SaslAuthenticateRequest(auth_bytes=b"(redacted)")
    core = replay((recorded, SaslAuthenticateResponse(session_lifetime_ms=9), 2))
    for secret in (b"\0alice\0wonder", b"other"):
        answer = ask(core, SaslAuthenticateRequest(auth_bytes=secret), 2)
        assert answer.session_lifetime_ms == 9


def test_a_scram_login_cannot_be_replayed() -> None:
    frames = cassette((SaslHandshakeRequest(mechanism="SCRAM-SHA-256"), SaslHandshakeResponse(), 1))
    (problem,) = Replay(frames, registry).tape.problems
    assert problem.startswith("frame 1: SCRAM-SHA-256: its clients verify a proof")


# -- versions ------------------------------------------------------------------------------


def test_a_response_has_the_requested_version() -> None:
    core = replay(metadata("tea"))
    asked = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name="tea")])
    for version in MetadataRequest.VALID_VERSIONS:
        assert ask(core, asked, version).topics[0].name == "tea"


def test_an_unknown_version_is_refused_as_by_brokers() -> None:
    known = ApiVersionsResponse.ApiVersion(api_key=18, min_version=0, max_version=4)
    core = replay((ApiVersionsRequest(), ApiVersionsResponse(api_keys=[known]), 4))
    data = bytes.fromhex("0012 0063 00000007 0001 61 00")
    reply = core.answer(data, nowhere)
    assert reply.data is not None
    assert reply.data[:6] == bytes.fromhex("00000007 0023")
    assert ApiVersionsResponse.decode(reply.data[4:], 0).api_keys == [known]


def test_a_field_that_moved_between_versions_is_compared() -> None:
    recorded = FindCoordinatorRequest(coordinator_keys=["g"])
    answer = FindCoordinatorResponse.Coordinator(key="g", port=1)
    core = replay((recorded, FindCoordinatorResponse(coordinators=[answer]), 4))
    assert is_missed(core, FindCoordinatorRequest(key="other"), 3)
    assert ask(core, recorded, 5).coordinators == [answer]


def test_a_response_that_the_version_cannot_encode_is_a_miss() -> None:
    asked = JoinGroupRequest(group_id="g")
    core = replay((asked, JoinGroupResponse(skip_assignment=True), 9))
    assert is_missed(core, asked, 8)
    assert "cannot be encoded in this version: skip_assignment" in str(core.misses[0])


# -- requests about several things ---------------------------------------------------------


def test_topics_may_be_requested_together_or_separately() -> None:
    def asked(*names: str) -> MetadataRequest:
        return MetadataRequest(
            topics=[MetadataRequest.MetadataRequestTopic(name=name) for name in names]
        )

    apart = replay(metadata("tea"), metadata("cups"))
    together = ask(apart, asked("cups", "tea"), 12)
    assert [topic.name for topic in together.topics] == ["cups", "tea"]
    assert len(together.brokers) == 1
    core = replay(metadata("tea", "cups"))
    assert [topic.name for topic in ask(core, asked("cups"), 12).topics] == ["cups"]
    assert is_missed(core, asked("cups", "milk"), 12)


def test_partitions_may_be_requested_together_or_separately() -> None:
    def asked(*partitions: int) -> ListOffsetsRequest:
        each = [ListOffsetsRequest.ListOffsetsPartition(partition_index=at) for at in partitions]
        topic = ListOffsetsRequest.ListOffsetsTopic(name="tea", partitions=each)
        return ListOffsetsRequest(topics=[topic])

    def answer(*partitions: int) -> ListOffsetsResponse:
        each = [
            ListOffsetsResponse.ListOffsetsPartitionResponse(partition_index=at, offset=10 + at)
            for at in partitions
        ]
        topic = ListOffsetsResponse.ListOffsetsTopicResponse(name="tea", partitions=each)
        return ListOffsetsResponse(topics=[topic])

    core = replay((asked(0), answer(0), 7), (asked(1, 2), answer(1, 2), 7))
    (topic,) = ask(core, asked(2, 0), 7).topics
    assert [(one.partition_index, one.offset) for one in topic.partitions] == [(2, 12), (0, 10)]


# -- what clients make up ------------------------------------------------------------------


def test_a_member_keeps_its_own_id() -> None:
    def asked(member: str, epoch: int) -> ConsumerGroupHeartbeatRequest:
        return ConsumerGroupHeartbeatRequest(group_id="g", member_id=member, member_epoch=epoch)

    def answer(epoch: int) -> ConsumerGroupHeartbeatResponse:
        return ConsumerGroupHeartbeatResponse(member_id="recorded", member_epoch=epoch)

    core = replay(
        (asked("recorded", 0), answer(1), 1),
        (asked("recorded", 1), answer(1), 1),
        (asked("recorded", -1), answer(-1), 1),
    )
    for epoch, expected in ((0, 1), (1, 1), (1, 1), (-1, -1)):
        found = ask(core, asked("living", epoch), 1)
        assert (found.member_id, found.member_epoch) == ("living", expected)


def test_addresses_are_those_of_the_replay() -> None:
    core = replay(metadata("tea", port=9092), metadata("cups", port=9093))
    assert core.addresses() == [("10.0.0.1", 9092), ("10.0.0.1", 9093)]
    header = registry.request_header(metadata("tea")[0], 12, correlation_id=3)
    data = registry.encode_request(header, metadata("tea")[0])
    reply = core.answer(data, lambda host, port: ("here", port + 1))
    assert reply.data is not None
    answered: Any = registry.decode_response(reply.data, header)[1]
    assert (answered.brokers[0].host, answered.brokers[0].port) == ("here", 9093)


# -- misses and damage ---------------------------------------------------------------------


def test_a_repeated_miss_is_one_miss() -> None:
    core = replay(metadata("tea"))
    for _ in range(3):
        assert is_missed(core, delete("a"), 5)
    assert (len(core.misses), core.misses[0].count, core.missed) == (1, 3, 3)
    assert "the cassette has no such request (asked 3 times)" in str(core.misses[0])


def test_a_miss_can_be_answered_with_an_error() -> None:
    core = replay(metadata("tea"), answer_misses=True)
    asked = JoinGroupRequest(group_id="g")
    header, reply = ask_raw(core, asked, 7)
    assert reply.data is not None
    answered: Any = registry.decode_response(reply.data, header)[1]
    assert (answered.error_code, reply.is_miss, core.missed) == (-1, False, 1)


def test_an_unreadable_frame_is_a_problem_and_the_rest_is_replayed() -> None:
    frames = cassette((delete("a"), DeleteTopicsResponse(), 5), metadata("tea"))
    frames[0] = replace(frames[0], data=frames[0].data[:-1])
    core = Replay(frames, registry)
    (problem,) = core.tape.problems
    assert problem.startswith("frame 1: tags: varint is cut off")
    assert ask(core, metadata("tea")[0], 12)


@given(st.binary(max_size=60))
def test_no_bytes_stop_the_replay(data: bytes) -> None:
    core = replay(metadata("tea"))
    for start in (
        b"",
        bytes.fromhex("0000 0009 00000001 ffff"),
        bytes.fromhex("0001 000c 00000001"),
    ):
        core.answer(start + data, nowhere)
    assert ask(core, metadata("tea")[0], 12)


@given(st.integers(0, 200), st.integers(0, 255), st.sampled_from(["produce", "fetch", "metadata"]))
def test_no_damaged_request_stops_the_replay(at: int, byte: int, what: str) -> None:
    asked = {"produce": produce(A_BATCH), "fetch": fetch(0), "metadata": metadata("tea")[0]}[what]
    core = replay(
        metadata("tea"), (produce(A_BATCH), produced(0), 9), (fetch(0), fetched(A_BATCH), 12)
    )
    header = registry.request_header(asked, 9, correlation_id=1, client_id="c")
    data = bytearray(registry.encode_request(header, asked))
    data[at % len(data)] = byte
    core.answer(bytes(data), nowhere)
    assert ask(core, metadata("tea")[0], 12)
