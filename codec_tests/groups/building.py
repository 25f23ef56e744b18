"""Records of coordinators, made up; and partitions on disk that hold them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kraftwire.groups import GroupEvent, Groups, PartitionReplay
from kraftwire.log.batches.encoding import BatchSettings, control_record, encode_batch
from kraftwire.log.batches.record import Record
from kraftwire.log.writers.segment_writer import SegmentWriter
from kraftwire_messages.kafka import EndTxnMarker, OffsetCommitKey, OffsetCommitValue
from kraftwire_wire.message import Message
from kraftwire_wire.records import ControlType, encode_coordinator_key, encode_prefixed

START = 1_700_000_000_000


def record(
    key: Message, value: Message | None, offset: int = 0, version: int | None = None
) -> Record:
    """A record; its value is in the newest version unless told."""
    data = None
    if value is not None:
        data = encode_prefixed(value, value.VALID_VERSIONS[-1] if version is None else version)
    return Record(offset, START + offset, encode_coordinator_key(key), data, ())


def commit(
    group: str, topic: str, partition: int, offset: int | None, **more: Any
) -> tuple[OffsetCommitKey, OffsetCommitValue | None]:
    """Key and value of a commit; an offset of None is a tombstone."""
    key = OffsetCommitKey(group=group, topic=topic, partition=partition)
    return key, None if offset is None else OffsetCommitValue(offset=offset, **more)


class Log:
    """A partition that is written: replayed at once, and a file when it is wanted."""

    def __init__(self, log: str = "group", number: int | None = 0) -> None:
        self.groups = Groups()
        self.replay = PartitionReplay(self.groups, log, number)
        self.batches: list[bytes] = []
        self.next = 0

    def put(
        self,
        key: Message,
        value: Message | None,
        producer: int | None = None,
        version: int | None = None,
    ) -> list[GroupEvent]:
        """Append a record, and say what it does; `producer` makes it part of a transaction."""
        made = record(key, value, self.next, version)
        settings = BatchSettings()
        if producer is not None:
            settings = BatchSettings(
                producer_id=producer, producer_epoch=0, base_sequence=0, is_transactional=True
            )
        self.batches.append(encode_batch([made], settings))
        self.next += 1
        return self.replay.record(made, producer)

    def end(self, producer: int, kind: ControlType = ControlType.COMMIT) -> list[GroupEvent]:
        """Append the marker of a transaction."""
        made = control_record(self.next, START + self.next, kind, EndTxnMarker(coordinator_epoch=0))
        settings = BatchSettings(
            producer_id=producer, producer_epoch=0, is_transactional=True, is_control=True
        )
        self.batches.append(encode_batch([made], settings))
        self.next += 1
        return self.replay.control(made, producer)

    def write(self, directory: Path) -> Path:
        """Write the partition's one segment; returns its path."""
        directory.mkdir(parents=True)
        with SegmentWriter(directory, 0) as writer:
            for batch in self.batches:
                writer.append(batch)
        return directory / "00000000000000000000.log"


def kinds(events: list[GroupEvent]) -> list[str]:
    """What happened, in words."""
    return [event.change.what.value for event in events]
