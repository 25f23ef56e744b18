"""Clusters start, answer our codecs, survive the loss of a controller, and leave nothing."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from base64 import urlsafe_b64decode
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from kraftwire_messages.kafka import (
    ApiVersionsRequest,
    DescribeClusterRequest,
    MetadataRequest,
    registry,
)

from codec_tests.held_ports import held_port
from codec_tests.interop import kafka_server
from codec_tests.interop.kafka_connection import HOST, Connection
from codec_tests.interop.kafka_server import (
    DIRECTORY_PREFIX,
    PASSWORD,
    READY_SECONDS,
    KafkaCluster,
    describe_quorum,
    kafka_cluster,
)
from codec_tests.interop.kafka_tools import KafkaFailed, run_tool

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("kafka")]

PRODUCE = 0
TELEMETRY = {71, 72}
PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"


def offered(port: int) -> dict[int, range]:
    """Return the versions of each API that a listener offers."""
    with Connection(port) as connection:
        keys = connection.ask(ApiVersionsRequest(), 0).api_keys
    return {api.api_key: range(api.min_version, api.max_version + 1) for api in keys}


def test_one_node_gets_ready_and_leaves_nothing() -> None:
    with kafka_cluster() as cluster:
        processes = [node.process for node in cluster.nodes]
        assert "admin" not in run_tool(
            "TopicCommand", "--bootstrap-server", cluster.bootstrap, "--list"
        )
    assert all(process is not None and process.poll() is not None for process in processes)
    assert not cluster.directory.exists()


def test_our_codecs_have_every_version_that_a_broker_offers(kafka: KafkaCluster) -> None:
    (node,) = kafka.nodes
    broker, controller = offered(node.ports["PLAINTEXT"]), offered(node.ports["CONTROLLER"])
    assert len(broker) >= 60
    for api, versions in [*broker.items(), *controller.items()]:
        # For librdkafka, brokers name Produce from 0 on, and refuse 0 to 2 (KAFKA-18659).
        first = 3 if api == PRODUCE else versions[0]
        known = registry.request(api).VALID_VERSIONS
        assert (first in known, versions[-1] in known) == (True, True), api


NAMED = ApiVersionsRequest(client_software_name="kraftwire", client_software_version="1")


@pytest.mark.parametrize("request_", [NAMED, MetadataRequest(topics=[]), DescribeClusterRequest()])
def test_our_codecs_speak_every_version(kafka: KafkaCluster, request_: Any) -> None:
    port = kafka.nodes[0].ports["PLAINTEXT"]
    with Connection(port) as connection:
        for version in offered(port)[request_.API_KEY]:
            response = connection.ask(request_, version)
            assert getattr(response, "error_code", 0) == 0
            for broker in getattr(response, "brokers", []):
                assert (broker.host, broker.port) == (HOST, port)


def test_three_controllers_are_the_voters(quorum: KafkaCluster) -> None:
    with Connection(quorum.wait_for_leader().ports["CONTROLLER"]) as connection:
        voters = describe_quorum(connection).current_voters
    assert {(voter.replica_id, voter.replica_directory_id.bytes) for voter in voters} == {
        (node.number, urlsafe_b64decode(node.directory_id + "==")) for node in quorum.controllers
    }
    assert len(voters) == 3


def test_another_controller_leads_when_the_leader_is_gone() -> None:
    with kafka_cluster(controllers=3) as cluster:
        first = cluster.wait_for_leader()
        first.kill()
        cluster.wait_for("another leader", lambda: cluster.leader() not in (None, first.number))


def test_a_cluster_that_does_not_get_ready_is_started_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker once never found the leader until the test ended."""
    deaf: list[KafkaCluster] = []
    is_ready = KafkaCluster.is_ready

    def hears_the_second_time(cluster: KafkaCluster) -> bool:
        if not deaf:
            deaf.append(cluster)
            monkeypatch.setattr(kafka_server, "READY_SECONDS", READY_SECONDS)
        return cluster is not deaf[0] and is_ready(cluster)

    monkeypatch.setattr(kafka_server, "READY_SECONDS", 1)
    monkeypatch.setattr(KafkaCluster, "is_ready", hears_the_second_time)
    with kafka_cluster() as cluster:
        assert cluster is not deaf[0]
        assert is_ready(cluster)


def test_the_logs_stay_where_something_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    settings = {"transaction.max.timeout.ms": "tea"}
    with pytest.raises(KafkaFailed) as caught, kafka_cluster(settings=settings):
        raise AssertionError("a cluster with such a setting started")
    (note,) = caught.value.__notes__
    directory = Path(note.removeprefix("properties and logs of Kafka are in "))
    assert directory.parent == tmp_path
    assert "tea" in str(caught.value)
    assert (directory / "node_1" / "server.properties").is_file()


FAILING_TEST = """
def test_that_fails(kafka):
    raise AssertionError("tea is cold")
"""


def test_the_logs_stay_where_a_test_failed_that_shares_a_cluster(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(FAILING_TEST)
    (tmp_path / "conftest.py").write_text("from codec_tests.interop.conftest import *")
    (tmp_path / "tmp").mkdir()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", str(PYPROJECT)]
    done = subprocess.run(
        [*command, "--rootdir", str(PYPROJECT.parent), str(tmp_path / "test_it.py")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "TMPDIR": str(tmp_path / "tmp")},
    )
    (directory,) = (tmp_path / "tmp").glob(f"{DIRECTORY_PREFIX}*")
    assert "1 failed" in done.stdout
    assert f"properties and logs of Kafka are in {directory}" in done.stdout
    assert (directory / "node_1" / "server.log").stat().st_size > 0


def test_a_port_that_another_process_took_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        first = [taken.getsockname()[1]]
        monkeypatch.setattr(
            kafka_server, "held_port", lambda: first.pop() if first else held_port()
        )
        with kafka_cluster() as cluster:
            assert cluster.leader() is not None


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_clients_log_in(kafka: KafkaCluster, mechanism: str) -> None:
    admin = AdminClient(
        {
            "bootstrap.servers": kafka.bootstrap_sasl,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": mechanism,
            "sasl.username": "admin",
            "sasl.password": PASSWORD,
        }
    )
    assert admin.list_topics(timeout=30).brokers


def test_brokers_take_metrics_of_clients(kafka: KafkaCluster) -> None:
    assert offered(kafka.nodes[0].ports["PLAINTEXT"]).keys() >= TELEMETRY
