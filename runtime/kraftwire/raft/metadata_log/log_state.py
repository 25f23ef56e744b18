"""The offsets and leader epochs of a log, and its snapshots, without the records.

A leader compares them with a follower's log, to find where the two diverge (KIP-595) and whether
the follower needs a snapshot (KIP-630).
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right, insort
from operator import attrgetter
from typing import NamedTuple

from kraftwire.log.small_files.checkpoints import EpochEntry
from kraftwire.raft.state.bounds import MAX_EPOCH, MAX_OFFSET


class OffsetAndEpoch(NamedTuple):
    """An offset, and the epoch of the record before it; also the id of a snapshot."""

    offset: int
    epoch: int


class UpToDate(NamedTuple):
    """The end of a log, ordered by epoch first, as votes compare it (KIP-595)."""

    epoch: int
    offset: int


BOOTSTRAP = OffsetAndEpoch(0, 0)
"""The id of the bootstrap checkpoint that `kafka-storage format` writes."""


class Valid(NamedTuple):
    """The follower's log is a prefix of this one."""


class Diverging(NamedTuple):
    """The follower's log differs after the end of an epoch in this log."""

    end: OffsetAndEpoch


class NeedsSnapshot(NamedTuple):
    """The follower's log ends before this one begins."""

    snapshot: OffsetAndEpoch


