"""The registry: messages by name, key and record id, and requests and responses in frames."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kraftwire_messages.kafka as kafka
from kraftwire_messages.kafka import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    FetchRequest,
    FetchResponse,
    RequestHeader,
    ResponseHeader,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
    TopicRecord,
    VoteRequest,
    VoteResponse,
    registry,
)
from kraftwire_wire.errors import DecodeError, EncodeError, KraftwireError, UnsupportedVersion
from kraftwire_wire.message import Message

# VoteRequest version 0 behind header version 2, field by field.
VOTE = bytes.fromhex(
    "0034" + "0000"  # request_api_key 52, request_api_version
    "00000007"  # correlation_id
    "0001" + "63"  # client_id "c", its length an int16 in this version too
    "00"  # tags of the header
    "00" + "01" + "00"  # cluster_id null, no topics, no tags
)
# SaslHandshakeRequest version 1 behind header version 1.
SASL = bytes.fromhex("0011" + "0001" + "00000008" + "ffff" + "0001" + "50")


def header(request: type[Message], version: int, correlation_id: int = 7) -> Any:
    message = registry.request_header(request(), version, correlation_id=correlation_id)
    message.client_id = "c"
    return message


# -- finding classes ---------------------------------------------------------------------------


def test_messages_by_name() -> None:
    assert registry.message("VoteRequest") is VoteRequest is kafka.VoteRequest
    assert "VoteRequest" in registry
    assert "Vote" not in registry
    assert list(registry) == sorted(registry)
    assert [registry.message(name).__name__ for name in registry] == list(registry)


def test_messages_by_api_key() -> None:
    assert registry.request(52) is VoteRequest
    assert registry.response(52) is VoteResponse
    for key in registry.api_keys:
        assert registry.request(key).API_KEY == registry.response(key).API_KEY == key
        assert registry.request(key).VALID_VERSIONS == registry.response(key).VALID_VERSIONS


@pytest.mark.parametrize(
    ("find", "reason"),
    [
        (lambda: registry.message("Vote"), "has no message 'Vote'"),
        (lambda: registry.request(999), "has no request with API key 999"),
        (lambda: registry.response(-1), "has no response with API key -1"),
        (lambda: registry.record("group", 9), "has no group record with id 9"),
        (lambda: registry.record("offsets", 0), "no records of 'offsets'; it knows cluster-meta"),
    ],
)
def test_unknown_names_and_keys_are_refused(find: Any, reason: str) -> None:
    with pytest.raises(KraftwireError, match=reason):
        find()


def test_importing_the_package_loads_no_message() -> None:
    code = (
        "import sys, kraftwire_messages.kafka as kafka\n"
        "loaded = [name for name in sys.modules if name.startswith(kafka.__name__ + '.')]\n"
        "assert not loaded, loaded\n"
        "assert kafka.VoteRequest is kafka.registry.request(52)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# -- headers -----------------------------------------------------------------------------------


@pytest.mark.parametrize("key", registry.api_keys)
def test_header_versions_follow_the_rule(key: int) -> None:
    request, response = registry.request(key), registry.response(key)
    for version in request.VALID_VERSIONS:
        flexible = version in request.FLEXIBLE_VERSIONS
        assert request.header_version(version) == (2 if flexible else 1)
        flexible = version in response.FLEXIBLE_VERSIONS and key != 18
        assert response.header_version(version) == (1 if flexible else 0)


# -- requests ----------------------------------------------------------------------------------


def test_a_request_equals_bytes_by_hand() -> None:
    decoded_header, message = registry.decode_request(VOTE)
    assert decoded_header == RequestHeader(
        request_api_key=52, request_api_version=0, correlation_id=7, client_id="c"
    )
    assert message == VoteRequest()
    assert registry.encode_request(decoded_header, message) == VOTE


def test_a_request_without_tags_by_hand() -> None:
    decoded_header, message = registry.decode_request(SASL)
    assert decoded_header.client_id is None
    assert message == SaslHandshakeRequest(mechanism="P")
    assert registry.encode_request(decoded_header, message) == SASL


@pytest.mark.parametrize("key", registry.api_keys)
def test_every_request_is_read_back(key: int) -> None:
    request = registry.request(key)
    for version in request.VALID_VERSIONS:
        sent = header(request, version)
        frame = registry.encode_request(sent, request())
        assert registry.decode_request(frame) == (sent, request())


@pytest.mark.parametrize(
    ("frame", "path", "offset", "reason"),
    [
        (b"", "", 0, "0 bytes are not a request"),
        (VOTE[:3], "", 0, "3 bytes are not a request"),
        (b"\x7f\xff" + VOTE[2:], "request_api_key", 0, "no request has API key 32767"),
        (b"\xff\xff" + VOTE[2:], "request_api_key", 0, "no request has API key -1"),
        (VOTE[:9], "client_id", 8, "needs 2 bytes, the input has 1 left"),
        (VOTE[:12], "cluster_id", 12, "varint is cut off by the end of the input"),
        (VOTE[:14], "tags", 14, "varint is cut off by the end of the input"),
        (VOTE + b"ab", "", 15, "2 bytes follow the end of VoteRequest version 0"),
    ],
)
def test_requests_that_are_refused(frame: bytes, path: str, offset: int, reason: str) -> None:
    with pytest.raises(DecodeError) as caught:
        registry.decode_request(frame)
    error = caught.value
    assert (error.path, error.offset, error.reason) == (path, offset, reason)


def test_a_lenient_reader_is_lenient_in_the_header_too() -> None:
    frame = VOTE.replace(b"c", b"\xff", 1) + b"ab"
    with pytest.raises(DecodeError) as caught:
        registry.decode_request(frame)
    assert (caught.value.path, caught.value.offset) == ("client_id", 10)
    decoded_header, message = registry.decode_request(frame, lenient=True)
    assert (decoded_header.client_id, message) == ("\ufffd", VoteRequest())


def test_headers_of_newer_versions_can_be_read() -> None:
    newer = VOTE[:2] + b"\x00\x63" + VOTE[4:]
    decoded_header, start = registry.decode_request_header(newer)
    assert (decoded_header.request_api_version, start) == (99, 12)
    with pytest.raises(UnsupportedVersion):
        registry.decode_request(newer)


def test_a_request_goes_with_its_own_header() -> None:
    sent = header(VoteRequest, 0)
    with pytest.raises(EncodeError, match="52, but the API key of FetchRequest is 1"):
        registry.encode_request(sent, FetchRequest())
    with pytest.raises(EncodeError, match="VoteResponse is not a request"):
        registry.encode_request(sent, VoteResponse())
    with pytest.raises(EncodeError, match="TopicRecord is not a request"):
        registry.encode_request(RequestHeader(request_api_key=2), TopicRecord())
    with pytest.raises(UnsupportedVersion):
        registry.encode_request(header(VoteRequest, 9), VoteRequest())


# -- responses ---------------------------------------------------------------------------------


def test_a_response_equals_bytes_by_hand() -> None:
    # correlation_id, tags of the header; error_code 3, no topics, no tags
    frame = bytes.fromhex("00000007" + "00" + "0003" + "01" + "00")
    request_header = header(VoteRequest, 0)
    decoded_header, message = registry.decode_response(frame, request_header)
    assert decoded_header == ResponseHeader(correlation_id=7)
    assert message == VoteResponse(error_code=3)
    assert registry.encode_response(request_header, message) == frame


def test_a_response_without_tags_by_hand() -> None:
    # correlation_id; error_code, no mechanisms
    frame = bytes.fromhex("00000007" + "0021" + "00000000")
    request_header = header(SaslHandshakeRequest, 1)
    assert registry.encode_response(request_header, SaslHandshakeResponse(error_code=33)) == frame


@pytest.mark.parametrize("key", registry.api_keys)
def test_every_response_is_read_back(key: int) -> None:
    response = registry.response(key)
    for version in response.VALID_VERSIONS:
        request_header = header(registry.request(key), version)
        frame = registry.encode_response(request_header, response())
        expected = ResponseHeader(correlation_id=7), response()
        assert registry.decode_response(frame, request_header) == expected


def test_unknown_tags_of_a_response_header_are_kept() -> None:
    request_header = header(VoteRequest, 0)
    sent = ResponseHeader(correlation_id=7, unknown_tagged_fields=[(3, b"x")])
    frame = registry.encode_response(request_header, VoteResponse(), sent)
    assert frame[:8].hex() == "00000007" + "01030178"
    assert registry.decode_response(frame, request_header)[0] == sent


def test_the_answer_to_another_request_is_refused() -> None:
    request_header = header(VoteRequest, 0, correlation_id=8)
    frame = bytes.fromhex("00000007" + "00" + "0003" + "01" + "00")
    with pytest.raises(DecodeError) as caught:
        registry.decode_response(frame, request_header)
    error = caught.value
    assert (error.path, error.offset) == ("correlation_id", 0)
    assert error.reason == "answers request 7, not request 8"
    decoded_header, _ = registry.decode_response(frame, request_header, lenient=True)
    assert decoded_header.correlation_id == 7


def test_a_response_goes_with_its_own_request() -> None:
    with pytest.raises(EncodeError, match="52, but the API key of FetchResponse is 1"):
        registry.encode_response(header(VoteRequest, 0), FetchResponse())
    with pytest.raises(EncodeError, match="VoteRequest is not a response"):
        registry.encode_response(header(VoteRequest, 0), VoteRequest())


# -- ApiVersions -------------------------------------------------------------------------------


def test_responses_to_api_versions_have_no_tags_in_the_header() -> None:
    request_header = header(ApiVersionsRequest, 3)
    frame = registry.encode_response(request_header, ApiVersionsResponse())
    # correlation_id; error_code, no api_keys, throttle_time_ms, no tags
    assert frame.hex() == "00000007" + "0000" + "01" + "00000000" + "00"
    assert registry.decode_response(frame, request_header)[1] == ApiVersionsResponse()


@pytest.mark.parametrize("version", [0, 3, 99])
def test_error_35_is_answered_in_version_0(version: int) -> None:
    request_header = header(ApiVersionsRequest, version)
    key = ApiVersionsResponse.ApiVersion(api_key=18, max_version=4)
    message = ApiVersionsResponse(error_code=35, api_keys=[key])
    # correlation_id; error_code, one api_key: 18, 0, 4
    frame = bytes.fromhex("00000007" + "0023" + "00000001" + "0012" + "0000" + "0004")
    assert registry.encode_response(request_header, message) == frame
    assert registry.decode_response(frame, request_header)[1] == message


def test_a_newer_api_versions_request_has_a_readable_header() -> None:
    newest = ApiVersionsRequest.VALID_VERSIONS[-1]
    frame = registry.encode_request(header(ApiVersionsRequest, newest), ApiVersionsRequest())
    newer = frame[:2] + (newest + 1).to_bytes(2, "big") + frame[4:] + b"what came later"
    decoded_header, _ = registry.decode_request_header(newer)
    assert decoded_header == header(ApiVersionsRequest, newest + 1)


def test_an_answer_in_a_version_of_the_future_is_refused() -> None:
    request_header = header(ApiVersionsRequest, 99)
    with pytest.raises(UnsupportedVersion):
        registry.decode_response(bytes.fromhex("00000007" + "0000"), request_header)
    with pytest.raises(UnsupportedVersion):
        registry.encode_response(request_header, ApiVersionsResponse())


@given(
    st.sampled_from(registry.api_keys),
    st.integers(-2, 20),
    st.binary(max_size=40),
    st.booleans(),
)
def test_the_registry_raises_only_its_own_errors(
    key: int, version: int, rest: bytes, lenient: bool
) -> None:
    start = key.to_bytes(2, "big") + version.to_bytes(2, "big", signed=True)
    request_header = header(registry.request(key), version)
    for decode in (
        lambda: registry.decode_request(start + rest, lenient=lenient),
        lambda: registry.decode_request(rest, lenient=lenient),
        lambda: registry.decode_response(b"\x00\x00\x00\x07" + rest, request_header),
        lambda: registry.decode_response(rest, request_header, lenient=lenient),
    ):
        try:
            decode()
        except KraftwireError:
            continue
