"""Finding the next batch behind damage.

Where the header at the damage is believable and a batch follows where it ends, the damage
is that one batch. Otherwise the bytes behind are searched for the next batch: a header that
is possible there, with a CRC that matches. What a record's value may hold, a batch of
another log, is told apart by its offsets and its leader epoch, which must go on from the
last good batch.

The work is bounded: an input made of false starts is given up, not searched for hours.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator

from crc32c import crc32c

from kraftwire.log.compression import Compression
from kraftwire.log.header import (
    CRC_FROM,
    HEADER,
    LEGACY_CRC_FROM,
    BatchHeader,
    parse_header,
    problem_of,
)
from kraftwire.log.source import Source

_CHUNK = 1 << 20
_FIRST_CHUNK = 4 << 10
"""Damage is mostly small: a file with much of it is not read a megabyte at a time."""

_BUDGET_PER_BYTE = 8
_LEAST_BUDGET = 64 << 20
_MAX_OFFSET_STEP = 1 << 31
"""Offsets within a segment are 31 bits away from its base at most."""

_MAGIC_2 = re.compile(rb"(?s)(?=\x00.{7}[\x00-\x7f].{7}\x02.{4}\x00[\x00-\x7f]{2}.{33}[\x00-\x7f])")
_MAGIC_0_OR_1 = re.compile(rb"(?s)(?=\x00.{7}[\x00-\x7f].{7}[\x00\x01][\x00-\x0f])")


class Resync:
    """Looks for batches in a damaged source."""

    def __init__(self, source: Source) -> None:
        """One for a source: the work is bounded over all of its damages."""
        self._source = source
        self._budget = max(_LEAST_BUDGET, _BUDGET_PER_BYTE * source.size)
        self.gave_up = False

    def find(
        self, position: int, claimed: BatchHeader | None, good: BatchHeader | None
    ) -> int | None:
        """Where the next batch starts behind the damage at a position; None where none does.

        `claimed` is the believable header at the damage, `good` that of the last batch
        before it.
        """
        size = self._source.size
        if claimed is not None and claimed.end < size and self._is_batch(claimed.end, good):
            return claimed.end
        if claimed is not None and claimed.end == size:
            return size
        for candidate in self._candidates(position + 1, good):
            if self._is_batch(candidate, good):
                return candidate
            if self.gave_up:
                break
        return None

    def has_valid_crc(self, header: BatchHeader) -> bool:
        """Whether the CRC matches; read piece by piece, whatever the length says."""
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
        """Whether a batch stands at a position that can follow the last good one."""
        header = parse_header(self._source.read_at(position, HEADER.size), 0, position)
        self._budget -= HEADER.size
        if header is None or problem_of(header) or header.end > self._source.size:
            return False
        if header.codec > Compression.ZSTD:
            return False
        if good is not None and not _follows(header, good):
            return False
        return self.has_valid_crc(header)

    def _candidates(self, start: int, good: BatchHeader | None) -> Iterator[int]:
        """Positions from `start` on where the bytes look like the header of a batch."""
        patterns = [_MAGIC_2]
        if good is None or good.magic < 2:
            patterns.append(_MAGIC_0_OR_1)
        overlap = HEADER.size - 1
        size = _FIRST_CHUNK
        while start < self._source.size:
            data = self._source.read_at(start, size + overlap)
            found = {match.start() for pattern in patterns for match in pattern.finditer(data)}
            yield from (start + at for at in sorted(found) if at < size)
            start += size
            size = _CHUNK


def _follows(header: BatchHeader, good: BatchHeader) -> bool:
    """Whether a batch can come somewhere behind another one of the same segment."""
    step = header.base_offset - good.last_offset
    epochs = header.magic < 2 or header.partition_leader_epoch >= good.partition_leader_epoch
    return 0 < step < _MAX_OFFSET_STEP and epochs and header.magic >= good.magic


def is_zero(source: Source, position: int) -> bool:
    """Whether nothing but zeros stands from a position to the end."""
    size = _FIRST_CHUNK
    while position < source.size:
        data = source.read_at(position, size)
        if not data:
            break
        if data.count(0) != len(data):
            return False
        position += len(data)
        size = _CHUNK
    return True
