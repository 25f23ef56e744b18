"""Each quirk as librdkafka 2.16.0 writes it, and similar frames that are not quirks."""

from __future__ import annotations

from typing import Any

import pytest

from kraftwire.capture.decoding.decoder import decode_frames
from kraftwire.capture.frame import Frame
from kraftwire_messages.kafka import registry

from codec_tests.interop.librdkafka_quirks import find_quirks

METADATA, PRODUCE, JOIN_GROUP, SYNC_GROUP, API_VERSIONS = 3, 0, 11, 14, 18

ALL_TOPICS = "0003 000d 00000004 0007 72646b61666b61 00 00000000 01 00 00"
REFUSED_API_VERSIONS = "00000001 0023 01 0012 0000 0002 00000000"
BROKERS_ONLY = (
    "00000003 00 00000000 02 00000001 0a3132372e302e302e31 00009f85 00 00"
    "186d6f636b436c7573746572313537313864646363313730 00000000 01 0000 00"
)


def request(api_key: int, version: int, **fields: Any) -> Frame:
    message = registry.request(api_key)(**fields)
    header = registry.request_header(message, version, correlation_id=1)
    return Frame(1, "request", 0.0, registry.encode_request(header, message))


def answer(text: str, correlation_id: int = 1) -> Frame:
    data = correlation_id.to_bytes(4) + bytes.fromhex(text)[4:]
    return Frame(1, "response", 0.0, data)


def quirks_of(*frames: Frame) -> list[str]:
    decoded = list(decode_frames(frames, registry))
    assert decoded[-1].error is not None or decoded[-1].note is not None
    return list(find_quirks(decoded).values())


def test_all_topics() -> None:
    frame = Frame(1, "request", 0.0, bytes.fromhex(ALL_TOPICS))
    assert quirks_of(frame) == ["all-topics"]


def test_another_request_with_bytes_left_over_is_none() -> None:
    frame = Frame(1, "request", 0.0, bytes.fromhex(ALL_TOPICS) + b"\0")
    assert quirks_of(frame) == []


def test_api_versions() -> None:
    asked = request(API_VERSIONS, 3)
    assert quirks_of(asked, answer(REFUSED_API_VERSIONS)) == ["api-versions"]


def test_two_tag_sections() -> None:
    asked = request(METADATA, 13)
    assert quirks_of(asked, answer(BROKERS_ONLY + "00")) == ["two-tag-sections"]


@pytest.mark.parametrize("end", ["01", "0000"])
def test_other_bytes_left_over_are_none(end: str) -> None:
    assert quirks_of(request(METADATA, 13), answer(BROKERS_ONLY + end)) == []


@pytest.mark.parametrize(
    ("api_key", "version", "text"),
    [
        (SYNC_GROUP, 3, "00000001 00000000 002a ffffffff"),
        (JOIN_GROUP, 5, "00000001 00000000 002a ffffffff ffff ffff ffff 00000000"),
        (JOIN_GROUP, 6, "00000001 00 00000000 002a ffffffff 00 00 00 01 00"),
    ],
)
def test_null_in_error(api_key: int, version: int, text: str) -> None:
    asked = request(api_key, version)
    assert quirks_of(asked, answer(text)) == ["null-in-error"]
    without_error = text.replace("002a", "0000")
    assert quirks_of(asked, answer(without_error)) == []
    assert quirks_of(asked, answer(text + "00")) == []


def test_acks_0() -> None:
    asked = request(PRODUCE, 10, acks=0, timeout_ms=1)
    assert quirks_of(asked, answer("00000001 00 01 00000000 00")) == ["acks-0"]
    assert quirks_of(asked, answer("00000002 00 01 00000000 00", correlation_id=2)) == []
