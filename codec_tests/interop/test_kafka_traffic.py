"""What clients, brokers and controllers really send: every frame decodes and encodes back.

A cluster of three controllers and two brokers does all of its talking through a recording
proxy, raft traffic included, while `kafka_session` drives it.
"""

from __future__ import annotations

from collections import Counter

import pytest

from kraftwire.capture.pairing import DecodedFrame, decode_frames
from kraftwire_messages.kafka import registry
from kraftwire_wire import ApiKey

from interop.record_kafka import record_kafka

pytestmark = [
    pytest.mark.interop,
    pytest.mark.xdist_group("kafka traffic"),
    pytest.mark.timeout(600),
    pytest.mark.filterwarnings("ignore:alter_configs has been deprecated"),
]

RAFT = {"VOTE", "BEGIN_QUORUM_EPOCH", "END_QUORUM_EPOCH", "FETCH", "DESCRIBE_QUORUM"}
RAFT |= {"ADD_RAFT_VOTER", "REMOVE_RAFT_VOTER"}
CONTROLLER = {"BROKER_REGISTRATION", "BROKER_HEARTBEAT", "CONTROLLER_REGISTRATION", "ENVELOPE"}
CONTROLLER |= {"ALTER_PARTITION", "ALLOCATE_PRODUCER_IDS"}
GROUPS = {"JOIN_GROUP", "CONSUMER_GROUP_HEARTBEAT", "SHARE_GROUP_HEARTBEAT", "SHARE_FETCH"}
GROUPS |= {"SHARE_ACKNOWLEDGE", "WRITE_SHARE_GROUP_STATE", "TXN_OFFSET_COMMIT", "END_TXN"}


@pytest.fixture(scope="module")
def session() -> tuple[DecodedFrame, ...]:
    return tuple(decode_frames(record_kafka(), registry))


def test_every_frame_of_every_connection_decodes(session: tuple[DecodedFrame, ...]) -> None:
    bad = [
        (decoded.api, decoded.version, str(decoded.error), decoded.frame.data.hex())
        for decoded in session
        if decoded.error is not None
    ]
    assert bad == []


def test_every_frame_encodes_back_to_the_same_bytes(session: tuple[DecodedFrame, ...]) -> None:
    for decoded in session:
        assert decoded.encode(registry) == decoded.frame.data, decoded.frame.data.hex()


def test_there_are_many_apis_with_those_of_kraft_among_them(
    session: tuple[DecodedFrame, ...],
) -> None:
    requests = Counter(
        ApiKey(decoded.header.request_api_key).name
        for decoded in session
        if decoded.request is None
    )
    print(f"{len(session)} frames, {len(requests)} APIs: {dict(requests.most_common())}")
    assert len(requests) >= 60
    assert requests.keys() >= RAFT | CONTROLLER | GROUPS
