"""Checks of one data directory or several: partitions, checkpoints, ids."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kraftwire.log.batches.compression import DEFAULT_LIMIT
from kraftwire.log.directories.file_names import FileKind
from kraftwire.log.directories.partition import LogFile, Partition
from kraftwire.log.errors import CorruptBatch
from kraftwire.log.fsck.finding import Finding, error, warning
from kraftwire.log.fsck.partition import PartitionCheck
from kraftwire.log.small_files.checkpoints import TopicPartition, decode_offset_checkpoint
from kraftwire.log.small_files.properties import decode_meta_properties, decode_partition_metadata
from kraftwire.log.small_files.quorum_state import decode_quorum_state
from kraftwire_wire.uuids import format_uuid

_OFFSET_NAMES = {
    "recovery-point-offset-checkpoint": "recovery point",
    "replication-offset-checkpoint": "high watermark",
    "log-start-offset-checkpoint": "log start",
    "cleaner-offset-checkpoint": "cleaned offset",
}
"""What the offsets of each checkpoint are; none may be after the end of the log."""


@dataclass(frozen=True, slots=True)
class DirectoryIdentity:
    """The ids of a directory."""

    directory: str
    cluster_id: str | None = None
    node_id: int | None = None
    directory_id: str | None = None
    topic: str | None = None
    topic_id: str | None = None


@dataclass(slots=True)
class Fsck:
    """The check of partitions and of their data directories."""

    limit: int = DEFAULT_LIMIT
    identities: list[DirectoryIdentity] = field(default_factory=list)
    _ends: dict[Path, dict[TopicPartition, int]] = field(default_factory=dict)
    _known: dict[Path, set[TopicPartition]] = field(default_factory=dict)

    def run(
        self, partitions: list[Partition], done: Callable[[int], None] = lambda _: None
    ) -> Iterator[Finding]:
        """Yield the findings of the partitions, then of the checkpoints and the ids.

        Call `done` with the size of each segment that was read.
        """
        checkpoints = []
        for partition in partitions:
            for file in partition.files:
                if file.kind is FileKind.OFFSET_CHECKPOINT and file.in_use:
                    checkpoints.append(file)
                yield from self._identify(file)
            if partition.name is not None:
                at = TopicPartition(*partition.name[:2])
                self._known.setdefault(partition.directory.parent, set()).add(at)
            if partition.name is not None and any(file.partition_state for file in partition.files):
                yield from _stray(partition)
                continue  # being added or removed, so its files change
            yield from _swaps(partition)
            check = PartitionCheck(partition, self.limit)
            yield from check.run(done)
            if partition.name is not None:
                self._ends.setdefault(partition.directory.parent, {})[at] = check.log_end
        for file in checkpoints:
            yield from self._checkpoint(file)
        yield from _conflicting_ids(self.identities)

    def _identify(self, file: LogFile) -> Iterator[Finding]:
        if not file.in_use:
            return
        directory = str(file.path.parent)
        try:
            if file.kind is FileKind.META_PROPERTIES:
                meta = decode_meta_properties(file.read(), str(file.path))
                ids = (meta.cluster_id, meta.node_id, meta.directory_id)
                self.identities.append(DirectoryIdentity(directory, *ids))
            elif file.kind is FileKind.PARTITION_METADATA:
                topic_id = decode_partition_metadata(file.read(), str(file.path)).topic_id
                row = DirectoryIdentity(directory, topic=file.topic, topic_id=format_uuid(topic_id))
                self.identities.append(row)
            elif file.kind is FileKind.QUORUM_STATE:
                decode_quorum_state(file.read(), str(file.path))
        except CorruptBatch as problem:
            yield error(file.kind.value, problem.file, problem.position, problem.reason)

    def _checkpoint(self, file: LogFile) -> Iterator[Finding]:
        """Check that no offset of a checkpoint is after the end of its partition's log."""
        name = str(file.path)
        try:
            offsets = decode_offset_checkpoint(file.read(), name)
        except CorruptBatch as problem:
            yield error(file.kind.value, name, problem.position, problem.reason)
            return
        ends = self._ends.get(file.path.parent)
        if ends is None:
            return  # the caller named the file alone: there are no logs to compare it with
        what = _OFFSET_NAMES[file.path.name]
        for at, offset in offsets.items():
            label = f"{at.topic}-{at.partition}"
            end = ends.get(at)
            if end is None and at in self._known.get(file.path.parent, ()):
                continue
            if end is None:
                reason = f"names {label}, which is not here"
                yield warning(file.kind.value, name, None, reason)
            elif offset > end:
                reason = f"{label} has {what} {offset}, and its log ends at {end}"
                yield error(file.kind.value, name, None, reason)


def _stray(partition: Partition) -> Iterator[Finding]:
    """Report a stray partition: Kafka never deletes it, so a person has to."""
    if any(file.partition_state == "stray" for file in partition.files):
        reason = "a stray partition: no topic has it any more; delete it if its data is not needed"
        yield warning("partition", str(partition.directory), None, reason)


def _swaps(partition: Partition) -> Iterator[Finding]:
    """Report segments that replace others when the broker starts; they are not checked."""
    for file in partition.files:
        if file.name.state == "swap" and file.kind is FileKind.SEGMENT:
            reason = "compaction was interrupted; the broker finishes it when it starts"
            yield warning("segment", str(file.path), None, reason)


def _conflicting_ids(identities: list[DirectoryIdentity]) -> Iterator[Finding]:
    """Check ids: one cluster id, unique directory ids, one id for each topic."""
    clusters: defaultdict[str, list[DirectoryIdentity]] = defaultdict(list)
    directories: defaultdict[str, list[DirectoryIdentity]] = defaultdict(list)
    topics: defaultdict[str, dict[str, DirectoryIdentity]] = defaultdict(dict)
    for row in identities:
        if row.cluster_id is not None:
            clusters[row.cluster_id].append(row)
        if row.directory_id is not None:
            directories[row.directory_id].append(row)
        if row.topic is not None and row.topic_id is not None:
            topics[row.topic].setdefault(row.topic_id, row)
    if len(clusters) > 1:
        first, *others = (rows[0] for rows in clusters.values())
        for other in others:
            reason = f"cluster id {other.cluster_id}, but {first.cluster_id} in {first.directory}"
            yield error("cluster id", other.directory, None, reason)
    for directory_id, rows in directories.items():
        for other in rows[1:]:
            reason = f"directory id {directory_id}, which {rows[0].directory} has too"
            yield error("directory id", other.directory, None, reason)
    for topic, by_id in topics.items():
        first, *others = by_id.values()
        for other in others:
            reason = f"{topic} has id {other.topic_id}, but {first.topic_id} in {first.directory}"
            yield error("topic id", other.directory, None, reason)
