"""Drives every kind of traffic through a cluster: C and Python clients, and Kafka's own tools.

Each function uses a group of APIs; `drive` calls them all. The names of topics and groups are
fixed, so that a recording shows what was done.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiokafka
from aiokafka.structs import TopicPartition as AioPartition
from confluent_kafka import TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
)

from codec_tests.interop.clients import SECONDS, consumer_of, finish, flush, producer_of
from codec_tests.interop.kafka_server import PASSWORD, KafkaCluster
from codec_tests.interop.kafka_tools import run_tool, write_config

TOPIC = "tea"

Step = Callable[[KafkaCluster], None]


def topics(cluster: KafkaCluster) -> None:
    """Create, alter and delete topics."""
    at = ("--bootstrap-server", cluster.bootstrap)
    copies = str(min(2, len(cluster.brokers)))
    command = "TopicCommand"
    run_tool(command, *at, "--create", "--topic", TOPIC, "--partitions", "2")
    run_tool(command, *at, "--create", "--topic", "cups", "--replication-factor", copies)
    run_tool(command, *at, "--create", "--topic", "leaves", "--replication-factor", copies)
    run_tool(command, *at, "--alter", "--topic", TOPIC, "--partitions", "3")
    run_tool(command, *at, "--describe")
    run_tool(command, *at, "--list")
    run_tool(command, *at, "--delete", "--topic", "leaves")


def plain_clients(cluster: KafkaCluster) -> None:
    """Produce with librdkafka and consume in a classic group."""
    producer = producer_of(cluster.bootstrap, enable_idempotence=True)
    for number in range(20):
        producer.produce(TOPIC, key=f"{number}", value=f"a cup of tea {number}", partition=0)
    flush(producer)
    consume(cluster, "classic-drinkers", 20)


def consume(cluster: KafkaCluster, group: str, count: int, **settings: Any) -> None:
    """Read `count` records of the topic in a group, commit, and query the committed offsets."""
    consumer = consumer_of(cluster.bootstrap, group, **settings)
    consumer.subscribe([TOPIC])
    try:
        messages = consumer.consume(count, SECONDS)
        assert len(messages) >= count, f"{group}: {len(messages)} of {count} messages"
        consumer.commit(asynchronous=False)
        consumer.committed([TopicPartition(TOPIC, 0)], SECONDS)
        consumer.offsets_for_times([TopicPartition(TOPIC, 0, 1)], SECONDS)
    finally:
        consumer.close()


def new_protocol(cluster: KafkaCluster) -> None:
    """Consume with librdkafka in a KIP-848 group."""
    consume(cluster, "new-drinkers", 10, group_protocol="consumer")


def transactions(cluster: KafkaCluster) -> None:
    """Commit a transaction with group offsets, and abort another."""
    producer = producer_of(cluster.bootstrap, transactional_id="teapot")
    producer.init_transactions(SECONDS)
    consumer = consumer_of(
        cluster.bootstrap,
        "transactional-drinkers",
        isolation_level="read_committed",
        enable_auto_commit=True,
    )
    consumer.subscribe([TOPIC])
    assert consumer.consume(1, SECONDS)
    producer.begin_transaction()
    producer.produce("cups", b"first")
    offsets = [TopicPartition(TOPIC, 0, 5)]
    producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), SECONDS)
    producer.commit_transaction(SECONDS)
    producer.begin_transaction()
    producer.produce("cups", b"never")
    producer.abort_transaction(SECONDS)
    consumer.close()
    at = ("--bootstrap-server", cluster.bootstrap)
    run_tool("TransactionsCommand", *at, "list")
    run_tool("TransactionsCommand", *at, "describe", "--transactional-id", "teapot")
    where = ("--topic", "cups", "--partition", "0")
    run_tool("TransactionsCommand", *at, "describe-producers", *where)
    run_tool("TransactionsCommand", *at, "find-hanging", "--broker-id", str(_broker(cluster)))


def _broker(cluster: KafkaCluster) -> int:
    return cluster.brokers[0].number


def python_client(cluster: KafkaCluster) -> None:
    """Produce in a transaction and consume in a group with aiokafka."""
    asyncio.run(asyncio.wait_for(_aiokafka(cluster.bootstrap), 2 * SECONDS))


async def _aiokafka(bootstrap: str) -> None:
    async with (
        aiokafka.AIOKafkaProducer(
            bootstrap_servers=bootstrap, transactional_id="kettle", compression_type="gzip"
        ) as producer,
        producer.transaction(),
    ):
        for number in range(10):
            await producer.send_and_wait(TOPIC, f"kettle {number}".encode(), partition=1)
        offsets = {AioPartition(TOPIC, 1): 3}
        await producer.send_offsets_to_transaction(offsets, "async-drinkers")
    async with aiokafka.AIOKafkaConsumer(
        TOPIC,
        bootstrap_servers=bootstrap,
        group_id="async-drinkers",
        auto_offset_reset="earliest",
        isolation_level="read_committed",
    ) as consumer:
        received = 0
        while received < 10:
            found = await consumer.getmany(timeout_ms=1000)
            received += sum(map(len, found.values()))
        await consumer.commit()
        await consumer.end_offsets([AioPartition(TOPIC, 1)])


def groups(cluster: KafkaCluster) -> None:
    """Describe groups, reset their offsets and delete them."""
    at = ("--bootstrap-server", cluster.bootstrap)
    command = "consumer.group.ConsumerGroupCommand"
    run_tool(command, *at, "--list", "--state")
    run_tool(command, *at, "--describe", "--all-groups")
    run_tool(command, *at, "--describe", "--members", "--all-groups")
    reset = ("--reset-offsets", "--to-earliest", "--topic", TOPIC, "--execute")
    run_tool(command, *at, "--group", "classic-drinkers", *reset)
    run_tool(command, *at, "--group", "classic-drinkers", "--delete-offsets", "--topic", TOPIC)
    run_tool(command, *at, "--delete", "--group", "async-drinkers")
    run_tool("GroupsCommand", *at, "--list")


def read_in_share_group(bootstrap: str, topic: str, group: str, count: int) -> str:
    """Read records from the start of a topic in a share group (KIP-932); return the output."""
    at = ("--bootstrap-server", bootstrap)
    setting = ("--alter", "--add-config", "share.auto.offset.reset=earliest")
    run_tool("kafka.admin.ConfigCommand", *at, "--group", group, *setting)
    limits = ("--max-messages", str(count), "--timeout-ms", "20000", "--group", group)
    return run_tool("consumer.ConsoleShareConsumer", *at, "--topic", topic, *limits)


def share_groups(cluster: KafkaCluster) -> None:
    """Consume in a share group; describe, reset and delete its offsets."""
    at = ("--bootstrap-server", cluster.bootstrap)
    read_in_share_group(cluster.bootstrap, TOPIC, "sharers", 5)
    command = "consumer.group.ShareGroupCommand"
    run_tool(command, *at, "--list")
    run_tool(command, *at, "--describe", "--offsets", "--group", "sharers")
    run_tool(command, *at, "--describe", "--members", "--group", "sharers")
    reset = ("--reset-offsets", "--to-latest", "--topic", TOPIC, "--execute")
    run_tool(command, *at, "--group", "sharers", *reset)
    run_tool(command, *at, "--delete-offsets", "--topic", TOPIC, "--group", "sharers")
    run_tool(command, *at, "--delete", "--group", "sharers")


def configs(cluster: KafkaCluster) -> None:
    """Change configurations, quotas, users and client metrics."""
    at = ("--bootstrap-server", cluster.bootstrap)
    config = "kafka.admin.ConfigCommand"
    topic = ("--entity-type", "topics", "--entity-name", TOPIC)
    run_tool(config, *at, *topic, "--alter", "--add-config", "retention.ms=86400000")
    run_tool(config, *at, *topic, "--describe", "--all")
    user = ("--entity-type", "users", "--entity-name", "guest")
    run_tool(config, *at, *user, "--alter", "--add-config", "producer_byte_rate=100000")
    scram = "SCRAM-SHA-256=[iterations=4096,password=guest]"
    run_tool(config, *at, *user, "--alter", "--add-config", scram)
    run_tool(config, *at, *user, "--describe")
    metrics = ("--name", "all", "--metrics", "org.apache.kafka.", "--interval", "100")
    run_tool("ClientMetricsCommand", *at, "--alter", *metrics)
    run_tool("ClientMetricsCommand", *at, "--list")
    limits = ("--num-records", "2000", "--record-size", "100", "--throughput", "1000")
    run_tool("ProducerPerformance", *at, "--topic", "cups", *limits)
    run_tool("ClientMetricsCommand", *at, "--delete", "--name", "all")


def older_admin(cluster: KafkaCluster) -> None:
    """Use the older request types of librdkafka's admin client."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    created = admin.create_topics([NewTopic("saucers", 1)])
    created |= admin.create_partitions([NewPartitions(TOPIC, 4)])
    finish(created)
    finish(admin.delete_records([TopicPartition(TOPIC, 0, 3)]))
    admin.describe_cluster().result(SECONDS)
    admin.list_consumer_groups().result(SECONDS)
    retention = {"retention.ms": "3600000"}
    resource = ConfigResource(ResourceType.TOPIC, "saucers", retention)
    finish(admin.alter_configs([resource]))
    finish(admin.delete_topics(["saucers"]))


