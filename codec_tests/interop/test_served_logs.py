"""A real broker opens and serves segments that kraftwire wrote or salvaged.

The broker creates the topics and stops, our files replace those of its partitions, and it starts
again. Then real clients read our records and write after them.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from kraftwire.log import Batch, Record, decode_batch, find_partitions
from kraftwire.log.batches.compression import Compression
from kraftwire.log.batches.encoding import BatchSettings, control_record, encode_batch
from kraftwire.log.queries.transactions import PartitionTransactions
from kraftwire.log.salvage.partition import Salvage
from kraftwire.log.small_files.checkpoints import EpochEntry, encode_leader_epochs
from kraftwire.log.writers.segment_writer import SegmentWriter
from kraftwire_messages.kafka import EndTxnMarker
from kraftwire_wire.records import ControlType

from codec_tests.interop.clients import finish, flush, producer_of
from codec_tests.interop.consumer_view import Seen, consume_all
from codec_tests.interop.kafka_server import KafkaCluster, kafka_cluster

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("served_logs")]

START = 1_700_000_000_000
PRODUCER = 4_000_000


@pytest.fixture(scope="module")
def cluster() -> Iterator[KafkaCluster]:
    with kafka_cluster() as kafka:
        yield kafka


def _records(first: int, count: int) -> list[Record]:
    records = []
    for offset in range(first, first + count):
        key = None if offset % 5 == 0 else f"key {offset}".encode()
        value = None if offset % 7 == 0 else f"value {offset} ".encode() * (offset % 40)
        headers = (("h", b"1"), ("h", None)) if offset % 3 == 0 else ()
        records.append(Record(offset, START + offset, key, value, headers))
    return records


def _plain_batches() -> list[bytes]:
    """Return batches with every codec, and with gaps between and within batches."""
    batches = []
    offset = 10
    for turn in range(60):
        records = _records(offset, 30)
        if turn % 4 == 3:
            del records[10:15]  # as compaction leaves them
        codec = Compression(turn % 5)
        batches.append(encode_batch(records, BatchSettings(codec=codec)))
        offset += 30 + turn % 2
    return batches


def _transactional_batches() -> list[bytes]:
    """Return batches of two interleaved producers; every third transaction of each is aborted."""
    batches = []
    offset = 0
    sequences = [0, 0]
    for turn in range(30):
        who = turn % 2
        settings = BatchSettings(
            producer_id=PRODUCER + who, producer_epoch=0, is_transactional=True
        )
        records = _records(offset, 20)
        data = settings._replace(base_sequence=sequences[who], codec=Compression.ZSTD)
        batches.append(encode_batch(records, data))
        sequences[who] += 20
        offset += 20
        if turn % 4 >= 2:
            kind = ControlType.ABORT if turn % 3 == 0 else ControlType.COMMIT
            marker = control_record(offset, START + offset, kind, EndTxnMarker())
            batches.append(encode_batch([marker], settings._replace(is_control=True)))
            offset += 1
    return batches


def _write(directory: Path, batches: list[bytes], segments: int) -> None:
    """Replace a partition's files."""
    for path in directory.iterdir():
        if path.name != "partition.metadata":
            path.unlink()
    transactions = PartitionTransactions()
    size = -(-len(batches) // segments)
    for start in range(0, len(batches), size):
        part = [decode_batch(data) for data in batches[start : start + size]]
        with SegmentWriter(directory, part[0].base_offset) as writer:
            for batch in part:
                writer.append(batch)
                known = len(transactions.aborted)
                transactions.apply(batch)
                for aborted in transactions.aborted[known:]:
                    writer.add_aborted(aborted)
    first = decode_batch(batches[0]).base_offset
    (directory / "leader-epoch-checkpoint").write_bytes(
        encode_leader_epochs([EpochEntry(0, first)])
    )


def _consume(cluster: KafkaCluster, topic: str, isolation: str = "read_uncommitted") -> list[Seen]:
    return consume_all(cluster, {topic: 1}, isolation)


def _seen(topic: str, record: Record) -> Seen:
    headers = tuple(record.headers) or None
    at = record.timestamp * 1000
    return Seen(topic, 0, record.offset, at, 0, record.key, record.value, headers)


def _visible(
    topic: str, batches: list[Batch], transactions: PartitionTransactions | None = None
) -> list[Seen]:
    return [
        _seen(topic, record)
        for batch in batches
        if not batch.header.is_control
        and (transactions is None or transactions.is_visible(batch.header))
        for record in batch.records
    ]


def _restart_with(cluster: KafkaCluster, parts: dict[str, tuple[list[bytes], int]]) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    forever = {"retention.ms": "-1"}  # the records are of 2023
    topics = [NewTopic(name, 1, 1, config=forever) for name in parts]
    finish(admin.create_topics(topics))
    (node,) = cluster.nodes
    node.stop()
    data = node.directory / "data"
    for name, (batches, segments) in parts.items():
        _write(data / f"{name}-0", batches, segments)
    for name in ("recovery-point-offset-checkpoint", "replication-offset-checkpoint"):
        (data / name).unlink(missing_ok=True)
    (data / ".kafka_cleanshutdown").unlink(missing_ok=True)
    node.start()
    cluster.wait_for("it is back", cluster.is_ready)


def test_a_broker_serves_what_we_wrote_and_writes_after_it(cluster: KafkaCluster) -> None:
    plain, transactional = _plain_batches(), _transactional_batches()
    _restart_with(cluster, {"plain": (plain, 4), "transactional": (transactional, 3)})

    ours = [decode_batch(data) for data in plain]
    end = ours[-1].header.last_offset
    assert _consume(cluster, "plain") == _visible("plain", ours)

    ours = [decode_batch(data) for data in transactional]
    transactions = PartitionTransactions()
    for batch in ours:
        transactions.apply(batch)
    assert len(transactions.aborted) >= 3
    for isolation, known in (("read_uncommitted", None), ("read_committed", transactions)):
        wanted = _visible("transactional", ours, known)
        assert _consume(cluster, "transactional", isolation) == wanted

    producer = producer_of(cluster.bootstrap)
    producer.produce("plain", b"one more", partition=0)
    flush(producer)
    last = _consume(cluster, "plain")[-1]
    assert (last.offset, last.value) == (end + 1, b"one more")


def test_a_broker_serves_what_was_salvaged(cluster: KafkaCluster, tmp_path: Path) -> None:
    """Damage a segment in the middle, salvage the partition, and serve the copy."""
    batches = _plain_batches()
    _restart_with(cluster, {"damaged": (batches, 3)})
    (node,) = cluster.nodes
    node.stop()
    directory = node.directory / "data" / "damaged-0"
    path = sorted(directory.glob("*.log"))[1]
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)

    (partition,) = find_partitions([directory])
    (loss,) = Salvage(partition, tmp_path / "damaged-0").run()
    shutil.rmtree(directory)
    shutil.copytree(tmp_path / "damaged-0", directory)
    node.start()
    cluster.wait_for("it is back", cluster.is_ready)

    assert loss.first_offset is not None
    assert loss.last_offset is not None
    lost = range(loss.first_offset, loss.last_offset + 1)
    ours = _visible("damaged", [decode_batch(data) for data in batches])
    wanted = [one for one in ours if one.offset not in lost]
    assert len(wanted) < len(ours)
    assert _consume(cluster, "damaged") == wanted
