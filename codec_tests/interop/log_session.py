"""Makes a real Kafka write every kind of file, for the tests of `kraftwire.log`.

`stored_logs` runs a controller and two brokers. At the end one broker is stopped cleanly and the
other killed, and the tests get their data directories.

Topic names show the content: `codec-lz4` has batches with that codec, `orders` transactions
(committed, aborted and open), `temperatures` is compacted, and `clocked` has LogAppendTime.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from kraftwire.log import find_partitions
from kraftwire.log.queries.summary import scan_partition

from codec_tests.interop.clients import SECONDS, consumer_of, finish, flush, producer_of
from codec_tests.interop.kafka_connection import Connection
from codec_tests.interop.kafka_server import KafkaCluster, KafkaNode, describe_quorum, kafka_cluster
from codec_tests.interop.kafka_session import (
    consume,
    read_in_share_group,
    share_groups,
    tokens,
)
from codec_tests.interop.kafka_tools import run_program, run_tool

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
SETTINGS = {
    "offsets.topic.replication.factor": "2",
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.replication.factor": "2",
    "transaction.state.log.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "2",
    "share.coordinator.state.topic.num.partitions": "1",
    "log.cleaner.backoff.ms": "200",
    "log.segment.delete.delay.ms": "3600000",
    "metadata.log.max.record.bytes.between.snapshots": "3000",
    "metadata.log.max.snapshot.interval.ms": "4000",
    "remote.log.storage.system.enable": "true",
    "remote.log.storage.manager.class.name": "NowhereStorage",
    "remote.log.metadata.manager.listener.name": "PLAINTEXT",
    "remote.log.manager.task.interval.ms": "500",
    "rlmm.config.remote.log.metadata.topic.replication.factor": "2",
    "rlmm.config.remote.log.metadata.topic.num.partitions": "1",
    "rlmm.config.remote.log.metadata.initialization.retry.interval.ms": "500",
}
_SEGMENTED = {"segment.ms": "100"}
_COMPACTED = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "segment.ms": "100"}
_CLOCKED = {"message.timestamp.type": "LogAppendTime"}
_TIERED = {"remote.storage.enable": "true", "local.retention.ms": "1"} | _SEGMENTED


class Described(NamedTuple):
    """What Kafka's own tools printed about the cluster before it stopped."""

    offset: int
    """The high watermark of the metadata log, when the topics were described."""
    topics: str
    offsets: str
    members: str
    share_offsets: str


class StoredLogs(NamedTuple):
    """The data directories of the stopped nodes."""

    controller: Path
    stopped: Path
    """A broker that was stopped in good order."""
    killed: Path
    """A broker that was killed."""
    described: Described


@contextmanager
def stored_logs() -> Iterator[StoredLogs]:
    """Run the session and yield its directories, which are deleted afterwards."""
    with kafka_cluster(controllers=1, brokers=2, settings=SETTINGS) as cluster:
        drive(cluster)
        described = describe(cluster)
        stopped, killed = cluster.brokers
        killed.kill()
        cluster.stop()
        (controller,) = cluster.controllers
        yield StoredLogs(_data(controller), _data(stopped), _data(killed), described)


def drive(cluster: KafkaCluster) -> None:
    """Write everything; the last steps leave members in their groups."""
    _topics(cluster)
    for codec in CODECS:
        _produce(cluster, f"codec-{codec}", codec)
    _produce(cluster, "clocked", "lz4")
    _produce(cluster, "tiered", "none")
    _compact(cluster)
    _metadata(cluster)
    consume(cluster, "classic-drinkers", 20)
    consume(cluster, "new-drinkers", 20, group_protocol="consumer")
    read_in_share_group(cluster.bootstrap, "tea", "tasters", 20)
    share_groups(cluster)
    tokens(cluster)
    _transactions(cluster)
    _broker_leaves(cluster, cluster.brokers[1])
    streams = (cluster.bootstrap, "streamers", "tea", str(cluster.directory / "streams"))
    run_program("StreamsMember", *streams)
    cluster.wait_for("segments went to the remote storage", lambda: _is_tiered(cluster))
    _join_and_vanish(cluster, "stayers", "classic")
    _join_and_vanish(cluster, "new-stayers", "consumer")


def describe(cluster: KafkaCluster) -> Described:
    """Run Kafka's tools."""
    at = ("--bootstrap-server", cluster.bootstrap)
    groups = "consumer.group.ConsumerGroupCommand"
    with Connection(cluster.controllers[0].ports["CONTROLLER"]) as connection:
        offset = describe_quorum(connection).high_watermark
    return Described(
        offset,
        topics=run_tool("TopicCommand", *at, "--describe"),
        offsets=run_tool(groups, *at, "--describe", "--all-groups", "--offsets"),
        members=run_tool(groups, *at, "--describe", "--all-groups", "--members"),
        share_offsets=run_tool(
            "consumer.group.ShareGroupCommand", *at, "--describe", "--all-groups", "--offsets"
        ),
    )


def _data(node: KafkaNode) -> Path:
    return node.directory / "data"


def _topics(cluster: KafkaCluster) -> None:
    configs: dict[str, dict[str, str]] = {f"codec-{codec}": {} for codec in CODECS}
    configs |= {"tea": _SEGMENTED, "orders": _SEGMENTED, "temperatures": _COMPACTED}
    configs |= {"clocked": _CLOCKED, "short-lived": {}, "tiered": _TIERED}
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    topics = [NewTopic(name, 1, 2, config=config) for name, config in configs.items()]
    finish(admin.create_topics(topics))
    finish(admin.delete_topics(["short-lived"]))
    _produce(cluster, "tea", "none", rounds=4)


