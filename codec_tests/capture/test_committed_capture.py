"""The committed capture of librdkafka and its mock brokers: every frame, byte for byte.

`interop/record_capture.py` recorded it. What the mock writes against the protocol is not in
it; `interop/librdkafka_quirks.py` says what that is.
"""

from __future__ import annotations

import io
from collections import defaultdict

import pytest

from kraftwire.capture.cassette import CassetteHeader, CassetteReader, write_cassette
from kraftwire.capture.decoding.decoder import pair
from kraftwire_messages.kafka import registry

from codec_tests.capture.sample_frames import CAPTURE, decoded_frames


def versions(direction: str) -> dict[str, set[int]]:
    """The versions of each API that were sent."""
    found: defaultdict[str, set[int]] = defaultdict(set)
    for decoded in decoded_frames(CAPTURE):
        if decoded.frame.direction == direction:
            assert decoded.api is not None
            assert decoded.version is not None
            found[decoded.api].add(decoded.version)
    return dict(found)


def test_every_frame_decodes() -> None:
    assert [(one.number, str(one.error)) for one in decoded_frames(CAPTURE) if one.error] == []


def test_every_frame_encodes_back_to_the_same_bytes() -> None:
    for one in decoded_frames(CAPTURE):
        assert one.encode(registry) == one.frame.data, f"frame {one.number}"


def test_it_is_large_enough() -> None:
    assert len(decoded_frames(CAPTURE)) >= 300
    assert CAPTURE.stat().st_size < 300_000
    sizes = [len(one.frame.data) for one in decoded_frames(CAPTURE)]
    assert min(sizes) < 20
    assert max(sizes) > 10_000


def test_it_has_many_apis_in_several_versions() -> None:
    sent, answered = versions("request"), versions("response")
    assert len(sent) == 24
    assert len(answered) == 23  # the mock's ShareGroupHeartbeat responses are malformed
    assert sum(map(len, sent.values())) >= 95
    assert len([api for api, numbers in sent.items() if len(numbers) > 1]) >= 14
    assert sent["Fetch"] == set(range(4, 17))
    assert sent["Produce"] == {3, 4, 6, 7, 8, 9, 10}
    assert sent["Metadata"] == set(range(14))
    assert answered["Metadata"] == set(range(9))


def test_classic_and_flexible_headers_are_there() -> None:
    headers = {
        (one.frame.direction, one.message.header_version(one.version))
        for one in decoded_frames(CAPTURE)
        if one.message is not None and one.version is not None
    }
    assert headers == {("request", 1), ("request", 2), ("response", 0), ("response", 1)}


def test_only_responses_that_differ_from_kafkas_are_missing() -> None:
    alone = {
        (exchange.request.api, exchange.request.version)
        for exchange in pair(decoded_frames(CAPTURE))
        if exchange.response is None
    }
    later_metadata = {("Metadata", version) for version in range(9, 14)}
    assert alone == later_metadata | {
        ("ApiVersions", 3),
        ("Produce", 10),  # acks=0
        ("ShareGroupHeartbeat", 1),
    }


@pytest.mark.parametrize("compression", range(5), ids=["none", "gzip", "snappy", "lz4", "zstd"])
def test_batches_of_every_compression_are_there(compression: int) -> None:
    found = {
        partition.records[22] & 7
        for one in decoded_frames(CAPTURE)
        if one.api == "Produce" and one.frame.direction == "request"
        for topic in one.message.topic_data  # type: ignore[union-attr]
        for partition in topic.partition_data
    }
    assert compression in found


def test_the_recorder_would_write_the_same_bytes() -> None:
    with CAPTURE.open("rb") as stream:
        reader = CassetteReader(stream, CAPTURE.name)
        header, frames = reader.header, list(reader)
    assert header == CassetteHeader("a client and the mock brokers of librdkafka 2.16.0", "4.4.0")
    again = io.BytesIO()
    write_cassette(again, header, frames)
    assert again.getvalue() == CAPTURE.read_bytes()
    assert [frame.time for frame in frames] == sorted(frame.time for frame in frames)
