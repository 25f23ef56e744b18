"""Requests and responses: which belongs to which, and what is decoded."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftwire.capture.decoding import decoder
from kraftwire.capture.decoding.decoder import pair
from kraftwire.capture.decoding.request_queue import RequestQueue
from kraftwire.capture.frame import Frame
from kraftwire_messages.kafka import MetadataRequest, MetadataResponse, registry
from kraftwire_wire.errors import DecodeError, UnsupportedVersion

from codec_tests.capture.sample_frames import (
    api_versions_refusal,
    api_versions_request,
    decode,
    metadata_request,
    metadata_response,
    produce_request,
)


def test_a_response_is_decoded_by_its_request() -> None:
    asked, answered = decode(metadata_request(5), metadata_response(5))
    assert (asked.number, asked.api, asked.api_key, asked.version) == (1, "Metadata", 3, 12)
    assert asked.header.client_id == "tester"
    assert asked.message == MetadataRequest()
    assert asked.error is None
    assert (answered.number, answered.api, answered.api_key, answered.version) == (
        *(2, "Metadata"),
        *(3, 12),
    )
    assert answered.header.correlation_id == 5
    assert answered.message == MetadataResponse(controller_id=7)
    assert answered.request is asked
    assert asked.encodes_back(registry)
    assert answered.encodes_back(registry)


def test_responses_are_matched_by_correlation_id_in_any_order() -> None:
    frames = decode(
        metadata_request(1, version=12),
        metadata_request(2, version=1),
        metadata_response(2, version=1),
        metadata_response(1, version=12),
    )
    assert [frame.error for frame in frames] == [None] * 4
    assert [exchange.response for exchange in pair(frames)] == [frames[3], frames[2]]


def test_a_response_too_short_for_an_id_matches_no_request() -> None:
    short = replace(metadata_response(0), data=b"\0\0")
    asked, bad, answered = decode(metadata_request(0), short, metadata_response(0))
    assert str(bad.error) == "correlation_id: 2 bytes cannot hold one (at byte 0)"
    assert answered.request is asked


def test_connections_are_kept_apart() -> None:
    frames = decode(
        metadata_request(1, version=12, connection=1),
        metadata_request(1, version=1, connection=2),
        metadata_response(1, version=1, connection=2),
        metadata_response(1, version=12, connection=1),
    )
    assert [frame.error for frame in frames] == [None] * 4
    assert frames[2].request is frames[1]
    assert frames[3].request is frames[0]


def test_an_id_may_be_reused() -> None:
    frames = decode(
        metadata_request(1, version=12),
        metadata_response(1, version=12),
        metadata_request(1, version=0),
        metadata_response(1, version=0),
    )
    assert [exchange.response for exchange in pair(frames)] == [frames[1], frames[3]]


def test_produce_without_acknowledgement_awaits_no_response() -> None:
    frames = decode(produce_request(1, acks=0), metadata_request(1), metadata_response(1))
    first, second = pair(frames)
    assert first.response is None
    assert second.response is frames[2]
    assert frames[2].api == "Metadata"


def test_a_refused_api_versions_request_is_answered_in_version_0() -> None:
    asked, refused = decode(api_versions_request(1, version=4), api_versions_refusal(1))
    assert refused.error is None
    assert getattr(refused.message, "error_code", None) == 35
    assert (asked.version, refused.version) == (4, 4)
    assert refused.encodes_back(registry)


def test_a_recording_may_start_and_end_anywhere() -> None:
    lonely, asked = decode(metadata_response(1), metadata_request(2))
    assert isinstance(lonely.error, DecodeError)
    assert "answers no request" in str(lonely.error)
    assert (lonely.api, lonely.version, lonely.api_key, lonely.message) == (None,) * 4
    (exchange,) = pair([lonely, asked])
    assert exchange.request is asked
    assert exchange.response is None


def test_a_frame_that_cannot_be_decoded_does_not_stop_the_others() -> None:
    broken = replace(metadata_request(1), data=metadata_request(1).data[:-1])
    frames = decode(broken, metadata_response(1), metadata_request(2))
    assert "varint is cut off" in str(frames[0].error)
    assert frames[0].header.correlation_id == 1
    assert not frames[0].encodes_back(registry)
    assert [frame.error for frame in frames[1:]] == [None, None]


def test_an_unknown_version_keeps_its_header() -> None:
    future = metadata_request(1)
    data = future.data[:2] + (1000).to_bytes(2) + future.data[4:]
    (decoded,) = decode(replace(future, data=data))
    assert isinstance(decoded.error, UnsupportedVersion)
    assert (decoded.api, decoded.version) == ("Metadata", 1000)
    assert decoded.message is None


def test_an_unknown_api_is_an_error() -> None:
    (decoded,) = decode(Frame(1, "request", 0.0, b"\x7f\xff\x00\x00" + bytes(20)))
    assert isinstance(decoded.error, DecodeError)
    assert (decoded.api, decoded.header) == (None, None)


def test_unanswered_requests_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoder, "_MAX_UNANSWERED", 2)
    asked = [metadata_request(number) for number in (1, 2, 3)]
    *_, forgotten, answered = decode(*asked, metadata_response(1), metadata_response(3))
    assert "answers no request" in str(forgotten.error)
    assert answered.error is None


def test_another_encoding_of_the_same_message_is_noticed() -> None:
    sound = metadata_request(1)
    overlong = sound.data[:-1] + b"\x80\x00"  # the empty tag section, in two bytes
    (decoded,) = decode(replace(sound, data=overlong))
    assert decoded.error is None
    assert decoded.message == MetadataRequest()
    assert not decoded.encodes_back(registry)


@given(
    st.lists(
        st.builds(
            Frame,
            connection=st.integers(1, 2),
            direction=st.sampled_from(["request", "response"]),
            time=st.just(0.0),
            data=st.binary(max_size=12).map(lambda end: end)
            | st.binary(max_size=30).map(lambda end: b"\x00\x03\x00\x0c\x00\x00\x00\x01" + end),
        ),
        max_size=6,
    )
)
def test_any_bytes_give_a_decoded_frame(frames: list[Frame]) -> None:
    decoded = decode(*frames)
    assert [one.frame for one in decoded] == frames
    for one in decoded:
        assert (one.error is None) == (one.message is not None)
        one.encodes_back(registry)
    pair(decoded)


@pytest.mark.slow
def test_unanswered_requests_take_constant_time() -> None:
    """Forgetting the oldest once passed over all that had been forgotten before."""
    (decoded,) = decode(metadata_request(1))
    requests = [
        replace(decoded, frame=replace(decoded.frame, connection=number))
        for number in range(90_000)
    ]
    waiting = RequestQueue(45_000, 1 << 30)
    times = [time.process_time()]
    for half in (requests[:45_000], requests[45_000:]):
        for request in half:
            waiting.add(request.frame.connection, request)
        times.append(time.process_time())
    assert times[2] - times[1] < 6 * (times[1] - times[0])