def acls(cluster: KafkaCluster) -> None:
    """Add, list and remove ACLs."""
    at = ("--bootstrap-server", cluster.bootstrap)
    rule = ("--allow-principal", "User:guest", "--operation", "Read", "--topic", TOPIC)
    run_tool("AclCommand", *at, "--add", *rule)
    run_tool("AclCommand", *at, "--list")
    run_tool("AclCommand", *at, "--remove", "--force", *rule)


def tokens(cluster: KafkaCluster) -> None:
    """Log in with a password and create, renew and expire a delegation token."""
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    login = write_config(
        cluster.directory,
        "login",
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="PLAIN",
        sasl_jaas_config=f'{module} required username="admin" password="{PASSWORD}";',
    )
    at = ("--bootstrap-server", cluster.bootstrap_sasl, "--command-config", login)
    command = "DelegationTokenCommand"
    made = run_tool(command, *at, "--create", "--max-life-time-period", "-1")
    hmac = made.strip().splitlines()[-1].split()[1]
    run_tool(command, *at, "--renew", "--hmac", hmac, "--renew-time-period", "-1")
    run_tool(command, *at, "--describe")
    run_tool(command, *at, "--expire", "--hmac", hmac, "--expiry-time-period", "-1")


def logs(cluster: KafkaCluster) -> None:
    """Delete records, and move replicas and leaders."""
    at = ("--bootstrap-server", cluster.bootstrap)
    directory: Path = cluster.directory
    cut = {"version": 1, "partitions": [{"topic": TOPIC, "partition": 0, "offset": 2}]}
    _write(directory / "cut.json", cut)
    run_tool("DeleteRecordsCommand", *at, "--offset-json-file", str(directory / "cut.json"))
    run_tool("LogDirsCommand", *at, "--describe", "--topic-list", TOPIC)
    run_tool("GetOffsetShell", *at, "--topic", TOPIC)
    election = ("--election-type", "preferred", "--all-topic-partitions")
    run_tool("LeaderElectionCommand", *at, *election)
    numbers = [node.number for node in cluster.brokers]
    move = [
        {"topic": TOPIC, "partition": 0, "replicas": numbers, "log_dirs": ["any"] * len(numbers)}
    ]
    _write(directory / "move.json", {"version": 1, "partitions": move})
    chosen = ("--reassignment-json-file", str(directory / "move.json"))
    run_tool("reassign.ReassignPartitionsCommand", *at, *chosen, "--execute")
    run_tool("reassign.ReassignPartitionsCommand", *at, *chosen, "--verify")
    run_tool("reassign.ReassignPartitionsCommand", *at, "--list")


