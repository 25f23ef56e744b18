"""librdkafka and its mock brokers, live: every frame survives our codecs byte for byte."""

from __future__ import annotations

from collections import defaultdict
from functools import cache

import pytest

from kraftwire.capture.decoding.decoder import DecodedFrame, decode_frames
from kraftwire_messages.kafka import registry

from codec_tests.interop.librdkafka_quirks import find_quirks
from codec_tests.interop.librdkafka_session import record_session
from codec_tests.interop.record_capture import select_frames

pytestmark = [pytest.mark.timeout(120), pytest.mark.xdist_group("librdkafka")]


@cache
def session() -> tuple[DecodedFrame, ...]:
    return tuple(decode_frames(record_session(), registry))


@cache
def quirks() -> dict[int, str]:
    return find_quirks(session())


def test_every_frame_decodes_or_has_a_known_quirk() -> None:
    bad = [
        (decoded.api, decoded.version, str(decoded.error), decoded.frame.data.hex())
        for decoded in session()
        if decoded.error is not None and decoded.number not in quirks()
    ]
    assert bad == []


def test_every_decoded_frame_encodes_back_to_the_same_bytes() -> None:
    for decoded in session():
        if decoded.error is None:
            assert decoded.encode(registry) == decoded.frame.data, decoded.frame.data.hex()


def test_it_has_many_apis_in_several_versions() -> None:
    versions = defaultdict(set)
    for decoded in session():
        if decoded.error is None:
            versions[decoded.api].add(decoded.version)
    assert len(versions) >= 20
    assert sum(map(len, versions.values())) >= 90


def test_the_quirks_are_still_there() -> None:
    """If a release of librdkafka fixes a quirk, this test fails and its entry can go."""
    depend_on_timing = {"acks-0", "null-in-error"}
    always = {"all-topics", "api-versions", "two-tag-sections"}
    assert set(quirks().values()) - depend_on_timing == always


def test_a_capture_of_the_session_decodes_and_encodes_back() -> None:
    selected = select_frames(session())
    assert len(selected) >= 60
    for decoded in decode_frames(selected, registry):
        assert decoded.error is None
        assert decoded.encode(registry) == decoded.frame.data
