"""Finding and replaying the logs of groups below a path.

`__consumer_offsets` has the groups. `__share_group_state`, if it exists, has the progress of share
groups. `__cluster_metadata` has the names of topics, since records of newer groups have only their
ids. Segments outside of a partition directory count as those of `__consumer_offsets`.

What cannot be read is an error among the events, and reading goes on after it: a
`CorruptBatch` for a file, a batch or its records, a `BadRecord` for one record.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kraftwire.groups.changes import GroupEvent
from kraftwire.groups.effects import GROUP_LOG, SHARE_LOG
from kraftwire.groups.replay import TOPICS, Groups, PartitionReplay
from kraftwire.log.batches.batch import Batch
from kraftwire.log.batches.compression import DEFAULT_LIMIT
from kraftwire.log.directories.file_names import FileKind
from kraftwire.log.directories.partition import METADATA_TOPIC, LogFile, Partition, find_partitions
from kraftwire.log.errors import BadRecord, CorruptBatch
from kraftwire.log.segments.batch_order import in_order
from kraftwire.log.segments.segment import Damage, scan_batches
from kraftwire_messages.kafka import TopicRecord, registry
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.records import decode_metadata_record

_TOPIC_RECORD = bytes((1, TopicRecord.API_KEY or 0))
"""The beginning of a TopicRecord's value: the frame version, and the record's id."""


@dataclass(slots=True)
class GroupLogs:
    """The partitions with records about groups."""

    groups: list[Partition] = field(default_factory=list)
    share: list[Partition] = field(default_factory=list)
    metadata: list[Partition] = field(default_factory=list)
    limit: int = DEFAULT_LIMIT
    """How many bytes one batch may decompress to."""
    problems: list[KraftwireError] = field(default_factory=list)
    """The files that cannot be read at all."""

    @property
    def size(self) -> int:
        files = [file for partition in self.groups + self.share for file in partition.segments]
        files += [file for partition in self.metadata for file in _metadata_files(partition)]
        return sum(file.path.stat().st_size for file in files)

    def replay(
        self,
        into: Groups,
        *,
        until: int | None = None,
        done: Callable[[int], None] = lambda _: None,
    ) -> Iterator[GroupEvent | KraftwireError]:
        """Apply all records to `into`; yield the changes and the errors.

        Partitions are read one after another, each in the order of its offsets. Records from
        the time `until` on, in ms, are left out.
        """
        yield from self.problems
        for partition in self.metadata:
            yield from self._learn_names(partition, into, done)
        for log, partitions in ((GROUP_LOG, self.groups), (SHARE_LOG, self.share)):
            for partition in partitions:
                number = partition.name.partition if partition.name else None
                replay = PartitionReplay(into, log, number)
                for item in self._batches(partition, partition.segments, done):
                    if isinstance(item, KraftwireError):
                        yield item
                    else:
                        yield from _replay_batch(replay, item, until)

    def _learn_names(
        self, partition: Partition, groups: Groups, done: Callable[[int], None]
    ) -> Iterator[KraftwireError]:
        for batch in self._batches(partition, _metadata_files(partition), done):
            if isinstance(batch, KraftwireError):
                yield batch
                continue
            if batch.header.is_control:
                continue
            for record in batch.records:
                if record.value is None or not record.value.startswith(_TOPIC_RECORD):
                    continue
                try:
                    value = decode_metadata_record(registry, "cluster-metadata", record.value)
                except KraftwireError as error:
                    yield BadRecord(batch.file, record.offset, str(error))
                    continue
                topic = value.message
                assert isinstance(topic, TopicRecord)
                groups.topic_names[topic.topic_id] = topic.name

    def _batches(
        self, partition: Partition, files: Iterable[LogFile], done: Callable[[int], None]
    ) -> Iterator[Batch | KraftwireError]:
        for file in files:
            with file.open() as source:
                items = scan_batches(source, limit=self.limit)
                for item in in_order(items, partition.order(file)):
                    if isinstance(item, Damage):
                        yield item.error(str(file.path))
                        continue
                    try:
                        item.records  # noqa: B018 - raises if they cannot be decoded
                    except CorruptBatch as error:
                        yield error
                    else:
                        yield item
            done(file.path.stat().st_size)


def _replay_batch(
    replay: PartitionReplay, batch: Batch, until: int | None
) -> Iterator[GroupEvent | KraftwireError]:
    header = batch.header
    for record in batch.records:
        if until is not None and record.timestamp >= until:
            continue
        try:
            if header.is_control:
                yield from replay.control(record, header.producer_id)
            else:
                producer = header.producer_id if header.is_transactional else None
                yield from replay.record(record, producer)
        except KraftwireError as error:
            yield BadRecord(batch.file, record.offset, str(error))


def find_group_logs(paths: Iterable[Path], *, limit: int = DEFAULT_LIMIT) -> GroupLogs:
    """Return the logs of groups below paths: data directories, partition directories, segments.

    Raise `KraftwireError` if there are none, or a partition exists twice. Segments outside of a
    partition's directory count as those of `__consumer_offsets` if they, or their directory, are
    among the paths.
    """
    logs = GroupLogs(limit=limit)
    by_topic = {
        TOPICS[GROUP_LOG]: logs.groups,
        TOPICS[SHARE_LOG]: logs.share,
        METADATA_TOPIC: logs.metadata,
        None: logs.groups,
    }
    paths = list(paths)
    for partition in find_partitions(paths, report=logs.problems.append):
        is_named = partition.directory in paths or any(file.is_alone for file in partition.files)
        if partition.topic is None and not is_named:
            continue
        if partition.topic in by_topic and partition.segments:
            by_topic[partition.topic].append(partition)
    if not logs.groups and not logs.share:
        names = " ".join(map(str, paths))
        topics = " or ".join(TOPICS.values())
        problem = f"; cannot be read: {logs.problems[0]}" if logs.problems else ""
        raise KraftwireError(f"{names}: no segment of {topics}{problem}")
    for partitions in (logs.groups, logs.share):
        _check_copies(partitions)
    return logs


def read_groups(
    paths: Iterable[Path],
    *,
    wanted: Collection[str] | None = None,
    until: int | None = None,
    limit: int = DEFAULT_LIMIT,
) -> tuple[Groups, list[KraftwireError]]:
    """Return the groups at the end of the logs below paths, and what could not be read.

    `wanted` are the names of groups, by default all. `until` is a time in ms, `limit` how many
    bytes one batch may decompress to. Raise the errors of `find_group_logs`.
    """
    groups = Groups(wanted)
    logs = find_group_logs(paths, limit=limit)
    problems = [
        item for item in logs.replay(groups, until=until) if isinstance(item, KraftwireError)
    ]
    return groups, problems


def _metadata_files(partition: Partition) -> list[LogFile]:
    """Return the newest snapshot and all segments, for the names of topics."""
    return partition.of_kind(FileKind.SNAPSHOT)[-1:] + partition.segments


def _check_copies(partitions: Iterable[Partition]) -> None:
    """Refuse two replicas of one partition: nothing shows which is right."""
    found: dict[object, Partition] = {}
    for partition in partitions:
        if partition.name is None:
            continue
        other = found.setdefault(partition.name, partition)
        if other is not partition:
            raise KraftwireError(
                f"{partition.label} exists twice; name one of them: "
                f"{other.directory}, {partition.directory}"
            )
