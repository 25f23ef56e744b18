"""Finds the offsets lost to damage: those between the batches on both sides of it.

Only splits with damage are scanned again. Gaps without damage, which compaction leaves, do not
count.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from kraftwire.log.segments.segment import Damage, DamageKind, scan_batches
from kraftwire.log.sources.source import Source
from pyspark_kraftwire.jobs.export.counts import LostOffsets
from pyspark_kraftwire.split import Split


def lost_offsets(
    split: Split, unreadable: Collection[int], following: int | None
) -> list[LostOffsets]:
    """Return the lost offsets of a split.

    `unreadable` are the positions of unreadable bytes, including batches with a valid CRC whose
    records cannot be decoded. `following` is the first offset of the next segment, if there is one.
    """
    with split.open() as source:
        return list(_lost(split, source, frozenset(unreadable), following))


def _lost(
    split: Split, source: Source, unreadable: frozenset[int], following: int | None
) -> Iterator[LostOffsets]:
    next_offset = split.file.base_offset if split.start == 0 else None
    open_at: int | None = None
    for item in scan_batches(source, split.start):
        begin = item.start if isinstance(item, Damage) else item.header.position
        if begin >= split.end and open_at is None:
            return
        if isinstance(item, Damage):
            if item.kind is not DamageKind.ZEROS or not split.is_tail:
                open_at = item.start if open_at is None else open_at
            continue
        first, last = item.header.base_offset, item.header.last_offset
        if open_at is not None and next_offset is not None and next_offset < first:
            yield LostOffsets(next_offset, first - 1, source.name, open_at)
        open_at, next_offset = None, last + 1
        if begin in unreadable:
            yield LostOffsets(first, last, source.name, begin)
    if open_at is not None and next_offset is not None:
        if following is None:
            yield LostOffsets(next_offset, None, source.name, open_at)
        elif next_offset < following:
            yield LostOffsets(next_offset, following - 1, source.name, open_at)
