"""A real Apache Kafka on this machine: one node, or a quorum of controllers with a broker.

Every node is a JVM of its own with its own directory. It listens on 127.0.0.1, is stopped by
its process id, and ends with this process whatever happens (see Guarded.java). With a
`RecordingProxy`, every listener advertises a tap of the proxy in place of its own port, so
that clients, brokers and controllers all speak through the proxy.

Where something fails, the directory with properties and logs stays, and the error says
where it is.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from kraftwire_messages.kafka import (
    ApiVersionsRequest,
    DescribeClusterRequest,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
)

from codec_tests.held_ports import held_port
from codec_tests.interop.kafka_connection import HOST, Connection
from codec_tests.interop.maven import JAVA_DIRECTORY, class_path, joined, tool
from codec_tests.interop.recording_proxy import RecordingProxy

READY_SECONDS = 60
DIRECTORY_PREFIX = "kraftwire-kafka-"
_STOP_SECONDS = 20
_FORMAT_SECONDS = 60
_TURN_SECONDS = 0.05
_ATTEMPTS = 3
_JVM = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true")

PASSWORD = "admin-password"
SETTINGS = {
    "listener.security.protocol.map": (
        "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT"
    ),
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
    "listener.name.sasl.plain.sasl.jaas.config": (
        "org.apache.kafka.common.security.plain.PlainLoginModule required "
        f'username="admin" password="{PASSWORD}" user_admin="{PASSWORD}";'
    ),
    "listener.name.sasl.scram-sha-256.sasl.jaas.config": (
        "org.apache.kafka.common.security.scram.ScramLoginModule required;"
    ),
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS;User:admin",
    "delegation.token.secret.key": PASSWORD,
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.num.partitions": "3",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.num.partitions": "3",
    "share.coordinator.state.topic.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "auto.create.topics.enable": "false",
    "unstable.api.versions.enable": "true",
}


def kafka_uuid() -> str:
    """A random UUID in the form that Kafka prints; none that starts with a dash."""
    while True:
        text = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not text.startswith("-"):
            return text


class KafkaFailed(Exception):
    """A node or tool of Kafka did not do what it was asked for; the message has its log's end."""


class NotReady(KafkaFailed):
    """Something did not happen in time, though every node runs."""


