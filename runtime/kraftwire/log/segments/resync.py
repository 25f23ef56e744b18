"""Finding the next batch after damage.

If the header at the damage is plausible and another batch begins at its end, that one batch is
damaged. Otherwise the bytes after it are searched for the next batch: a plausible header with a CRC
that matches. A record's value may contain a batch of another log. Such a batch is recognized by
offsets and a leader epoch that do not continue those of the last good batch.

The work is bounded: the search gives up if too many places look like batches.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from heapq import merge

from crc32c import crc32c

from kraftwire.log.batches.compression import Compression
from kraftwire.log.batches.header import (
    CRC_FROM,
    HEADER,
    LEGACY_CRC_FROM,
    BatchHeader,
    parse_header,
    problem_of,
)
from kraftwire.log.sources.source import Source

_CHUNK = 1 << 20
_FIRST_CHUNK = 4 << 10
"""Most damage is small, so searches do not begin by reading a megabyte."""
_CHUNK_GROWTH = 4

_BUDGET_PER_BYTE = 8
_LEAST_BUDGET = 64 << 20
_MAX_OFFSET_STEP = 1 << 31
"""Offsets within a segment are at most 31 bits away from its base."""

_MAGIC_2 = re.compile(rb"(?s)(?=\x00.{7}[\x00-\x7f].{7}\x02.{4}\x00[\x00-\x7f]{2}.{33}[\x00-\x7f])")
_MAGIC_0_OR_1 = re.compile(rb"(?s)(?=\x00.{7}(?!\x00{4})[\x00-\x7f].{7}[\x00\x01][\x00-\x0f])")


class Resync:
    """Searches a damaged source for batches."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._budget = max(_LEAST_BUDGET, _BUDGET_PER_BYTE * source.size)
        self.gave_up = False

    def find(
        self, position: int, claimed: BatchHeader | None, good: BatchHeader | None
    ) -> int | None:
        """Return the start of the next batch after the damage at a position; None if not found.

        `claimed` is the plausible header at the damage, `good` that of the last batch before it.
        """
        size = self._source.size
        if claimed is not None and claimed.end < size and self._is_batch(claimed.end, good):
            return claimed.end
        if claimed is not None and claimed.end == size:
            return size
        for candidate in self._candidates(position + 1, good):
            if self._budget <= 0:
                self.gave_up = True
                break
            if self._is_batch(candidate, good) and self._goes_on(candidate, position, good):
                return candidate
        return None

    def _goes_on(self, candidate: int, damage: int, good: BatchHeader | None) -> bool:
        """Whether a batch belongs to this log, and not to a record's value.

        Another batch, zeros or the end must follow it. Between two damaged places, none of these
        does: then its offsets may be no further ahead than the bytes between allow.
        """
        found = self._header_at(candidate)
        if found is None:
            return False
        after = self._header_at(found.end)
        if after is None or is_zero(self._source, found.end):
            return True
        if problem_of(after) is None and _follows(after, found):
            return True
        return good is not None and found.base_offset - good.last_offset <= candidate - damage

    def _header_at(self, position: int) -> BatchHeader | None:
        self._budget -= HEADER.size
        return parse_header(self._source.read_at(position, HEADER.size), 0, position)

    def has_valid_crc(self, header: BatchHeader) -> bool:
        """Whether the CRC matches; reads in chunks, since the length may be wrong."""
        if self._budget <= 0:
            self.gave_up = True
            return False
        legacy = header.magic < 2
        position = header.position + (LEGACY_CRC_FROM if legacy else CRC_FROM)
        crc = 0
        while position < header.end:
            data = self._source.read_at(position, min(_CHUNK, header.end - position))
            if not data:
                return False
            crc = zlib.crc32(data, crc) if legacy else crc32c(data, crc)
            position += len(data)
            self._budget -= len(data)
        return crc == header.crc

    def _is_batch(self, position: int, good: BatchHeader | None) -> bool:
        """Whether there is a batch at a position that can follow the last good one."""
        header = self._header_at(position)
        if header is None or problem_of(header) or header.end > self._source.size:
            return False
        if header.codec > Compression.ZSTD:
            return False
        if good is not None and not _follows(header, good):
            return False
        return self.has_valid_crc(header)

    def _candidates(self, start: int, good: BatchHeader | None) -> Iterator[int]:
        patterns = [_MAGIC_2]
        if good is None or good.magic < 2:
            patterns.append(_MAGIC_0_OR_1)
        overlap = HEADER.size - 1
        size = _FIRST_CHUNK
        while start < self._source.size:
            data = self._source.read_at(start, size + overlap)
            starts = ((match.start() for match in pattern.finditer(data)) for pattern in patterns)
            yield from (start + at for at in merge(*starts) if at < size)
            start += size
            size = min(size * _CHUNK_GROWTH, _CHUNK)


def _follows(header: BatchHeader, good: BatchHeader) -> bool:
    """Whether a batch can come somewhere after another one of the same segment."""
    step = header.base_offset - good.last_offset
    epochs = header.magic < 2 or header.partition_leader_epoch >= good.partition_leader_epoch
    return 0 < step < _MAX_OFFSET_STEP and epochs and header.magic >= good.magic


def is_zero(source: Source, position: int) -> bool:
    """Whether the source has only zeros from a position to its end."""
    size = _FIRST_CHUNK
    while position < source.size:
        data = source.read_at(position, size)
        if not data:
            break
        if data.count(0) != len(data):
            return False
        position += len(data)
        size = min(size * _CHUNK_GROWTH, _CHUNK)
    return True
