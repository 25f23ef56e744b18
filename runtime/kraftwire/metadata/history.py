"""The history of a cluster: each record of the metadata log, and what it changed.

A `History` starts at the first offset at which the state is known: 0, or the end of the oldest
snapshot that the log reaches back to. Without either (a single segment that does not start at 0),
records are reported without the state before them. Records of a transaction are reported when they
take effect, or never if it was aborted.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kraftwire.log.directories.partition import LogFile, Partition
from kraftwire.metadata.entities.description import describe
from kraftwire.metadata.entities.diff import EntityChange, compare
from kraftwire.metadata.entities.entity import EntityKind, EntityRef, entity_at, topic_of
from kraftwire.metadata.entities.record_entities import entities_of
from kraftwire.metadata.errors import ProblemHandler, Unreachable, raise_problem
from kraftwire.metadata.records.load import apply_entry, base_image, load_snapshot
from kraftwire.metadata.records.replay import LogReplay, MetadataRecord
from kraftwire.metadata.records.source import MetadataSource, find_metadata, snapshots_of
from kraftwire.metadata.records.transactions import MetadataTransactions
from kraftwire.metadata.state.image import MetadataImage
from kraftwire_messages.kafka import NoOpRecord
from kraftwire_wire.errors import KraftwireError


class HistoryStep(NamedTuple):
    """One record, its position, and its effect."""

    offset: int
    timestamp: int
    epoch: int
    type: str
    """The name of the record's message."""
    description: str
    changes: tuple[EntityChange, ...]
    topics: frozenset[str]
    """The topics that the record is about."""
    refs: tuple[EntityRef, ...]
    """All entities that the record is about, changed or not."""

    @property
    def is_no_op(self) -> bool:
        """Whether this is a NoOpRecord, which the controller writes every half second."""
        return self.type == NoOpRecord.__name__


class History:
    """The steps from one offset to before another; iterate once."""

    def __init__(
        self,
        path: Path,
        from_offset: int | None = None,
        to_offset: int | None = None,
        *,
        secrets: bool = False,
        report: ProblemHandler = raise_problem,
    ) -> None:
        """Raise `KraftwireError` if `path` has no log."""
        source = find_metadata(path, report)
        if not source.segments:
            raise KraftwireError(f"{path}: no segment of a log; a snapshot alone has no history")
        self._report = report
        self._secrets = secrets
        base = _base(source, from_offset, report)
        self.image = base if base is not None else MetadataImage()
        self.knows_state = base is not None
        first = source.segments[0].base_offset if base is None else base.provenance.offset
        self.start = max(first, from_offset or 0)
        """The offset of the first step."""
        self._log = LogReplay(source.partition, first, to_offset, report)
        self._transactions = MetadataTransactions(report)

    def __iter__(self) -> Iterator[HistoryStep]:
        for entry in self._log:
            for ready in self._transactions.feed(entry):
                if ready.offset < self.start:
                    self._apply(ready)
                else:
                    yield self._step(ready)
        self.image.provenance.offset = self._log.next_offset
        self.image.provenance.transaction = self._transactions.open

    def _apply(self, entry: MetadataRecord) -> bool:
        # Without the state before it, a record may change something unknown.
        return apply_entry(self.image, entry, self._report if self.knows_state else lambda _: None)

    def _step(self, entry: MetadataRecord) -> HistoryStep:
        image, message = self.image, entry.message
        refs = entities_of(image, message)
        before = [entity_at(image, ref, secrets=True) for ref in refs]
        topics = {topic_of(image, ref) for ref in refs}
        applied = self._apply(entry)
        topics |= {topic_of(image, ref) for ref in refs}
        changes = []
        for ref, old in zip(refs, before, strict=True):
            new = entity_at(image, ref, secrets=True)
            change = compare(old, new, secrets=self._secrets)
            if change is not None:
                changes.append(change)
        text = describe(
            message,
            entry.version,
            changes,
            applied=applied,
            dropped=self._transactions.dropped,
            secrets=self._secrets,
        )
        return HistoryStep(
            entry.offset,
            entry.timestamp,
            entry.epoch,
            type(message).__name__,
            text,
            tuple(changes),
            frozenset(name for name in topics if name is not None),
            tuple(refs),
        )


def changes(
    path: Path,
    from_offset: int | None = None,
    to_offset: int | None = None,
    *,
    secrets: bool = False,
    report: ProblemHandler = raise_problem,
) -> Iterator[HistoryStep]:
    """Yield the steps of a history, except those that do nothing (`HistoryStep.is_no_op`)."""
    history = History(path, from_offset, to_offset, secrets=secrets, report=report)
    return (step for step in history if not step.is_no_op)


def about_broker(step: HistoryStep, broker: int) -> bool:
    """Whether a record is about a broker's registration."""
    return EntityRef(EntityKind.BROKER, broker) in step.refs


def about_partition(step: HistoryStep, topic: str, partition: int | None = None) -> bool:
    """Whether a record is about a topic, or about one of its partitions."""
    if topic not in step.topics:
        return False
    if partition is None:
        return True
    return any(
        change.kind is EntityKind.PARTITION
        and (change.after or change.before or {}).get("partition") == partition
        for change in step.changes
    )


def _base(
    source: MetadataSource, from_offset: int | None, report: ProblemHandler
) -> MetadataImage | None:
    """Return the image to begin with; None if it is unknown."""
    first = source.segments[0].base_offset
    if from_offset is not None and from_offset >= first:
        try:
            image = base_image(source, from_offset, report=report)
        except Unreachable:
            pass
        else:
            # The log's first records repeat the content of the bootstrap snapshot.
            return image if image.provenance.offset else MetadataImage()
    if first == 0:
        return MetadataImage()
    oldest = oldest_base(source.partition)
    return None if oldest is None else load_snapshot(oldest, report)[0]


def oldest_base(partition: Partition) -> LogFile | None:
    """Return the oldest snapshot that the log continues; None if the log begins at 0."""
    first = partition.segments[0].base_offset
    fitting = (file for file in snapshots_of(partition) if file.base_offset >= first > 0)
    return next(fitting, None)
