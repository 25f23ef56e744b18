"""Whether the offsets and leader epochs of batches go up, as in every log.

The CRC of a batch covers neither its base offset nor its leader epoch, so it does not detect a
flipped bit in them. The surrounding batches show it: a batch that goes back follows a higher
offset, and one that jumps ahead is followed by a lower one. A gap proves nothing, since compaction
leaves gaps, except in the metadata log and its snapshots, which are never compacted.

One case cannot be detected: the last batch of a log that may have gaps claims an offset that
is too high but within reach of its segment. No batch follows that would contradict it.

`in_order` replaces batches that cannot be where they are with damage. It needs the header of the
following batch, so it holds one batch back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from kraftwire.log.batches.batch import Batch
from kraftwire.log.batches.header import BatchHeader
from kraftwire.log.segments.segment import BatchReader, Damage, DamageKind

MAX_RELATIVE_OFFSET = 0x7FFFFFFF
"""How far an offset can be from its segment's first; positions have the same limit."""

_NO_OFFSET = -1
_NO_BOUND = 1 << 63

One = TypeVar("One", Batch, BatchHeader)


def header_of(item: Batch | BatchHeader) -> BatchHeader:
    """Return the header of a batch, or the header itself."""
    return item if isinstance(item, BatchHeader) else item.header


def with_following(
    items: Iterable[One | Damage],
) -> Iterator[tuple[One | Damage, BatchHeader | None]]:
    """Yield each item with the header of the batch directly after it, if there is one."""
    previous: One | Damage | None = None
    for item in items:
        if previous is not None:
            yield previous, None if isinstance(item, Damage) else header_of(item)
        previous = item
    if previous is not None:
        yield previous, None


