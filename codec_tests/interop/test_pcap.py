"""A packet capture has the frames that the proxy recorded and that tshark dissects.

Clients connect to a real broker through a recording proxy while tcpdump captures the packets
between proxy and broker. So both see the same bytes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from kraftwire.capture.decoding.decoder import DecodedFrame, decode_frames
from kraftwire.capture.frame import Frame
from kraftwire.capture.packets.frame_cutter import CUT_OFF
from kraftwire.capture.packets.kafka_connection import NOT_KAFKA
from kraftwire.capture.packets.pcap_file import PcapFile
from kraftwire.capture.packets.traffic import Traffic
from kraftwire.cli import main
from kraftwire_messages.kafka import (
    ApiVersionsRequest,
    MetadataRequest,
    SaslHandshakeRequest,
    registry,
)
from kraftwire_wire.framing import add_size

from codec_tests.interop.clients import SECONDS
from codec_tests.interop.kafka_connection import HOST, Connection
from codec_tests.interop.kafka_server import PASSWORD, KafkaCluster
from codec_tests.interop.kafka_session import (
    TOPIC,
    new_protocol,
    plain_clients,
    python_client,
)
from codec_tests.interop.packet_capture import captured, dissect
from codec_tests.interop.recording_proxy import RecordingProxy

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("kafka")]


@dataclass(frozen=True)
class Session:
    """The same traffic as recorded frames and as packets."""

    pcap: Path
    ports: tuple[int, ...]
    proxied: tuple[Frame, ...]
    captured: tuple[Frame, ...]
    traffic: Traffic

    @property
    def decoded(self) -> list[DecodedFrame]:
        return list(decode_frames(self.captured, registry))


@pytest.fixture(scope="module")
def session(kafka: KafkaCluster, tmp_path_factory: pytest.TempPathFactory) -> Session:
    pcap = tmp_path_factory.mktemp("packets") / "lo.pcap"
    ports = tuple(kafka.nodes[0].ports[name] for name in ("PLAINTEXT", "SASL"))
    with captured(pcap, ports), RecordingProxy([(HOST, ports[0])]) as proxy:
        drive(through(kafka, proxy))
        log_in_with_raw_tokens(proxy.tap((HOST, ports[1])))
    assert proxy.failures == []
    file = PcapFile(pcap)
    traffic = Traffic(file, registry)
    frames = tuple(traffic)
    assert file.error is None
    return Session(pcap, ports, tuple(proxy.frames), frames, traffic)


def through(cluster: KafkaCluster, proxy: RecordingProxy) -> KafkaCluster:
    """Return the cluster with the proxy's addresses."""
    ((_, port),) = proxy.listen().addresses.values()
    (node,) = cluster.nodes
    seen = replace(node, advertised=node.advertised | {"PLAINTEXT": port})
    return replace(cluster, nodes=[seen])


def drive(cluster: KafkaCluster) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    with suppress(KafkaException):  # it is there already
        admin.create_topics([NewTopic(TOPIC, 2)])[TOPIC].result(SECONDS)
    plain_clients(cluster)
    new_protocol(cluster)
    python_client(cluster)
    with Connection(cluster.brokers[0].advertised["PLAINTEXT"]) as connection:
        for version in MetadataRequest.VALID_VERSIONS:
            connection.ask(MetadataRequest(topics=[]), version)


def log_in_with_raw_tokens(port: int) -> None:
    """Log in as clients did before SaslAuthenticate: the token has no header."""
    with Connection(port) as connection:
        connection.ask(ApiVersionsRequest(), 0)
        connection.ask(SaslHandshakeRequest(mechanism="PLAIN"), 0)
        connection._socket.sendall(add_size(f"\0admin\0{PASSWORD}".encode()))
        size = int.from_bytes(connection._receive(4))
        assert connection._receive(size) == b""
        assert connection.ask(MetadataRequest(topics=[]), 5).brokers


