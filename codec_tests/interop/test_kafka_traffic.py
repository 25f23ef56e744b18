"""Every frame of clients, brokers and controllers decodes and encodes to the same bytes.

A cluster of three controllers and two brokers connects only through a recording proxy, raft
traffic included, while `kafka_session` drives it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from kraftwire.capture.decoding.decoder import DecodedFrame, decode_frames
from kraftwire.capture.packets.kafka_connection import JOINED_LATE
from kraftwire.capture.packets.pcap_file import PcapFile
from kraftwire.capture.packets.traffic import Traffic
from kraftwire_messages.kafka import registry
from kraftwire_wire import ApiKey

from codec_tests.interop.kafka_server import KafkaCluster
from codec_tests.interop.packet_capture import captured, dissect
from codec_tests.interop.record_kafka import record_kafka
from codec_tests.interop.recording_proxy import RecordingProxy

pytestmark = [
    pytest.mark.interop,
    pytest.mark.xdist_group("kafka traffic"),
    pytest.mark.filterwarnings("ignore:alter_configs has been deprecated"),
]

ANSWERS_NONE = "correlation_id: answers no request of this recording (at byte 0)"
RAFT = {"VOTE", "BEGIN_QUORUM_EPOCH", "END_QUORUM_EPOCH", "FETCH", "DESCRIBE_QUORUM"}
RAFT |= {"ADD_RAFT_VOTER", "REMOVE_RAFT_VOTER"}
CONTROLLER = {"BROKER_REGISTRATION", "BROKER_HEARTBEAT", "CONTROLLER_REGISTRATION", "ENVELOPE"}
CONTROLLER |= {"ALTER_PARTITION", "ALLOCATE_PRODUCER_IDS"}
GROUPS = {"JOIN_GROUP", "CONSUMER_GROUP_HEARTBEAT", "SHARE_GROUP_HEARTBEAT", "SHARE_FETCH"}
GROUPS |= {"SHARE_ACKNOWLEDGE", "WRITE_SHARE_GROUP_STATE", "TXN_OFFSET_COMMIT", "END_TXN"}


@dataclass(frozen=True)
class Recorded:
    """The frames of the proxy, and the packets between it and all nodes.

    The proxy starts before the nodes; packets are captured once all nodes run.
    """

    frames: tuple[DecodedFrame, ...]
    pcap: Path
    on_the_wire: slice
    """Which of the frames were recorded during the capture."""
    ports: tuple[int, ...]
    """The ports of all listeners without SASL."""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    pcap = tmp_path_factory.mktemp("packets") / "lo.pcap"
    ports: dict[str, list[int]] = {}
    limits: list[int] = []

    @contextmanager
    def watch(cluster: KafkaCluster, proxy: RecordingProxy) -> Iterator[None]:
        for node in cluster.nodes:
            for name, port in node.ports.items():
                ports.setdefault(name, []).append(port)
        with captured(pcap, list(chain.from_iterable(ports.values()))):
            limits.append(len(proxy.frames))
            yield
            limits.append(len(proxy.frames))

    frames = tuple(decode_frames(record_kafka(watch), registry))
    known = (*ports["CONTROLLER"], *ports["PLAINTEXT"])
    return Recorded(frames, pcap, slice(*limits), known)


@pytest.fixture(scope="module")
def session(recorded: Recorded) -> tuple[DecodedFrame, ...]:
    return recorded.frames


@pytest.fixture(scope="module")
def packets(recorded: Recorded) -> tuple[Traffic, list[DecodedFrame]]:
    traffic = Traffic(PcapFile(recorded.pcap), registry)
    return traffic, list(decode_frames(traffic, registry))


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


def test_nothing_of_the_packets_is_lost(packets: tuple[Traffic, list[DecodedFrame]]) -> None:
    """Connections between nodes were open before the capture began."""
    traffic, decoded = packets
    print(f"{traffic.packets} packets, {len(decoded)} frames: {traffic.losses}")
    assert traffic.losses.lost == {}
    unread = [one for one in decoded if one.error is not None]
    assert {str(one.error) for one in unread} <= {ANSWERS_NONE}
    assert len(unread) < 100, "a request before the capture, for each connection"
    assert all(one.encodes_back(registry) for one in decoded if one.error is None)


def test_the_packets_have_the_frames_of_the_proxy(
    recorded: Recorded, packets: tuple[Traffic, list[DecodedFrame]]
) -> None:
    proxied = Counter(one.frame.data for one in recorded.frames[recorded.on_the_wire])
    found = Counter(one.frame.data for one in packets[1])
    joined_late = packets[0].losses.passed_over[JOINED_LATE].count
    missing = proxied - found
    print(f"{proxied.total()} frames of the proxy, {missing.total()} not in the packets")
    # The first of connections that were there before, and requests that met a closed one.
    assert missing.total() <= joined_late + 10
    # Brokers end transactions on connections to themselves, past the proxy.
    beside = found - Counter(one.frame.data for one in recorded.frames)
    assert beside.total() < 0.02 * found.total()


def test_tshark_agrees_on_the_versions_that_it_knows(
    recorded: Recorded, packets: tuple[Traffic, list[DecodedFrame]]
) -> None:
    names = ("kafka.api_key", "kafka.api_version", "kafka.correlation_id", "tcp.dstport")
    theirs: Counter[tuple[Any, ...]] = Counter()
    for row in dissect(recorded.pcap, recorded.ports, names):
        keys, versions, ids, ports = (list(map(int, row[name])) for name in names)
        if ports[0] in recorded.ports and len(keys) == len(versions) == len(ids):
            theirs.update(zip(keys, versions, ids, strict=True))
    ours: Counter[tuple[Any, ...]] = Counter(
        (one.api_key, one.version, one.header.correlation_id)
        for one in packets[1]
        if one.frame.direction == "request" and one.header is not None
    )
    print(f"tshark {theirs.total()}, kraftwire {ours.total()}")
    assert theirs.total() > 500
    assert theirs - ours == Counter()