def _write(file: Path, value: object) -> None:
    file.write_text(json.dumps(value), encoding="utf-8")


def features(cluster: KafkaCluster) -> None:
    """Query the cluster and change its features."""
    at = ("--bootstrap-server", cluster.bootstrap)
    run_tool("ClusterTool", "cluster-id", *at)
    run_tool("ClusterTool", "list-endpoints", *at)
    run_tool("BrokerApiVersionsCommand", *at)
    run_tool("FeatureCommand", *at, "describe")
    run_tool("FeatureCommand", *at, "downgrade", "--feature", "streams.version=0")
    run_tool("FeatureCommand", *at, "upgrade", "--feature", "streams.version=1")
    run_tool("ClusterTool", "unregister", *at, "--id", "99", fails=True)


def quorum(cluster: KafkaCluster) -> None:
    """Describe the quorum, through a broker and directly."""
    for option, address in (
        ("--bootstrap-server", cluster.bootstrap),
        ("--bootstrap-controller", cluster.bootstrap_controllers),
    ):
        run_tool("MetadataQuorumCommand", option, address, "describe", "--status")
        run_tool("MetadataQuorumCommand", option, address, "describe", "--replication")


def quorum_changes(cluster: KafkaCluster) -> None:
    """Remove a controller from the voters and add it again, if there are at least three."""
    if len(cluster.controllers) < 3:
        return
    at = ("--bootstrap-controller", cluster.bootstrap_controllers)
    command = "MetadataQuorumCommand"
    node = next(node for node in cluster.controllers if node.number != cluster.leader())
    who = ("--controller-id", str(node.number), "--controller-directory-id", node.directory_id)
    run_tool(command, *at, "remove-controller", *who)
    own = ("--command-config", str(node.directory / "server.properties"))
    run_tool(command, *at, *own, "add-controller")


def leader_resigns(cluster: KafkaCluster) -> None:
    """Stop the active controller, wait for another leader, and start it again."""
    if len(cluster.controllers) < 3:
        return
    leader = next(node for node in cluster.controllers if node.number == cluster.leader())
    leader.stop()
    cluster.wait_for("another leader", lambda: cluster.leader() not in (None, leader.number))
    leader.start()
    cluster.wait_for("it is back", lambda: cluster.leader() is not None)


STEPS: tuple[Step, ...] = (
    topics,
    plain_clients,
    new_protocol,
    transactions,
    python_client,
    groups,
    share_groups,
    configs,
    older_admin,
    acls,
    tokens,
    logs,
    features,
    quorum,
    quorum_changes,
    leader_resigns,
)


def drive(cluster: KafkaCluster) -> None:
    """Call all steps in order."""
    for step in STEPS:
        step(cluster)