class LogState:
    """Offsets and epochs of a log, and its snapshots.

    `start` is the first offset, `end` the one after the last.
    """

    def __init__(self) -> None:
        self.start = 0
        self.end = 0
        self._ends = array("q")
        """The offset after each batch."""
        self._epochs: list[EpochEntry] = []
        self._snapshots: list[OffsetAndEpoch] = []
        self._sizes: dict[OffsetAndEpoch, int] = {}

    @property
    def epochs(self) -> tuple[EpochEntry, ...]:
        """Each epoch that has records, and the offset of its first one."""
        return tuple(self._epochs)

    @property
    def snapshots(self) -> tuple[OffsetAndEpoch, ...]:
        return tuple(self._snapshots)

    @property
    def latest_snapshot(self) -> OffsetAndEpoch | None:
        return self._snapshots[-1] if self._snapshots else None

    def size_of(self, snapshot: OffsetAndEpoch) -> int | None:
        """Return how many bytes a snapshot has; None if it does not exist."""
        return self._sizes.get(snapshot)

    @property
    def last_epoch(self) -> int:
        """The epoch of the last record, else that of the latest snapshot, else 0."""
        if self._epochs:
            return self._epochs[-1].epoch
        return self._snapshots[-1].epoch if self._snapshots else 0

    @property
    def up_to_date(self) -> UpToDate:
        """The end of the log as a candidate sends it."""
        return UpToDate(self.last_epoch, self.end)

    def append(self, base_offset: int, last_offset: int, epoch: int) -> None:
        """Append a batch; raise `ValueError` if it does not belong at the end."""
        if base_offset != self.end or last_offset < base_offset:
            place = f"offsets {base_offset} to {last_offset}"
            raise ValueError(f"{place} at the end of a log that ends at {self.end}")
        if epoch < self.last_epoch:
            raise ValueError(f"epoch {epoch} after epoch {self.last_epoch}")
        if epoch > MAX_EPOCH or last_offset >= MAX_OFFSET:
            place = f"epoch {epoch}, offset {last_offset}"
            raise ValueError(f"{place}: logs end before epoch {MAX_EPOCH + 1}, offset {MAX_OFFSET}")
        if not self._epochs or self._epochs[-1].epoch < epoch:
            self._epochs.append(EpochEntry(epoch, base_offset))
        self._ends.append(last_offset + 1)
        self.end = last_offset + 1

    def is_boundary(self, offset: int) -> bool:
        """Whether the log could end at an offset: at its start, or after a batch."""
        place = bisect_left(self._ends, offset)
        return offset == self.start or (place < len(self._ends) and self._ends[place] == offset)

    def id_of(self, offset: int) -> OffsetAndEpoch | None:
        """Return the id of a snapshot that ends at an offset; None if no batch ends there."""
        place = bisect_left(self._epochs, offset, key=attrgetter("start_offset"))
        if place == 0 or not self.is_boundary(offset):
            return None
        return OffsetAndEpoch(offset, self._epochs[place - 1].epoch)

    def truncate(self, offset: int) -> None:
        """Remove the batches from an offset on; raise `ValueError` if no batch begins there."""
        if offset >= self.end:
            return
        if not self.is_boundary(offset):
            raise ValueError(f"no batch of the log from {self.start} on ends at {offset}")
        first_gone = bisect_left(self._epochs, offset, key=attrgetter("start_offset"))
        del self._epochs[first_gone:]
        del self._ends[bisect_right(self._ends, offset) :]
        self.end = offset

    def is_behind(self, snapshot: OffsetAndEpoch) -> bool:
        """Whether a snapshot has more than this log, so that the log has to restart after it."""
        return (snapshot.epoch, snapshot.offset) > self.up_to_date

    def add_snapshot(self, snapshot: OffsetAndEpoch, size: int) -> None:
        """Add a snapshot of `size` bytes; raise `ValueError` if its end is not in the log."""
        if not self.start <= snapshot.offset <= self.end:
            place = f"from {self.start} to {self.end}"
            raise ValueError(f"snapshot {snapshot} of a log {place}")
        if snapshot not in self._sizes:
            insort(self._snapshots, snapshot)
        self._sizes[snapshot] = size

    def install(self, snapshot: OffsetAndEpoch, size: int) -> None:
        self.start = self.end = snapshot.offset
        self._epochs.clear()
        del self._ends[:]
        self._snapshots = [snapshot]
        self._sizes = {snapshot: size}

    def clean(self, snapshot: OffsetAndEpoch) -> None:
        """Remove the log and the snapshots before a snapshot; raise `ValueError` without it."""
        if snapshot not in self._sizes:
            raise ValueError(f"snapshot {snapshot} does not exist")
        self._snapshots = [one for one in self._snapshots if one >= snapshot]
        self._sizes = {one: self._sizes[one] for one in self._snapshots}
        if snapshot.offset <= self.start:
            return
        self.start = snapshot.offset
        del self._ends[: bisect_right(self._ends, self.start)]
        # The epoch of the first remaining record begins there now.
        place = bisect_right(self._epochs, self.start, key=attrgetter("start_offset"))
        kept = self._epochs[place:]
        if place and self.start < (kept[0].start_offset if kept else self.end):
            kept.insert(0, EpochEntry(self._epochs[place - 1].epoch, self.start))
        self._epochs = kept

    def end_of(self, epoch: int) -> OffsetAndEpoch:
        """Return the largest epoch in this log up to `epoch`, and the offset after its last record.

        An epoch before all epochs of the log ended where the log or its snapshot begins.
        """
        if not self._epochs:
            return OffsetAndEpoch(self.end, self.last_epoch)
        place = bisect_right(self._epochs, epoch, key=attrgetter("epoch"))
        if place:
            last = place == len(self._epochs)
            end = self.end if last else self._epochs[place].start_offset
            return OffsetAndEpoch(end, self._epochs[place - 1].epoch)
        if self._snapshots and self._snapshots[0].offset == self.start:
            return self._snapshots[0]
        return OffsetAndEpoch(self.start, epoch)

    def compare(self, fetched: OffsetAndEpoch) -> Valid | Diverging | NeedsSnapshot:
        """Compare with the log of a follower that ends at `fetched`."""
        if fetched.offset == 0 and self._snapshots and self._snapshots[-1] != BOOTSTRAP:
            return NeedsSnapshot(self._snapshots[-1])
        if fetched.offset == self.start == 0:
            return Valid()
        first = self._snapshots[0] if self._snapshots else None
        if first is not None and (
            fetched.offset < self.start
            or (fetched.offset == self.start and fetched.epoch != first.epoch)
            or fetched.epoch < first.epoch
        ):
            return NeedsSnapshot(self._snapshots[-1])
        end = self.end_of(fetched.epoch)
        if end.epoch != fetched.epoch or end.offset < fetched.offset:
            return Diverging(end)
        return Valid()
