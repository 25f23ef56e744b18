"""Reading the records of metadata logs and snapshots, in order, as messages.

Damage, unreadable records and missing offsets are reported, and reading goes on after them. A
metadata log is never compacted, so every missing offset is a loss.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from kraftwire.log.batches.batch import Batch
from kraftwire.log.batches.compression import DEFAULT_LIMIT
from kraftwire.log.batches.record import Record
from kraftwire.log.directories.file_names import FileKind
from kraftwire.log.directories.partition import METADATA_TOPIC, LogFile, Partition
from kraftwire.log.errors import CorruptBatch
from kraftwire.log.queries.selection import (
    Selection,
    select_batches,
    select_segments,
    start_position,
)
from kraftwire.log.queries.typed_records import decode_typed, log_of_topic
from kraftwire.log.segments.batch_order import BatchOrder, in_order
from kraftwire.log.segments.segment import Damage, scan_batches, scan_headers
from kraftwire.metadata.errors import BadRecord, ProblemHandler
from kraftwire_messages.kafka import LeaderChangeMessage
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.message import Message

_LOG = log_of_topic(METADATA_TOPIC)


class MetadataRecord(NamedTuple):
    """One record and its position."""

    file: str
    offset: int
    timestamp: int
    epoch: int
    message: Message
    version: int


class LogReplay:
    """The records of a log's segments from one offset to before another; iterate once.

    `next_offset`, `epoch` and `timestamp` are those after the last batch so far.
    """

    def __init__(
        self,
        partition: Partition,
        start: int,
        stop: int | None,
        report: ProblemHandler,
        done: Callable[[int], None] = lambda _: None,
        *,
        limit: int = DEFAULT_LIMIT,
    ) -> None:
        """`stop` is None for the end of the log; `done` is called with the number of bytes read.

        `limit` is that of `Batch`.
        """
        self.next_offset = start
        self.epoch: int | None = None
        self.timestamp: int | None = None
        self._partition = partition
        self._selection = Selection(from_offset=start, to_offset=stop)
        self._report = report
        self._done = done
        self._limit = limit

    def __iter__(self) -> Iterator[MetadataRecord]:
        for segment in select_segments(self._partition, self._selection):
            index = self._partition.beside(segment, FileKind.OFFSET_INDEX)
            with segment.open() as source:
                start = start_position(source, index, self._selection.from_offset)
                # Gaps are allowed here: `_entries` reports them, with the missing offsets.
                order = BatchOrder(segment.base_offset, self._partition.end_of(segment))
                batches = select_batches(
                    source, self._selection, start, order=order, limit=self._limit
                )
                for item in batches:
                    if isinstance(item, Damage):
                        self._report(item.error(source.name))
                    else:
                        yield from self._entries(item)
                        self._done(item.header.size)

    def _entries(self, batch: Batch) -> Iterator[MetadataRecord]:
        header = batch.header
        first, last = header.base_offset, header.last_offset
        if first > self.next_offset:
            missing = f"{self.next_offset} to {first - 1}"
            reason = f"the records with offsets {missing} are missing before this"
            self._report(CorruptBatch(batch.file, header.position, reason))
        self.epoch, self.timestamp = header.partition_leader_epoch, header.max_timestamp
        yield from read_entries(batch, self._report, self._selection)
        stop = self._selection.to_offset
        self.next_offset = last + 1 if stop is None else min(last + 1, stop)


def read_snapshot(
    file: LogFile, report: ProblemHandler, *, limit: int = DEFAULT_LIMIT
) -> Iterator[MetadataRecord]:
    """Yield the records of a snapshot, with offsets from 0. `limit` is that of `Batch`."""
    with file.open() as source:
        for item in in_order(scan_batches(source, limit=limit), BatchOrder()):
            if isinstance(item, Damage):
                report(item.error(source.name))
            else:
                yield from read_entries(item, report)


def read_entries(
    batch: Batch, report: ProblemHandler, selection: Selection | None = None
) -> Iterator[MetadataRecord]:
    """Yield the readable records of a batch as messages."""
    epoch = batch.header.partition_leader_epoch
    try:
        records: Iterable[Record] = batch.records
    except CorruptBatch as error:
        report(error)
        return
    if selection is not None:
        records = filter(selection.has, records)
    for record in records:
        try:
            typed = decode_typed(_LOG, batch, record)
        except KraftwireError as error:
            report(BadRecord(batch.file, record.offset, str(error)))
            continue
        assert typed is not None, "metadata records have types"
        assert typed.value is not None, "and values"
        message, version = typed.value
        yield MetadataRecord(batch.file, record.offset, record.timestamp, epoch, message, version)


def find_leader(partition: Partition, stop: int) -> int | None:
    """Return the leader in the last LEADER_CHANGE before an offset."""
    for segment in reversed(select_segments(partition, Selection(to_offset=stop))):
        with segment.open() as source:
            controls = [
                item
                for item in scan_headers(source)
                if not isinstance(item, Damage) and item.is_control and item.base_offset < stop
            ]
            for header in reversed(controls):
                data = source.read_at(header.position, header.size)
                leader = _leader(Batch(header, data, source.name))
                if leader is not None:
                    return leader
    return None


def _leader(batch: Batch) -> int | None:
    if not batch.has_valid_crc:
        return None
    for entry in read_entries(batch, lambda _: None):
        if isinstance(entry.message, LeaderChangeMessage):
            return entry.message.leader_id
    return None
