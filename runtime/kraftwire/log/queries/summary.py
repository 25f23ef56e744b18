"""Summaries of partitions from their batches' headers alone: counts, sizes, codecs, gaps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from kraftwire.log.batches.header import NO_PRODUCER, NO_TIMESTAMP, UNKNOWN_COUNT, BatchHeader
from kraftwire.log.directories.partition import Partition
from kraftwire.log.segments.segment import Damage, scan_headers

MAX_LISTED = 1000
"""At most this many producers and gaps are listed; the rest are only counted."""


class Gap(NamedTuple):
    """Consecutive offsets that no batch has; `last` is included."""

    first: int
    last: int


@dataclass(slots=True)
class PartitionSummary:
    """Totals over the batches of a partition."""

    segments: int = 0
    size: int = 0
    """Bytes of the segments."""
    batches: int = 0
    records: int = 0
    unknown_counts: int = 0
    """Compressed messages of magic 0 and 1, whose headers have no record count."""
    control_batches: int = 0
    transactional_batches: int = 0
    first_offset: int | None = None
    next_offset: int | None = None
    first_timestamp: int | None = None
    last_timestamp: int | None = None
    max_batch_size: int = 0
    codecs: Counter[str] = field(default_factory=Counter)
    magics: Counter[int] = field(default_factory=Counter)
    leader_epochs: dict[int, int] = field(default_factory=dict)
    """The first offset of each leader epoch."""
    producers: set[int] = field(default_factory=set)
    gaps: list[Gap] = field(default_factory=list)
    gap_count: int = 0
    missing_offsets: int = 0
    damages: list[tuple[str, Damage]] = field(default_factory=list)

    def add(self, header: BatchHeader) -> None:
        self.batches += 1
        if header.record_count == UNKNOWN_COUNT:
            self.unknown_counts += 1
        else:
            self.records += header.record_count
        self.control_batches += header.is_control
        self.transactional_batches += header.is_transactional
        self.max_batch_size = max(self.max_batch_size, header.size)
        self.codecs[header.codec_label] += 1
        self.magics[header.magic] += 1
        if header.partition_leader_epoch >= 0:
            self.leader_epochs.setdefault(header.partition_leader_epoch, header.base_offset)
        if header.producer_id != NO_PRODUCER:
            self.producers.add(header.producer_id)
        self._add_offsets(header)
        self._add_times(header)

    def _add_offsets(self, header: BatchHeader) -> None:
        if self.first_offset is None or self.next_offset is None:
            self.first_offset = header.base_offset
        elif header.base_offset > self.next_offset and header.magic >= 2:
            self.gap_count += 1
            self.missing_offsets += header.base_offset - self.next_offset
            if len(self.gaps) < MAX_LISTED:
                self.gaps.append(Gap(self.next_offset, header.base_offset - 1))
        self.next_offset = header.last_offset + 1

    def _add_times(self, header: BatchHeader) -> None:
        if header.max_timestamp == NO_TIMESTAMP:
            return
        horizon = header.delete_horizon is not None  # it replaces the base timestamp
        first = header.max_timestamp if horizon else header.base_timestamp
        if self.first_timestamp is None or first < self.first_timestamp:
            self.first_timestamp = first
        if self.last_timestamp is None or header.max_timestamp > self.last_timestamp:
            self.last_timestamp = header.max_timestamp


def scan_partition(
    partition: Partition, done: Callable[[int], None] = lambda _: None
) -> PartitionSummary:
    """Summarize the segments in use; call `done` with the size of each scanned segment."""
    summary = PartitionSummary()
    for segment in partition.segments:
        with segment.open() as source:
            summary.segments += 1
            summary.size += source.size
            for item in scan_headers(source):
                if isinstance(item, Damage):
                    summary.damages.append((source.name, item))
                else:
                    summary.add(item)
            done(source.size)
    return summary
