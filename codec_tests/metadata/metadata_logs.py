"""Metadata logs and snapshots made of given messages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

from kraftwire.log.batches.encoding import BatchSettings, control_record, encode_batch
from kraftwire.log.batches.record import Record
from kraftwire.log.directories.file_names import segment_name, snapshot_name
from kraftwire.log.writers.snapshot_writer import SnapshotWriter
from kraftwire.metadata.state.image import MetadataImage
from kraftwire_messages.kafka import (
    BrokerRegistrationChangeRecord,
    ConfigRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    TopicRecord,
    VotersRecord,
)
from kraftwire_wire.message import Message
from kraftwire_wire.records import ControlType, encode_metadata_record

TEA, CUP = UUID(int=7), UUID(int=8)
DIRECTORY = UUID(int=99)
EPOCH = 3
TIME = 1_700_000_000_000


def image_of(*messages: Message) -> MetadataImage:
    image = MetadataImage()
    for message in messages:
        image.apply(message)
    return image


def topic(name: str = "tea", topic_id: UUID = TEA) -> TopicRecord:
    return TopicRecord(name=name, topic_id=topic_id)


def partition(number: int = 0, topic_id: UUID = TEA, leader: int = 1) -> PartitionRecord:
    return PartitionRecord(
        partition_id=number,
        topic_id=topic_id,
        replicas=[1, 2, 3],
        isr=[1, 2, 3],
        leader=leader,
        leader_epoch=0,
        partition_epoch=0,
        directories=[DIRECTORY] * 3,
    )


def moved(leader: int, number: int = 0, topic_id: UUID = TEA) -> PartitionChangeRecord:
    return PartitionChangeRecord(partition_id=number, topic_id=topic_id, leader=leader)


def setting(name: str, value: str | None, resource: str = "tea", kind: int = 2) -> ConfigRecord:
    return ConfigRecord(resource_type=kind, resource_name=resource, name=name, value=value)


def broker(node: int = 1, epoch: int = 10) -> RegisterBrokerRecord:
    point = RegisterBrokerRecord.BrokerEndpoint(name="PLAINTEXT", host="tea.example", port=9092)
    return RegisterBrokerRecord(
        broker_id=node, broker_epoch=epoch, end_points=[point], rack=None, log_dirs=[DIRECTORY]
    )


def broker_change(
    node: int = 1, epoch: int = 10, fenced: int = 0, stopping: int = 0
) -> BrokerRegistrationChangeRecord:
    return BrokerRegistrationChangeRecord(
        broker_id=node, broker_epoch=epoch, fenced=fenced, in_controlled_shutdown=stopping
    )


def batch(offset: int, messages: Sequence[Message]) -> bytes:
    """One batch of metadata records, in the newest version of each."""
    values = [encode_metadata_record(found, found.VALID_VERSIONS[-1]) for found in messages]
    return raw_batch(offset, values)


def raw_batch(offset: int, values: Sequence[bytes]) -> bytes:
    records = [
        Record(offset + number, TIME + offset + number, None, value, ())
        for number, value in enumerate(values)
    ]
    return encode_batch(records, BatchSettings(partition_leader_epoch=EPOCH))


def control_batch(offset: int, *messages: tuple[ControlType, Message]) -> bytes:
    records = [
        control_record(offset + number, TIME + offset + number, kind, message)
        for number, (kind, message) in enumerate(messages)
    ]
    settings = BatchSettings(partition_leader_epoch=EPOCH, is_control=True)
    return encode_batch(records, settings)


def metadata_directory(root: Path) -> Path:
    directory = root / "__cluster_metadata-0"
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def write_segment(root: Path, base: int, *batches: bytes) -> Path:
    path = metadata_directory(root) / segment_name(base, "log")
    path.write_bytes(b"".join(batches))
    return path


def write_log(root: Path, messages: Sequence[Message], base: int = 0) -> Path:
    """A segment with a batch for each message."""
    batches = [batch(base + at, [message]) for at, message in enumerate(messages)]
    return write_segment(root, base, *batches)


def write_snapshot(
    root: Path, end: int, messages: Sequence[Message], voters: VotersRecord | None = None
) -> Path:
    writer = SnapshotWriter(EPOCH)
    writer.begin(TIME, TIME + end, voters=voters)
    if messages:
        writer.append([(found, found.VALID_VERSIONS[-1]) for found in messages], TIME)
    path = metadata_directory(root) / snapshot_name(end, EPOCH)
    path.write_bytes(writer.finish(TIME))
    return path
