"""Clients use a real Kafka through the proxy: what they see, and what is recorded.

The listener for clients of two brokers is SASL over TLS. The clients connect to the proxy in
plaintext.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator
from pathlib import Path

import aiokafka
import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from kraftwire.address import Address
from kraftwire.capture.cassette import CassetteHeader, CassetteReader
from kraftwire.capture.cassette_file import CassetteFile
from kraftwire.capture.decoding.decoder import DecodedFrame, decode_frames
from kraftwire.capture.frame import Frame
from kraftwire.capture.proxy.proxy import ProxyThread
from kraftwire.net.security import ClientSecurity, Mechanism, Sasl, Tls
from kraftwire.raft.core.messages import METADATA_TOPIC_ID
from kraftwire_messages.kafka import (
    ApiVersionsRequest,
    CreateDelegationTokenRequest,
    FetchRequest,
    registry,
)

from codec_tests.interop.clients import (
    QUIET,
    SECONDS,
    consumer_of,
    finish,
    flush,
    producer_of,
    read,
)
from codec_tests.interop.kafka_connection import HOST, Connection
from codec_tests.interop.kafka_server import PASSWORD, KafkaCluster, describe_quorum, kafka_cluster
from codec_tests.net.certificates import Authority

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("capture proxy")]

TOPIC = "orders"
SCRAM_PASSWORD, SALT = b"wordpass-of-somebody", b"salt-of-somebody"
SETTING = "value-of-a-sensitive-setting"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def cluster(authority: Authority) -> Iterator[KafkaCluster]:
    protocols = "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL:SASL_SSL"
    tls = "listener.name.sasl.ssl"
    settings = {
        "listener.security.protocol.map": protocols,
        f"{tls}.keystore.type": "PEM",
        f"{tls}.keystore.location": str(authority.issue("broker")),
        "num.partitions": "4",
    }
    with kafka_cluster(controllers=1, brokers=2, settings=settings) as cluster:
        yield cluster


def sasl_port(cluster: KafkaCluster) -> Address:
    return Address(HOST, cluster.brokers[0].ports["SASL"])


class Tape:
    """A cassette that a proxy writes, with assertions about it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = CassetteFile.create(path, CassetteHeader("a test", registry.release))

    def record(self, frame: Frame) -> None:
        self.file.write(frame)

    def frames(self) -> list[Frame]:
        with self.path.open("rb") as stream:
            return list(CassetteReader(stream, str(self.path)))

    def decoded(self) -> list[DecodedFrame]:
        return list(decode_frames(self.frames(), registry))

    def assert_whole(self) -> None:
        """Check that every frame decodes and encodes to the same bytes."""
        decoded = self.decoded()
        assert [(one.api, str(one.error)) for one in decoded if one.error is not None] == []
        assert all(one.encodes_back(registry) for one in decoded)

    def assert_without(self, *secrets: bytes) -> None:
        raw = self.path.read_bytes() + b"".join(frame.data for frame in self.frames())
        for secret in secrets:
            assert secret not in raw

    def redacted(self) -> set[tuple[str | None, str]]:
        """Return the APIs and paths of redacted fields."""
        pairs = zip(self.decoded(), self.frames(), strict=True)
        return {(one.api, path) for one, frame in pairs for path in frame.redacted}


@pytest.fixture
def tape(tmp_path: Path) -> Iterator[Tape]:
    tape = Tape(tmp_path / "session.jsonl")
    with tape.file:
        yield tape


def produce_and_consume(bootstrap: str, group: str) -> list[bytes]:
    producer = producer_of(bootstrap)
    for number in range(40):
        producer.produce(TOPIC, value=b"%d" % number, partition=number % 4)
    flush(producer)
    consumer = consumer_of(bootstrap, group, enable_auto_commit=True)
    consumer.subscribe([TOPIC])
    values = [message.value() or b"" for message in read(consumer, 40)]
    consumer.close()
    return sorted(values, key=int)


async def produce_with_aiokafka(bootstrap: str) -> int:
    async with aiokafka.AIOKafkaProducer(bootstrap_servers=bootstrap) as producer:
        sent = [await producer.send_and_wait(TOPIC, b"41", partition=at) for at in range(4)]
    return len(sent)


def test_clients_stay_on_a_proxy_that_speaks_tls_and_logs_in(
    cluster: KafkaCluster, authority: Authority, tape: Tape
) -> None:
    security = ClientSecurity(
        tls=Tls(authorities=authority.file), sasl=Sasl(Mechanism.SCRAM_SHA_256, "admin", PASSWORD)
    )
    upstream = sasl_port(cluster)
    with ProxyThread(upstream, security=security, record=tape.record) as proxy:
        bootstrap = str(proxy.address)
        admin = AdminClient(QUIET | {"bootstrap.servers": bootstrap})
        finish(admin.create_topics([NewTopic(TOPIC, 4, 2)]))
        assert len(produce_and_consume(bootstrap, "proxied")) == 40
        assert asyncio.run(asyncio.wait_for(produce_with_aiokafka(bootstrap), SECONDS)) == 4
        secrets = change_secrets(admin) + make_token(proxy.address.port)
    assert proxy.problems == []
    tape.assert_whole()
    brokers = {str(Address(HOST, node.ports["SASL"])) for node in cluster.brokers}
    produced = {
        frame.broker
        for frame, one in zip(tape.frames(), tape.decoded(), strict=True)
        if one.api == "Produce"
    }
    assert produced == brokers, "partitions of both brokers were written through the proxy"
    tape.assert_without(PASSWORD.encode(), *secrets)
    assert {api for api, _ in tape.redacted()} == {
        "AlterUserScramCredentials",
        "IncrementalAlterConfigs",
        "CreateDelegationToken",
    }