def _produce(cluster: KafkaCluster, topic: str, codec: str, rounds: int = 3) -> None:
    """Produce keys, values and headers of every kind; each round is at least one batch."""
    producer = batch_producer(cluster, codec)
    for turn in range(rounds):
        for number in range(40):
            producer.produce(
                topic,
                key=None if number % 5 == 0 else f"cup {number}",
                value=record_value(turn, number),
                headers=(
                    [("shape", b"round"), ("shape", None), ("größe", b"\xff")]
                    if number % 7 == 0
                    else None
                ),
                partition=0,
                timestamp=record_time(turn),
            )
        flush(producer)


def batch_producer(cluster: KafkaCluster, codec: str) -> Producer:
    """Return a producer with a codec; all but gzip's are idempotent."""
    return producer_of(
        cluster.bootstrap,
        compression_type=codec,
        linger_ms=5,
        enable_idempotence=codec != "gzip",
    )


def record_value(turn: int, number: int) -> bytes | None:
    """Return a value; some are null, some empty, and the others differ in size."""
    if number % 11 == 0:
        return None  # a tombstone, if the record has a key
    if number % 13 == 0:
        return b""
    return f"cup {number} of turn {turn}: ".encode() * (number % 4 + 1)


def _compact(cluster: KafkaCluster) -> None:
    """Write the same keys many times, with tombstones, until the log cleaner has run."""
    producer = producer_of(cluster.bootstrap)
    for turn in range(8):
        for number in range(6):
            gone = (turn + number) % 5 == 0
            producer.produce(
                "temperatures",
                key=f"room {number}",
                value=None if gone else f"{turn}",
                partition=0,
                timestamp=record_time(turn),
            )
        flush(producer)
    cluster.wait_for("the cleaner was there", lambda: all(map(_is_cleaned, cluster.brokers)))


def record_time(turn: int) -> int:
    """Return a timestamp: a turn is a second, enough to roll a segment if `segment.ms` is small."""
    return int(time.time() * 1000) - 60_000 + 1000 * turn


def _is_cleaned(node: KafkaNode) -> bool:
    checkpoint = _data(node) / "cleaner-offset-checkpoint"
    return checkpoint.is_file() and b"temperatures" in checkpoint.read_bytes()


def _is_tiered(cluster: KafkaCluster) -> bool:
    """Whether two segments were copied; each has a record for its start and one for its end."""
    directories = [_data(node) / "__remote_log_metadata-0" for node in cluster.brokers]
    partitions = find_partitions([path for path in directories if any(path.glob("*.log"))])
    return any(scan_partition(found).records >= 4 for found in partitions)


def _metadata(cluster: KafkaCluster) -> None:
    """Add ACLs, users, quotas and settings, and remove some of them."""
    at = ("--bootstrap-server", cluster.bootstrap)
    for principal in ("User:guest", "User:host"):
        rule = ("--allow-principal", principal, "--operation", "Read", "--topic", "tea")
        run_tool("AclCommand", *at, "--add", *rule)
    run_tool("AclCommand", *at, "--remove", "--force", *rule)
    config = "kafka.admin.ConfigCommand"
    topic = ("--entity-type", "topics", "--entity-name", "tea")
    run_tool(config, *at, *topic, "--alter", "--add-config", "retention.ms=86400000")
    user = ("--entity-type", "users", "--entity-name", "guest")
    added = "SCRAM-SHA-256=[iterations=4096,password=guest],producer_byte_rate=100000"
    run_tool(config, *at, *user, "--alter", "--add-config", added.partition(",producer")[0])
    run_tool(config, *at, *user, "--alter", "--add-config", "producer_byte_rate=100000")
    broker = ("--entity-type", "brokers", "--entity-default")
    run_tool(config, *at, *broker, "--alter", "--add-config", "log.cleaner.threads=1")


def _transactions(cluster: KafkaCluster) -> None:
    """Commit and abort transactions with group offsets in several segments; leave one open."""
    producer = producer_of(cluster.bootstrap, transactional_id="till")
    producer.init_transactions(SECONDS)
    consumer = consumer_of(
        cluster.bootstrap, "cashiers", enable_auto_commit=True, auto_offset_reset="latest"
    )
    consumer.subscribe(["tea"])
    consumer.poll(SECONDS / 10)
    for turn in range(6):
        producer.begin_transaction()
        for number in range(5):
            value = f"order {turn}.{number}"
            producer.produce(
                "orders", key=f"{number}", value=value, partition=0, timestamp=record_time(turn)
            )
        flush(producer)
        offsets = [TopicPartition("tea", 0, turn + 1)]
        meta = consumer.consumer_group_metadata()
        producer.send_offsets_to_transaction(offsets, meta, SECONDS)
        if turn % 3 == 1:
            producer.abort_transaction(SECONDS)
        else:
            producer.commit_transaction(SECONDS)
    consumer.close()
    _produce(cluster, "orders", "zstd", rounds=1)
    producer.begin_transaction()
    producer.produce("orders", value=b"nobody knows yet", partition=0)
    flush(producer)


def _broker_leaves(cluster: KafkaCluster, node: KafkaNode) -> None:
    """Restart a broker, so that leaders and in-sync replicas change."""
    node.stop()
    _produce(cluster, "tea", "none", rounds=1)
    node.start()
    cluster.wait_for("it is back", cluster.is_ready)


def _join_and_vanish(cluster: KafkaCluster, group: str, protocol: str) -> None:
    """Let a member get its partitions and exit without leaving the group."""
    program = [sys.executable, str(Path(__file__).with_name("vanishing_member.py"))]
    arguments = [cluster.bootstrap, group, protocol, "tea"]
    subprocess.run([*program, *arguments], check=True, timeout=2 * SECONDS)
