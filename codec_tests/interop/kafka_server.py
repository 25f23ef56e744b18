"""Runs Apache Kafka on this machine: one node, or a quorum of controllers with brokers.

Every node is a JVM with its own directory and listens on 127.0.0.1. It ends with this process,
whatever happens (see Guarded.java). With a `RecordingProxy`, every listener advertises a port of
the proxy instead of its own, so that clients, brokers and controllers all connect through it.

If something fails, the directory with properties and logs stays, and the error names it.
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
from codec_tests.interop.kafka_tools import KafkaFailed, jvm_command, run_java, write_properties
from codec_tests.interop.maven import class_path
from codec_tests.interop.recording_proxy import RecordingProxy

READY_SECONDS = 60
DIRECTORY_PREFIX = "kraftwire-kafka-"
_STOP_SECONDS = 20
_TURN_SECONDS = 0.05
_ATTEMPTS = 3

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
    """Return a random UUID as Kafka prints it, without a leading dash."""
    while True:
        text = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not text.startswith("-"):
            return text


class NotReady(KafkaFailed):
    """Something did not happen in time although every node runs."""


@dataclass
class KafkaNode:
    """One JVM; it listens on `ports`, and others connect to the `advertised` ports."""

    number: int
    roles: tuple[str, ...]
    directory: Path
    ports: dict[str, int]
    advertised: dict[str, int]
    directory_id: str = field(default_factory=kafka_uuid)
    process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        return self.directory / "server.log"

    @property
    def controller(self) -> str:
        """The node as a voter in Kafka's settings."""
        return f"{self.number}@{HOST}:{self.advertised['CONTROLLER']}:{self.directory_id}"

    def write_properties(self, bootstrap: str, settings: Mapping[str, str]) -> Path:
        """Write `server.properties` and return its path."""
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
        write_properties(file, {**SETTINGS, **own, **settings})
        return file

    def start(self) -> None:
        """Start the JVM, without waiting until it is ready."""
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
        """Terminate the process, and kill it if it does not stop in time."""
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
        """Kill the process, as a crash would."""
        if self.process is not None:
            self.process.kill()
            self.stop()

    def lost_a_port(self) -> bool:
        """Whether another process took one of its ports first."""
        return self.log.is_file() and b"java.net.BindException" in self.log.read_bytes()

    def log_end(self) -> str:
        """The last 20 lines of the log."""
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
        return [node for node in self.nodes if "broker" in node.roles]

    @property
    def controllers(self) -> list[KafkaNode]:
        return [node for node in self.nodes if "controller" in node.roles]

    @property
    def bootstrap(self) -> str:
        """The bootstrap servers for clients."""
        return _addresses(self.brokers, "PLAINTEXT")

    @property
    def bootstrap_sasl(self) -> str:
        """The bootstrap servers for clients that log in as admin, with PLAIN or SCRAM-SHA-256."""
        return _addresses(self.brokers, "SASL")

    @property
    def bootstrap_controllers(self) -> str:
        """The bootstrap servers of the quorum."""
        return _addresses(self.controllers, "CONTROLLER")

    def format(self, settings: Mapping[str, str]) -> None:
        """Write the settings of every node and format its directory."""
        voters = ",".join(node.controller for node in self.controllers)
        for node in self.nodes:
            file = node.write_properties(self.bootstrap_controllers, settings)
            options = ["-c", str(file), "-t", self.cluster_id]
            if "controller" in node.roles:
                options += ["--initial-controllers", voters]
                options += ["--add-scram", f"SCRAM-SHA-256=[name=admin,password={PASSWORD}]"]
            run_java(class_path(), "kafka.tools.StorageTool", "format", *options)

    def start(self) -> None:
        """Start every node and wait until the cluster is ready."""
        for node in self.nodes:
            node.start()
        self.wait_for("every node answers and a leader is known", self.is_ready)

    def stop(self) -> None:
        """Stop every node, brokers first."""
        for node in sorted(self.nodes, key=lambda node: "controller" in node.roles):
            node.stop()

    def wait_for(self, what: str, happened: Callable[[], bool]) -> None:
        """Wait until `happened` returns true; connection errors count as false."""
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
        """Whether every node answers, all brokers are registered, and a controller leads."""
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
        """Return the node id of the active controller; None if no controller leads."""
        for node in self.controllers:
            if node.process is not None:
                with Connection(node.ports["CONTROLLER"]) as connection:
                    partition = describe_quorum(connection)
                if partition.error_code == 0 and partition.leader_id >= 0:
                    return int(partition.leader_id)
        return None

    def wait_for_leader(self) -> KafkaNode:
        """Wait for an active controller and return it."""
        found: list[KafkaNode] = []

        def leads() -> bool:
            leader = self.leader()
            found.extend(node for node in self.controllers if node.number == leader)
            return bool(found)

        self.wait_for("a leader", leads)
        return found[0]


def describe_quorum(connection: Connection) -> DescribeQuorumResponse.PartitionData:
    """Return what a controller reports about the metadata partition."""
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
    """Run a cluster; without `controllers`, its one broker is also the controller."""
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
    """Start a cluster; return False and delete its directories if another attempt may help.

    Other processes may take its ports. And sometimes a broker that starts during the first
    election never learns who leads, until it is restarted.
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
    """Return the command that runs a class with Kafka's jars and our own programs."""
    return jvm_command(class_path(), *arguments, heap="512m")


def _listeners(ports: Mapping[str, int]) -> str:
    return ",".join(f"{name}://{HOST}:{port}" for name, port in ports.items())


def _addresses(nodes: list[KafkaNode], listener: str) -> str:
    return ",".join(f"{HOST}:{node.advertised[listener]}" for node in nodes)