def change_secrets(admin: AdminClient) -> list[bytes]:
    """Send secrets with an admin client; return bytes that must not be recorded."""
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
    upsertion = UserScramCredentialUpsertion("somebody", info, SCRAM_PASSWORD, SALT)
    finish(admin.alter_user_scram_credentials([upsertion]))
    entry = ConfigEntry("some.password", SETTING, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, TOPIC, incremental_configs=[entry])
    for future in admin.incremental_alter_configs([resource]).values():
        assert future.exception(SECONDS) is not None  # there is no such setting
    salted = hashlib.pbkdf2_hmac("sha256", SCRAM_PASSWORD, SALT, 4096)
    return [SCRAM_PASSWORD, SALT, salted, SETTING.encode()]


def make_token(port: int) -> list[bytes]:
    """Create a delegation token for the user that the proxy logged in as."""
    with Connection(port) as connection:
        made = connection.ask(CreateDelegationTokenRequest(max_lifetime_ms=-1), 3)
        assert made.error_code == 0
    return [made.hmac, made.token_id.encode()]


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_logins_of_clients_pass_and_leave_no_password(
    cluster: KafkaCluster, authority: Authority, tape: Tape, mechanism: str
) -> None:
    security = ClientSecurity(tls=Tls(authorities=authority.file))
    with ProxyThread(sasl_port(cluster), security=security, record=tape.record) as proxy:
        settings = {
            "bootstrap.servers": str(proxy.address),
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": mechanism,
            "sasl.username": "admin",
            "sasl.password": PASSWORD,
        }
        admin = AdminClient(QUIET | settings)
        described = admin.describe_cluster().result(SECONDS)
        assert {node.port for node in described.nodes}.isdisjoint(
            node.ports["SASL"] for node in cluster.brokers
        )
    assert proxy.problems == []
    tape.assert_whole()
    tape.assert_without(PASSWORD.encode(), b"c=biws", b"p=", b"r=")
    assert tape.redacted() == {("SaslAuthenticate", "auth_bytes")}


def test_a_login_that_the_broker_refuses_is_reported(
    cluster: KafkaCluster, authority: Authority, tape: Tape
) -> None:
    sasl = Sasl(Mechanism.SCRAM_SHA_256, "admin", "another-password")
    security = ClientSecurity(tls=Tls(authorities=authority.file), sasl=sasl)
    with (
        ProxyThread(sasl_port(cluster), security=security, record=tape.record) as proxy,
        pytest.raises(ConnectionError),
        Connection(proxy.address.port) as connection,
    ):
        connection.ask(ApiVersionsRequest(), 0)
    (problem,) = proxy.problems
    assert "SASL_AUTHENTICATION_FAILED" in problem
    assert sasl.password not in problem
    assert tape.frames() == []


def test_credentials_in_the_metadata_log_are_redacted(cluster: KafkaCluster, tape: Tape) -> None:
    leader = next(node for node in cluster.controllers if node.number == cluster.leader())
    upstream = Address(HOST, leader.ports["CONTROLLER"])
    with (
        ProxyThread(upstream, record=tape.record) as proxy,
        Connection(proxy.address.port) as connection,
    ):
        epoch = describe_quorum(connection).leader_epoch
        received = connection.ask(fetch_metadata(epoch), 17)
    tape.assert_whole()
    records = received.responses[0].partitions[0].records
    *_, recorded = tape.decoded()
    kept = recorded.message.responses[0].partitions[0].records  # type: ignore[union-attr]
    assert kept != records
    (paths,) = [frame.redacted for frame in tape.frames() if frame.redacted]
    names = {path.rpartition("].")[2] for path in paths}
    assert {f"UserScramCredentialRecord.{name}" for name in ("salt", "stored_key")} <= names


def fetch_metadata(epoch: int) -> FetchRequest:
    """Return the first request of an observer with an empty log."""
    partition = FetchRequest.FetchPartition(
        current_leader_epoch=epoch, last_fetched_epoch=0, partition_max_bytes=10 << 20
    )
    topic = FetchRequest.FetchTopic(topic_id=METADATA_TOPIC_ID, partitions=[partition])
    return FetchRequest(max_wait_ms=100, max_bytes=10 << 20, topics=[topic])