class BatchOrder:
    """The offsets of a file's batches so far; decides which batch may come next.

    Call `apply` for each item of a scan, or `advance` for each batch, or `problem` and then
    `accept` or `refuse`. Call `skip_damage` for bytes that cannot be read.
    """

    def __init__(
        self,
        base: int | None = None,
        end: int | None = None,
        *,
        next_offset: int | None = None,
        has_gaps: bool = True,
    ) -> None:
        """`base` and `end` are the first offsets of the segment and of the one after it, if known.

        `next_offset` is the lowest offset of the first batch; None if only `base` is known.
        `has_gaps` is False for a log that is never compacted.
        """
        self.base = base or 0
        """The lowest offset that the file can have."""
        limit = _NO_BOUND if base is None else base + MAX_RELATIVE_OFFSET + 1
        self.bound = min(limit if end is None else min(limit, end), _NO_BOUND)
        """All offsets of the file are below this one."""
        self.has_gaps = has_gaps
        self.next_offset = max(self.base, next_offset or 0)
        """The offset after the last accepted batch."""
        self.is_next_known = next_offset is not None
        """Whether nothing was refused or unreadable since that batch."""
        self._end = end
        self._doubtful = _NO_OFFSET

    @property
    def is_plain(self) -> bool:
        """Whether `next_offset` says everything about the batches so far."""
        is_sure = self.has_gaps or self.is_next_known
        return is_sure and self._doubtful == _NO_OFFSET and self.next_offset < _NO_BOUND

    def problem(
        self, header: BatchHeader, following: BatchHeader | None, first: int | None = None
    ) -> str | None:
        """Return why a batch cannot be where it is; None if it can.

        `following` is the header of the batch directly after it, whose CRC matches. `first` is the
        first offset if the header may not have it: with magic 0 and 1 it may have the last one.
        """
        first = header.base_offset if first is None else first
        last = header.last_offset
        if first < self.base:
            return f"base offset {first} in a segment that begins with {self.base}"
        if first < self.next_offset:
            before = self.next_offset - 1
            return f"base offset {first} is not above offset {before}, which came before it"
        if first <= self._doubtful:
            return f"base offset {first}, and the batch before claims up to {self._doubtful}"
        if last >= self.bound:
            if self._end is None or last < self._end:
                return f"offset {last} is too far from the segment's first, {self.base}"
            return f"offset {last}, but the next segment begins with {self._end}"
        if following is not None and first > self.next_offset:
            after = following.base_offset
            if self.next_offset <= after < first:
                return f"offset {first} between {self.next_offset} and {after}"
            if self.next_offset <= after <= last:
                return f"offsets {first} to {last}, and the next batch begins with {after}"
        if not self.has_gaps and self.is_next_known and first > self.next_offset:
            missing = f"{self.next_offset} to {first - 1}"
            return f"offsets {missing} are missing before {first}, and this log has no gaps"
        return None

    def advance_with(self, header: BatchHeader, reader: BatchReader) -> Damage | None:
        """Do the same as `advance`, with a reader that finds the following batch.

        That batch is read only if one of the two is in doubt.
        """
        has_gap = header.base_offset > self.next_offset
        is_in_doubt = self.problem(header, None) is not None

        def is_suspect(after: BatchHeader) -> bool:
            return is_in_doubt or (has_gap and after.base_offset <= header.last_offset)

        return self.advance(header, reader.following(header, is_suspect))

    def advance(self, header: BatchHeader, following: BatchHeader | None) -> Damage | None:
        """Advance past the next batch, and return damage if it cannot be where it is.

        Damage of no bytes means that records are missing before the batch, in a log without gaps.
        The batch itself is good; call `advance` for it again to accept it.
        """
        reason = self.problem(header, following)
        if reason is None:
            self.accept(header)
            return None
        if self._is_hole(header, following):
            self.next_offset = header.base_offset
            return Damage(header.position, header.position, DamageKind.DISORDER, reason, header)
        self.refuse(header, following)
        return Damage(header.position, header.end, DamageKind.DISORDER, reason, header)

    def apply(self, item: One | Damage, following: BatchHeader | None) -> Sequence[One | Damage]:
        """Advance past the next item of a scan.

        Return the item. Damage replaces a batch that cannot be where it is, and precedes a good
        batch with a hole before it.
        """
        if isinstance(item, Damage):
            self.skip_damage()
            return (item,)
        damage = self.advance(header_of(item), following)
        if damage is None:
            return (item,)
        if damage.size > 0:
            return (damage,)
        self.accept(header_of(item))
        return damage, item

    def _is_hole(self, header: BatchHeader, following: BatchHeader | None) -> bool:
        """Whether records are missing before a batch: the next batch confirms its offsets."""
        is_ahead = self.next_offset < header.base_offset and header.last_offset < self.bound
        confirms = following is not None and following.base_offset == header.last_offset + 1
        return is_ahead and confirms

    def accept(self, header: BatchHeader) -> None:
        self.next_offset = header.last_offset + 1
        self._doubtful = _NO_OFFSET
        self.is_next_known = True

    def refuse(self, header: BatchHeader, following: BatchHeader | None) -> None:
        first, last = header.base_offset, header.last_offset
        self._doubtful = _NO_OFFSET
        self.is_next_known = False
        if following is not None and self.next_offset <= following.base_offset <= last < self.bound:
            fits_if_moved = following.base_offset - self.next_offset == last - first + 1
            if not fits_if_moved:
                self._doubtful = last  # the next batch may be the wrong one instead

    def skip_damage(self) -> None:
        """Advance past unreadable bytes, which had an unknown number of batches."""
        self._doubtful = _NO_OFFSET
        self.is_next_known = False


class EpochOrder:
    """The leader epochs of a log's batches so far."""

    def __init__(self) -> None:
        self.epoch = -1
        """The epoch of the last accepted batch; -1 before the first."""

    def problem(self, header: BatchHeader, following: BatchHeader | None) -> str | None:
        epoch = header.partition_leader_epoch
        if 0 <= epoch < self.epoch:
            return f"leader epoch {epoch} after epoch {self.epoch}"
        if following is None or header.magic < 2 or following.magic < 2:
            return None
        after = following.partition_leader_epoch
        if max(self.epoch, 0) <= after < epoch:
            return f"leader epoch {epoch} between {self.epoch} and {after}"
        return None

    def accept(self, header: BatchHeader) -> None:
        self.epoch = max(self.epoch, header.partition_leader_epoch)


def in_order(items: Iterable[One | Damage], order: BatchOrder) -> Iterator[One | Damage]:
    """Yield the items of a scan, with damage for each batch that cannot be where it is."""
    for item, following in with_following(items):
        yield from order.apply(item, following)
