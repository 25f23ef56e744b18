"""The names in a data directory: kinds of files, offsets, partitions, topics.

00000000000000000123.log                segment, and its .index, .timeindex, .txnindex
00000000000000000123.snapshot           producer states up to that offset
00000000000000000123-0000000004.checkpoint   snapshot of metadata: end offset and epoch
... .deleted .cleaned .swap             being deleted, being compacted, replacing another
tea-3                                   partition 3 of topic tea
tea-3.<32 hex digits>-delete            ... being deleted; -future and -stray likewise
"""

from __future__ import annotations

import re
from enum import Enum
from typing import NamedTuple

_NUMBERED = re.compile(r"(\d{20})(?:-(\d{10}))?\.([a-z]+)")
_PARTITION = re.compile(r"(.+)-(\d{1,10})(?:\.[0-9a-f]{32}-(delete|future|stray))?")
_STATES = (".deleted", ".cleaned", ".swap", ".part", ".tmp")


class FileKind(Enum):
    """The kinds of Kafka's files; findings and tables show the values."""

    SEGMENT = "segment"
    OFFSET_INDEX = "offset index"
    TIME_INDEX = "time index"
    TRANSACTION_INDEX = "transaction index"
    PRODUCER_SNAPSHOT = "producer snapshot"
    SNAPSHOT = "snapshot"
    LEADER_EPOCHS = "leader epochs"
    OFFSET_CHECKPOINT = "offset checkpoint"
    PARTITION_METADATA = "partition metadata"
    META_PROPERTIES = "meta properties"
    QUORUM_STATE = "quorum state"
    CLEAN_SHUTDOWN = "clean shutdown"
    LOCK = "lock"


_BY_SUFFIX = {
    "log": FileKind.SEGMENT,
    "index": FileKind.OFFSET_INDEX,
    "timeindex": FileKind.TIME_INDEX,
    "txnindex": FileKind.TRANSACTION_INDEX,
    "snapshot": FileKind.PRODUCER_SNAPSHOT,
}
_BY_NAME = {
    "leader-epoch-checkpoint": FileKind.LEADER_EPOCHS,
    "recovery-point-offset-checkpoint": FileKind.OFFSET_CHECKPOINT,
    "replication-offset-checkpoint": FileKind.OFFSET_CHECKPOINT,
    "log-start-offset-checkpoint": FileKind.OFFSET_CHECKPOINT,
    "cleaner-offset-checkpoint": FileKind.OFFSET_CHECKPOINT,
    "partition.metadata": FileKind.PARTITION_METADATA,
    "meta.properties": FileKind.META_PROPERTIES,
    "bootstrap.checkpoint": FileKind.SNAPSHOT,
    "quorum-state": FileKind.QUORUM_STATE,
    "quorum-state.json": FileKind.QUORUM_STATE,  # as KIP-856 calls it
    ".kafka_cleanshutdown": FileKind.CLEAN_SHUTDOWN,
    ".lock": FileKind.LOCK,
}

BATCH_FILES = frozenset({FileKind.SEGMENT, FileKind.SNAPSHOT})
"""The kinds that hold record batches."""


class FileName(NamedTuple):
    """The parts of a file's name."""

    kind: FileKind
    offset: int | None = None
    """The base offset; for a metadata snapshot, the offset after its last record."""
    epoch: int | None = None
    """The leader epoch of a metadata snapshot."""
    state: str = ""
    """`deleted`, `cleaned`, `swap`, `part` or `tmp`; empty for a file in use."""


class PartitionName(NamedTuple):
    """The parts of a partition directory's name."""

    topic: str
    partition: int
    state: str = ""
    """`delete`, `future` or `stray`; empty for a partition in use."""


def parse_file_name(name: str) -> FileName | None:
    """Parse the name of a file; return None if Kafka has no such file."""
    state = next((suffix for suffix in _STATES if name.endswith(suffix)), "")
    name = name.removesuffix(state)
    state = state.removeprefix(".")
    if name in _BY_NAME:
        return FileName(_BY_NAME[name], state=state)
    match = _NUMBERED.fullmatch(name)
    if match is None:
        return None
    offset, epoch, suffix = match.groups()
    if suffix == "checkpoint" and epoch is not None:
        return FileName(FileKind.SNAPSHOT, int(offset), int(epoch), state)
    kind = _BY_SUFFIX.get(suffix)
    return FileName(kind, int(offset), state=state) if kind and epoch is None else None


def segment_name(offset: int, suffix: str) -> str:
    """Return the name of a segment's file: `segment_name(7, "log")`."""
    return f"{offset:020}.{suffix}"


def snapshot_name(end_offset: int, epoch: int) -> str:
    """Return the name of a metadata snapshot with an end offset and the last record's epoch."""
    return f"{end_offset:020}-{epoch:010}.checkpoint"


def parse_partition_name(name: str) -> PartitionName | None:
    """Parse the name of a directory; return None if it is not that of a partition."""
    match = _PARTITION.fullmatch(name)
    if match is None:
        return None
    topic, partition, state = match.groups()
    return PartitionName(topic, int(partition), state or "")
