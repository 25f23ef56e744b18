"""Requests and responses with their headers: every frame of the committed captures."""

from __future__ import annotations

import io
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from kraftwire.capture.cassette import CassetteReader
from kraftwire.capture.decoding.decoder import DecodedFrame, decode_frames
from kraftwire.explain.messages import explain_request, explain_response
from kraftwire.explain.rows import ByteRow
from kraftwire_messages.kafka import registry
from kraftwire_wire.errors import DecodeError, UnsupportedVersion

from codec_tests.explain.explaining import check_cover, explained

CAPTURES = Path(__file__).resolve().parent.parent / "captures"


@cache
def frames() -> tuple[DecodedFrame, ...]:
    found: list[DecodedFrame] = []
    for path in sorted(CAPTURES.glob("*.jsonl")):
        with io.BytesIO(path.read_bytes()) as stream:
            found += decode_frames(CassetteReader(stream, path.name), registry)
    return tuple(found)


@pytest.mark.slow
def test_every_captured_frame_is_covered_and_without_findings() -> None:
    kinds = set()
    for one in frames():
        assert one.message is not None
        message = type(one.message)
        kind = message.LAYOUT.type
        kinds.add(kind)
        data = one.frame.data
        if kind == "request":
            rows, findings = explained(partial(explain_request, registry, data))
        else:
            assert one.version is not None
            explain = partial(explain_response, registry, message, one.version, data)
            rows, findings = explained(explain)
        assert not findings, one
        check_cover(rows, data)
    assert kinds == {"request", "response"}


def _cut_offs(data: bytes) -> list[bytes]:
    return [data[:size] for size in range(len(data))]


def test_every_truncated_request_fails_where_the_registry_does() -> None:
    requests = [one.frame.data for one in frames() if one.frame.direction == "request"]
    for data in min(requests, key=len), b"\x00\x34\x00\x02" + bytes(20):
        for cut in [*_cut_offs(data), data + b"\0", b"\x7f\xff" + data[2:], data[:2] + b"\x7f\xff"]:
            _, findings = explained(partial(explain_request, registry, cut))
            try:
                registry.decode_request(cut)
            except DecodeError as error:
                assert [(one.offset, one.path) for one in findings] == [(error.offset, error.path)]
            except UnsupportedVersion:
                (finding,) = findings
                assert finding.path == "request_api_version"
                assert finding.offset == 2
            else:
                assert not findings


def test_a_response_to_an_unknown_version_is_explained() -> None:
    """KIP-511: version 0 with error 35, whatever was asked for."""
    data = bytes.fromhex("00000001 0023 00000000")
    response = registry.message("ApiVersionsResponse")
    rows, findings = explained(partial(explain_response, registry, response, 4, data))
    assert not findings
    assert [row.note for row in rows if row.role == "message"] == ["version 0", "version 0"]
    check_cover(rows, data)


def _join_group(protocol_type: str, metadata: bytes) -> list[ByteRow]:
    cls: Any = registry.message("JoinGroupRequest")
    message = cls()
    protocol = cls.JoinGroupRequestProtocol(name="range", metadata=metadata)
    message.protocol_type, message.protocols = protocol_type, [protocol]
    header = registry.request_header(message, 0, correlation_id=1)
    data = registry.encode_request(header, message)
    rows, findings = explained(partial(explain_request, registry, data))
    check_cover(rows, data)
    assert not findings
    return rows


@pytest.mark.parametrize(
    ("protocol_type", "metadata", "is_opened"),
    [
        ("consumer", "0000 00000001 0003 746561 ffffffff", True),
        ("connect", "0000 00000001 0003 746561 ffffffff", False),
        ("consumer", "0000 00000009", False),
        ("consumer", "7fff 0000", False),
    ],
)
def test_embedded_consumer_messages_are_opened(
    protocol_type: str, metadata: str, *, is_opened: bool
) -> None:
    rows = _join_group(protocol_type, bytes.fromhex(metadata))
    names = [row.type for row in rows if row.role == "message"]
    assert ("ConsumerProtocolSubscription" in names) == is_opened
