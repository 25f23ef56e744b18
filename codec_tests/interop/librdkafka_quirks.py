"""Frames of librdkafka and its mock brokers that break Kafka's protocol.

Seen with librdkafka 2.16.0; the reasons given are from the source of its master branch of
July 2026 (commit 4c3b017c3), which may differ from that release elsewhere. Every frame of a
session decodes and encodes back to the same bytes, or is one of these and nothing else:

`all-topics`
    The client's Metadata request for all topics, version 9 and later. The null array is one
    zero byte; librdkafka keeps the four bytes that it reserved for a count
    (rd_kafka_MetadataRequest0 never calls rd_kafka_buf_finalize_arraycnt), so everything
    after it moves and three bytes are left over. Kafka reads it because it never looks
    for left-over bytes, but misses the flags that the client meant to send.
`api-versions`
    The mock's answer to an ApiVersions request of a version that it does not know. KIP-511
    asks for version 0 with error 35. The mock writes error 35, the number of APIs in one
    byte that is one too small for a compact array, then ApiVersions with the versions that
    it knows and a throttle time, without the tag sections that go with a compact array.
`two-tag-sections`
    The mock's Metadata responses, version 9 and later, and ShareGroupHeartbeat responses:
    their handlers write the empty tag section at the end, and the function that sends them
    (rd_kafka_mock_connection_send_response) writes it again.
`null-in-error`
    If the mock refuses a JoinGroup or SyncGroup request, which depends on timing, it
    writes null for strings and bytes that may not be null; Kafka writes empty ones.
`acks-0`
    The mock answers Produce requests with acks=0; a broker of Kafka does not. (The client
    does not wait for the answer, and may be gone before it.)

(One more is avoided by the session rather than recorded: the mock's Produce response 5
lacks log_start_offset, and librdkafka itself cannot read it.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kraftwire.capture.decoding.decoder import DecodedFrame
from kraftwire_messages.kafka import registry
from kraftwire_wire.errors import DecodeError, KraftwireError

PRODUCE, METADATA, API_VERSIONS, SHARE_GROUP_HEARTBEAT = 0, 3, 18, 76


def find_quirks(frames: Sequence[DecodedFrame]) -> dict[int, str]:
    """Return the quirk of each frame that has one, by frame number."""
    unanswerable = {
        (decoded.frame.connection, decoded.header.correlation_id)
        for decoded in frames
        if decoded.api_key == PRODUCE and getattr(decoded.message, "acks", None) == 0
    }
    quirks: dict[int, str] = {}
    for decoded in frames:
        if decoded.error is None and decoded.note is None:
            continue
        quirk = _find_quirk(decoded, unanswerable)
        if quirk is not None:
            quirks[decoded.number] = quirk
    return quirks


def _find_quirk(decoded: DecodedFrame, unanswerable: set[tuple[int, int]]) -> str | None:
    data = decoded.frame.data
    if decoded.frame.direction == "request":
        return "all-topics" if _asks_for_all_topics(decoded) else None
    if decoded.request is None:
        key = decoded.frame.connection, int.from_bytes(data[:4], signed=True)
        return "acks-0" if key in unanswerable else None
    if is_malformed_api_versions(data, decoded.request.header):
        return "api-versions"
    if decoded.api_key in (METADATA, SHARE_GROUP_HEARTBEAT) and _has_two_tag_sections(decoded):
        return "two-tag-sections"
    return "null-in-error" if _has_null_in_error(decoded) else None


def is_malformed_api_versions(data: bytes, request_header: Any) -> bool:
    """Whether a response has the quirk `api-versions`."""
    return (
        request_header.request_api_key == API_VERSIONS
        and request_header.request_api_version >= 3
        and len(data) == 17
        and data[4:11] == bytes.fromhex("0023 01 0012 0000")  # error, count, key, oldest
        and data[13:] == bytes(4)  # throttle time, after the newest version
    )


def _has_two_tag_sections(decoded: DecodedFrame) -> bool:
    assert decoded.request is not None
    data = decoded.frame.data[:-1]
    try:
        header, message = registry.decode_response(data, decoded.request.header)
        again = registry.encode_response(decoded.request.header, message, header)
    except KraftwireError:
        return False
    return again == data and decoded.frame.data[-1:] == b"\0"


def _has_null_in_error(decoded: DecodedFrame) -> bool:
    assert decoded.request is not None
    data, asked = decoded.frame.data, decoded.request.header
    for _ in range(4):  # as many as the error of a JoinGroup response has, and one
        try:
            header, message = registry.decode_response(data, asked)
        except DecodeError as error:
            if not error.reason.endswith(", got null") or error.offset is None:
                return False
            data = _empty_for_null(data, error.offset, error.reason.startswith("expected bytes"))
        else:
            refused: Any = message
            again = registry.encode_response(asked, message, header)
            return again == data and bool(refused.error_code)
    return False


def _empty_for_null(data: bytes, offset: int, is_bytes: bool) -> bytes:
    """Replace the null at an offset by an empty string or empty bytes."""
    if data[offset] == 0:  # compact
        return data[:offset] + b"\x01" + data[offset + 1 :]
    size = 4 if is_bytes else 2
    return data[:offset] + bytes(size) + data[offset + size :]


def _asks_for_all_topics(decoded: DecodedFrame) -> bool:
    if decoded.api_key != METADATA or decoded.header.request_api_version < 9:
        return False
    data = decoded.frame.data
    _, start = registry.decode_request_header(data)
    fixed = data[:start] + data[start + 3 :]
    try:
        header, message = registry.decode_request(fixed)
    except KraftwireError:
        return False
    asked: Any = message
    again = registry.encode_request(header, message)
    return data[start : start + 4] == bytes(4) and asked.topics is None and again == fixed