@dataclass
class KafkaNode:
    """One JVM: `ports` are where it listens, `advertised` what others are told."""

    number: int
    roles: tuple[str, ...]
    directory: Path
    ports: dict[str, int]
    advertised: dict[str, int]
    directory_id: str = field(default_factory=kafka_uuid)
    process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        """What the node printed."""
        return self.directory / "server.log"

    @property
    def controller(self) -> str:
        """The node as Kafka's settings name a voter."""
        return f"{self.number}@{HOST}:{self.advertised['CONTROLLER']}:{self.directory_id}"

    def write_properties(self, bootstrap: str, settings: Mapping[str, str]) -> Path:
        """Write `server.properties`."""
        own = {
            "process.roles": ",".join(self.roles),
            "node.id": str(self.number),
            "listeners": _listeners(self.ports),
            "advertised.listeners": _listeners(self.advertised),
            "controller.quorum.bootstrap.servers": bootstrap,
            "log.dirs": str(self.directory / "data"),
        }
        if "broker" in self.roles:  # tools that read a controller's settings lack the class
            own["metric.reporters"] = "TelemetrySink"
        file = self.directory / "server.properties"
        lines = [f"{key}={value}" for key, value in {**SETTINGS, **own, **settings}.items()]
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return file

    def start(self) -> None:
        """Start the JVM; it is not ready yet."""
        command = java_command("Guarded", "kafka.Kafka", str(self.directory / "server.properties"))
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd=self.directory,
                start_new_session=True,  # ^C is for pytest, which then stops the nodes in order
            )

    def stop(self) -> None:
        """Ask it to stop, and after a while end it."""
        process, self.process = self.process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(_STOP_SECONDS)
        if process.stdin is not None:
            process.stdin.close()

    def kill(self) -> None:
        """End it at once, as a crash would."""
        if self.process is not None:
            self.process.kill()
            self.stop()

    def lost_a_port(self) -> bool:
        """Whether another process took one of its ports before it did."""
        return self.log.is_file() and b"java.net.BindException" in self.log.read_bytes()

    def log_end(self) -> str:
        """The last lines of the log."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(lines[-20:])


@dataclass
class KafkaCluster:
    """The nodes of a running cluster."""

    directory: Path
    nodes: list[KafkaNode]
    cluster_id: str = field(default_factory=kafka_uuid)
    keep_logs: bool = False

    @property
    def brokers(self) -> list[KafkaNode]:
        """The nodes that clients speak to."""
        return [node for node in self.nodes if "broker" in node.roles]

    @property
    def controllers(self) -> list[KafkaNode]:
        """The voters."""
        return [node for node in self.nodes if "controller" in node.roles]

    @property
    def bootstrap(self) -> str:
        """The brokers' addresses, as clients take them."""
        return _addresses(self.brokers, "PLAINTEXT")

    @property
    def bootstrap_sasl(self) -> str:
        """The addresses for clients that log in as admin, by PLAIN or SCRAM-SHA-256."""
        return _addresses(self.brokers, "SASL")

    @property
    def bootstrap_controllers(self) -> str:
        """The controllers' addresses."""
        return _addresses(self.controllers, "CONTROLLER")

    def format(self, settings: Mapping[str, str]) -> None:
        """Write the settings of every node, and prepare its directory."""
        voters = ",".join(node.controller for node in self.controllers)
        for node in self.nodes:
            file = node.write_properties(self.bootstrap_controllers, settings)
            command = java_command("kafka.tools.StorageTool", "format", "-c", str(file))
            command += ["-t", self.cluster_id]
            if "controller" in node.roles:
                command += ["--initial-controllers", voters]
                command += ["--add-scram", f"SCRAM-SHA-256=[name=admin,password={PASSWORD}]"]
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=_FORMAT_SECONDS, check=False
            )
            if done.returncode:
                printed = (done.stdout + done.stderr)[-2000:]
                raise KafkaFailed(f"{node.directory} was not formatted: {printed}")

    def start(self) -> None:
        """Start every node and wait until the cluster can be used."""
        for node in self.nodes:
            node.start()
        self.wait_for("every node answers and a leader is known", self.is_ready)

    def stop(self) -> None:
        """Stop every node, brokers first."""
        for node in sorted(self.nodes, key=lambda node: "controller" in node.roles):
            node.stop()

    def wait_for(self, what: str, happened: Callable[[], bool]) -> None:
        """Look again and again, for a bounded time; errors of connections are a no."""
        end = time.monotonic() + READY_SECONDS
        while time.monotonic() < end:
            for node in self.nodes:
                if node.process is not None and node.process.poll() is not None:
                    raise KafkaFailed(f"node {node.number} has ended:\n{node.log_end()}")
            try:
                if happened():
                    return
            except OSError:
                pass
            time.sleep(_TURN_SECONDS)
        ends = "\n\n".join(f"node {node.number}:\n{node.log_end()}" for node in self.nodes)
        raise NotReady(f"not within {READY_SECONDS} seconds: {what}\n{ends}")

    def is_ready(self) -> bool:
        """Whether every node answers, all brokers are known, and a controller leads."""
        for node in self.nodes:
            for name, port in node.ports.items():
                if name != "SASL":
                    with Connection(port) as connection:
                        connection.ask(ApiVersionsRequest(), 0)
        for broker in self.brokers[:1]:
            with Connection(broker.ports["PLAINTEXT"]) as connection:
                described = connection.ask(DescribeClusterRequest(), 0)
            if len(described.brokers) != len(self.brokers):
                return False
        return self.leader() is not None

    def leader(self) -> int | None:
        """The node id of the active controller; None while there is none."""
        for node in self.controllers:
            if node.process is not None:
                with Connection(node.ports["CONTROLLER"]) as connection:
                    partition = describe_quorum(connection)
                if partition.error_code == 0 and partition.leader_id >= 0:
                    return int(partition.leader_id)
        return None

    def wait_for_leader(self) -> KafkaNode:
        """The active controller, as soon as there is one."""
        found: list[KafkaNode] = []

        def leads() -> bool:
            leader = self.leader()
            found.extend(node for node in self.controllers if node.number == leader)
            return bool(found)

        self.wait_for("a leader", leads)
        return found[0]


