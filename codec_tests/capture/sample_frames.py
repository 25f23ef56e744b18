"""Frames to decode, made by our own codecs or by hand."""

from __future__ import annotations

import io
from functools import cache
from itertools import count
from pathlib import Path

from kraftwire.capture.cassette import CassetteHeader, CassetteReader, write_cassette
from kraftwire.capture.decoding.decoder import DecodedFrame, decode_frames
from kraftwire.capture.frame import Frame
from kraftwire_messages.kafka import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    MetadataRequest,
    MetadataResponse,
    ProduceRequest,
    registry,
)
from kraftwire_wire.message import Message

CAPTURE = Path(__file__).resolve().parent.parent / "captures" / "librdkafka_mock.jsonl"

_seconds = count()


def cassette_of(*frames: Frame) -> bytes:
    stream = io.BytesIO()
    write_cassette(stream, CassetteHeader("a test", "4.4.0"), frames)
    return stream.getvalue()


def decode(*frames: Frame) -> list[DecodedFrame]:
    return list(decode_frames(frames, registry))


@cache
def decoded_frames(path: Path) -> tuple[DecodedFrame, ...]:
    with path.open("rb") as stream:
        return tuple(decode_frames(CassetteReader(stream, path.name), registry))


def request(message: Message, version: int, correlation_id: int, connection: int = 1) -> Frame:
    header = registry.request_header(
        message, version, correlation_id=correlation_id, client_id="tester"
    )
    data = registry.encode_request(header, message)
    return Frame(connection, "request", float(next(_seconds)), data)


def response(message: Message, version: int, correlation_id: int, connection: int = 1) -> Frame:
    asked = registry.request_header(message, version, correlation_id=correlation_id)
    data = registry.encode_response(asked, message)
    return Frame(connection, "response", float(next(_seconds)), data)


def metadata_request(correlation_id: int, version: int = 12, connection: int = 1) -> Frame:
    return request(MetadataRequest(), version, correlation_id, connection)


def metadata_response(correlation_id: int, version: int = 12, connection: int = 1) -> Frame:
    return response(MetadataResponse(controller_id=7), version, correlation_id, connection)


def produce_request(correlation_id: int, acks: int) -> Frame:
    return request(ProduceRequest(acks=acks, timeout_ms=1000), 9, correlation_id)


def api_versions_request(correlation_id: int, version: int) -> Frame:
    asked = ApiVersionsRequest(client_software_name="tester", client_software_version="1")
    return request(asked, version, correlation_id)


def api_versions_refusal(correlation_id: int) -> Frame:
    """Version 0 and error 35, whatever version the request had (KIP-511)."""
    known = ApiVersionsResponse.ApiVersion(api_key=18, min_version=0, max_version=2)
    return response(ApiVersionsResponse(error_code=35, api_keys=[known]), 3, correlation_id)