def streams(frames: Iterable[Frame], direction: str) -> list[list[bytes]]:
    """Return the frames of one direction, by connection."""
    said: defaultdict[int, list[bytes]] = defaultdict(list)
    for frame in frames:
        if frame.direction == direction:
            said[frame.connection].append(frame.data)
    return list(said.values())


def talking_to_itself(session: Session) -> set[int]:
    """Return the broker's connections to itself, which bypass the proxy, to end transactions."""
    names = ("broker-", "AddPartitionsManager")
    return {
        one.frame.connection
        for one in session.decoded
        if (getattr(one.header, "client_id", None) or "").startswith(names)
    }


def test_the_frames_are_those_that_the_proxy_recorded(session: Session) -> None:
    """Only the last frames of a connection that its client closes may differ.

    The proxy may have a request that it could not pass on, and the capture a response that the
    proxy did not wait for.
    """
    print(f"{session.traffic.packets} packets, {len(session.captured)} frames")
    own = talking_to_itself(session)
    captured = [frame for frame in session.captured if frame.connection not in own]
    assert len(session.proxied) > 200
    differing = 0
    for direction in ("request", "response"):
        ours, theirs = streams(captured, direction), streams(session.proxied, direction)
        assert len(ours) == len(theirs)
        for stream in theirs:
            longer = [
                len(one) - len(stream) if direction == "response" else len(stream) - len(one)
                for one in ours
                if all(a == b for a, b in zip(one, stream, strict=False))
            ]
            under_way = [count for count in longer if count >= 0]
            assert under_way, stream
            differing += min(under_way)
    print(f"{differing} frames were under way")
    assert differing <= len(streams(captured, "request"))
    assert session.traffic.losses.lost == {}
    assert NOT_KAFKA in session.traffic.losses.passed_over  # the marker at the end
    assert session.traffic.losses.passed_over.keys() <= {NOT_KAFKA, CUT_OFF}


def test_every_frame_decodes_with_its_response(session: Session) -> None:
    decoded = session.decoded
    assert [one for one in decoded if one.error is not None] == []
    assert all(one.encodes_back(registry) for one in decoded)
    assert sum(one.is_token for one in decoded) == 2


def spoken_on(frame: Frame, port: int) -> bool:
    return frame.place is not None and frame.place.server.endswith(f":{port}")


def test_tshark_sees_the_same_requests(session: Session) -> None:
    """Only without SASL: its dissector takes raw tokens for requests."""
    port = session.ports[0]
    names = ("kafka.api_key", "kafka.api_version", "kafka.correlation_id", "tcp.dstport")
    rows = dissect(session.pcap, [port], names)
    theirs: Counter[tuple[int, ...]] = Counter()
    answers: Counter[int] = Counter()
    for row in rows:
        keys, versions, ids, ports = (list(map(int, row[name])) for name in names)
        if ports[0] == port:
            theirs.update(zip(keys, versions, ids, strict=True))
        else:
            answers.update(ids)
    ours = Counter(
        (one.api_key, one.version, one.header.correlation_id)
        for one in session.decoded
        if one.frame.direction == "request" and spoken_on(one.frame, port)
    )
    answered = Counter(
        one.header.correlation_id
        for one in session.decoded
        if one.frame.direction == "response" and spoken_on(one.frame, port)
    )
    print(f"tshark: {sum(theirs.values())} requests, {sum(answers.values())} responses")
    assert (theirs, answers) == (ours, answered)


def test_the_command_reads_what_tcpdump_wrote(session: Session, tmp_path: Path) -> None:
    saved = tmp_path / "session.jsonl"
    arguments = ["capture", "decode", str(session.pcap), "--save", str(saved), "-o", "json"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.stderr
    assert len(result.stdout.splitlines()) == len(session.captured)
    again = CliRunner().invoke(main, ["capture", "decode", str(saved), "--topic", TOPIC])
    assert again.exit_code == 0, again.stderr
    assert '"Produce"' in again.stdout
    assert '"Fetch"' in again.stdout
