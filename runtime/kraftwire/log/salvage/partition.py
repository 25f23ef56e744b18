"""Copying the readable part of a damaged partition: whole batches, into new segments.

Rules:
- the source is only read; the output goes into a new directory;
- a batch is kept if its CRC matches and its offsets follow those before it; it is copied
  unchanged, including records that cannot be read, since a later tool may read them;
- each range of bytes that is not kept is reported with the offsets that are lost with it: those
  between the batches before and after it. In a compacted log, some of these offsets may have had no
  record.

Indexes are rebuilt; leader-epoch-checkpoint is completed from the batches. Readable small files
are copied, except producer snapshots: a broker rebuilds them from the batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from kraftwire.log.batches.batch import Batch
from kraftwire.log.directories.file_names import FileKind
from kraftwire.log.directories.partition import LogFile, Partition
from kraftwire.log.errors import CorruptBatch
from kraftwire.log.queries.transactions import PartitionTransactions
from kraftwire.log.salvage.small_files import Loss, copy_files, write_new
from kraftwire.log.segments.batch_order import BatchOrder, EpochOrder, with_following
from kraftwire.log.segments.segment import Damage, DamageKind, scan_batches
from kraftwire.log.small_files.checkpoints import (
    EpochEntry,
    decode_leader_epochs,
    encode_leader_epochs,
    epoch_at,
)
from kraftwire.log.writers.segment_writer import SegmentWriter
from kraftwire_wire.errors import KraftwireError


@dataclass(slots=True)
class SalvageTotals:
    """How much was kept of a partition."""

    segments: int = 0
    batches: int = 0
    size: int = 0
    """Bytes of the segments."""


@dataclass(slots=True)
class _Pending:
    """Losses whose last offset the next batch will show."""

    losses: list[Loss]
    claimed_last: int | None = None
    """The last offset that the headers of lost batches claim."""
    has_unknown: bool = False
    """Whether bytes were lost that no header describes."""


class Salvage:
    """The salvage of one partition into a directory."""

    def __init__(self, partition: Partition, target: Path) -> None:
        """`target` is the directory for the partition's files; `run` creates it."""
        self._partition = partition
        self._target = target
        self._transactions = PartitionTransactions()
        self._epochs: list[EpochEntry] = []
        self._epoch_ends: dict[int, int] = {}
        self._pending = _Pending([])
        self._leader_epochs = EpochOrder()
        self._next_offset = 0
        self.saved = SalvageTotals()

    def run(self, done: Callable[[int], None] = lambda _: None) -> Iterator[Loss]:
        """Write everything; yield the losses, and call `done` with the number of bytes read."""
        self._target.mkdir(parents=True)
        for number, segment in enumerate(self._partition.segments):
            if number == 0:
                self._next_offset = segment.base_offset
            yield from self._segment(segment)
            done(segment.size)
        yield from self._settle(None)
        yield from self._interrupted_compaction()
        yield from self._write_epochs()
        yield from copy_files(self._partition.files, self._target)

    @property
    def open_transactions(self) -> dict[int, int]:
        """The producers with an open transaction in the kept batches, and its first offset."""
        return self._transactions.open

    def _interrupted_compaction(self) -> Iterator[Loss]:
        """Yield the output of an interrupted compaction: whether it is complete is unknown."""
        for file in self._partition.files:
            if file.kind is FileKind.SEGMENT and file.name.state == "swap":
                reason = "left out: compaction was interrupted before it replaced another segment"
                yield Loss(str(file.path), 0, file.size, reason, None, None)

    def _segment(self, segment: LogFile) -> Iterator[Loss]:
        with segment.open() as source, SegmentWriter(self._target, segment.base_offset) as writer:
            end = self._partition.end_of(segment)
            # Damage leaves gaps, even in a log that never has any.
            order = BatchOrder(segment.base_offset, end, next_offset=self._next_offset)
            for item, following in with_following(scan_batches(source)):
                if isinstance(item, Damage):
                    order.skip_damage()
                    self._lose_damage(source.name, item)
                    continue
                header = item.header
                problem = order.problem(header, following, _base_offset(item))
                problem = problem or self._leader_epochs.problem(header, following)
                if problem is not None:
                    order.refuse(header, following)
                    loss = Loss(source.name, header.position, header.end, problem, None, None)
                    self._pending.losses.append(loss)
                    continue
                order.accept(header)
                self._leader_epochs.accept(header)
                yield from self._settle(item)
                self._copy(item, writer)
        self.saved.segments += 1
        self.saved.size += writer.size

    def _lose_damage(self, file: str, damage: Damage) -> None:
        pending, claimed = self._pending, damage.claimed
        pending.losses.append(Loss(file, damage.start, damage.end, damage.reason, None, None))
        if claimed is not None and claimed.magic >= 2 and claimed.base_offset >= self._next_offset:
            pending.claimed_last = max(pending.claimed_last or 0, claimed.last_offset)
        elif damage.kind is not DamageKind.ZEROS:
            pending.has_unknown = True

    def _settle(self, batch: Batch | None) -> Iterator[Loss]:
        """Yield the losses before a batch, or before the end, now that their offsets are known."""
        pending, self._pending = self._pending, _Pending([])
        losses, first = pending.losses, self._next_offset
        if not losses:
            return
        last = pending.claimed_last if batch is None else _base_offset(batch) - 1
        if batch is None and pending.has_unknown:
            last = None
        if (last is None and pending.has_unknown) or (last is not None and last >= first):
            # The offsets are those of all losses together: no batch separates them.
            losses[0] = losses[0]._replace(first_offset=first, last_offset=last)
        yield from losses

    def _copy(self, batch: Batch, writer: SegmentWriter) -> None:
        header = writer.append(batch)
        self._next_offset = header.last_offset + 1
        self.saved.batches += 1
        epoch = header.partition_leader_epoch
        if epoch >= 0 and (not self._epochs or epoch > self._epochs[-1].epoch):
            self._epochs.append(EpochEntry(epoch, header.base_offset))
        self._epoch_ends[epoch] = header.base_offset
        before = len(self._transactions.aborted)
        with suppress(KraftwireError):
            self._transactions.apply(batch)
        for aborted in self._transactions.aborted[before:]:
            writer.add_aborted(aborted)

    def _write_epochs(self) -> Iterator[Loss]:
        """Write the epochs of the batches, with the checkpoint's other epochs if they agree."""
        entries = self._epochs
        for file in self._partition.of_kind(FileKind.LEADER_EPOCHS):
            try:
                known = dict(decode_leader_epochs(file.read(), str(file.path)))
            except CorruptBatch as problem:
                size = file.size
                yield Loss(str(file.path), problem.position, size, problem.reason, None, None)
                continue
            for epoch, start in self._epochs:
                known[epoch] = min(start, known.get(epoch, start))
            merged = [EpochEntry(*entry) for entry in sorted(known.items())]
            if self._fits(merged):
                entries = merged
        if entries:
            write_new(self._target / "leader-epoch-checkpoint", encode_leader_epochs(entries))

    def _fits(self, entries: list[EpochEntry]) -> bool:
        if any(after.start_offset <= before.start_offset for before, after in pairwise(entries)):
            return False
        for epoch, start in self._epochs:
            for offset in (start, self._epoch_ends[epoch]):
                if epoch_at(entries, offset) != epoch:
                    return False
        return True


def _base_offset(batch: Batch) -> int:
    """Return the first offset; the header's if the inner messages cannot be read."""
    try:
        return batch.base_offset
    except CorruptBatch:
        return batch.header.base_offset