def describe_quorum(connection: Connection) -> DescribeQuorumResponse.PartitionData:
    """What a controller knows of the metadata partition."""
    partition = DescribeQuorumRequest.PartitionData()
    topic = DescribeQuorumRequest.TopicData(topic_name="__cluster_metadata", partitions=[partition])
    response = connection.ask(DescribeQuorumRequest(topics=[topic]), 2)
    found: DescribeQuorumResponse.PartitionData = response.topics[0].partitions[0]
    return found


@contextmanager
def kafka_cluster(
    *,
    controllers: int = 0,
    brokers: int = 1,
    proxy: RecordingProxy | None = None,
    settings: Mapping[str, str] | None = None,
) -> Iterator[KafkaCluster]:
    """A running cluster: without `controllers`, its one broker is its controller too."""
    directory = Path(tempfile.mkdtemp(prefix=DIRECTORY_PREFIX))
    try:
        for attempt in range(1, _ATTEMPTS + 1):
            nodes = list(_nodes(directory, controllers, brokers, proxy))
            cluster = KafkaCluster(directory, nodes)
            if _started(cluster, settings or {}, last=attempt == _ATTEMPTS):
                break
        try:
            yield cluster
        finally:
            cluster.stop()
    except BaseException as error:
        error.add_note(f"properties and logs of Kafka are in {directory}")
        raise
    if not cluster.keep_logs:
        shutil.rmtree(directory)


def _started(cluster: KafkaCluster, settings: Mapping[str, str], *, last: bool) -> bool:
    """Start a cluster; False where it is to be tried again, and its directories are gone.

    Others may take its ports. A broker that comes up while the first leader is elected now and
    then never finds out who it is, and asks in vain until it is started anew.
    """
    try:
        cluster.format(settings)
        cluster.start()
    except BaseException as error:
        cluster.stop()
        lost = any(node.lost_a_port() for node in cluster.nodes)
        again = isinstance(error, NotReady) or (lost and isinstance(error, KafkaFailed))
        if last or not again:
            raise
        for node in cluster.nodes:
            shutil.rmtree(node.directory)
        return False
    return True


def _nodes(
    directory: Path, controllers: int, brokers: int, proxy: RecordingProxy | None
) -> Iterator[KafkaNode]:
    roles: list[tuple[str, ...]] = [("controller",)] * controllers
    roles += [("broker",) if controllers else ("broker", "controller")] * brokers
    for number, its_roles in enumerate(roles, start=1):
        names = ["CONTROLLER"] if "controller" in its_roles else []
        names += ["PLAINTEXT", "SASL"] if "broker" in its_roles else []
        ports = {name: held_port() for name in names}
        taps = {name: proxy.tap((HOST, port)) for name, port in ports.items()} if proxy else ports
        own = directory / f"node_{number}"
        own.mkdir()
        yield KafkaNode(number, its_roles, own, ports, taps)


def java_command(*arguments: str) -> list[str]:
    """What runs a class with Kafka's jars and our own programs."""
    config = f"-Dlog4j2.configurationFile={JAVA_DIRECTORY / 'log4j2.properties'}"
    return [str(tool("java")), *_JVM, config, "-cp", joined(class_path()), *arguments]


def _listeners(ports: Mapping[str, int]) -> str:
    return ",".join(f"{name}://{HOST}:{port}" for name, port in ports.items())


def _addresses(nodes: list[KafkaNode], listener: str) -> str:
    return ",".join(f"{HOST}:{node.advertised[listener]}" for node in nodes)
