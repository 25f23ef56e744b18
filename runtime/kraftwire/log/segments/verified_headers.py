"""Reading the headers of a file's batches with every CRC checked.

Yields the headers of `scan_batches` without the batches. It is several times faster if batches are
small: a log of a million opens in a second. Anything unusual (damage, old formats,
batches larger than the window) is left to `BatchReader`, one item at a time.
"""

from __future__ import annotations

from collections.abc import Iterator

from crc32c import crc32c

from kraftwire.log.batches.header import (
    CRC_FROM,
    HEADER,
    LOG_OVERHEAD,
    MAX_OFFSET,
    MIN_LENGTH,
    BatchHeader,
)
from kraftwire.log.segments.segment import BatchReader, Damage
from kraftwire.log.sources.source import Source

_WINDOW = 1 << 20


def scan_verified_headers(source: Source) -> Iterator[BatchHeader | Damage]:
    """Yield the headers of a file's batches whose CRC matches, and the damage among them."""
    reader = BatchReader(source)
    position = 0
    good: BatchHeader | None = None
    while position < source.size:
        before = good
        for good in _sound_headers(source.read_at(position, _WINDOW), position):
            yield good
        if good is not None and good is not before:
            position = good.end
            continue
        item = reader.read(position, good)
        if isinstance(item, Damage):
            yield item
            position = item.end
        else:
            good = item.header
            yield good
            position = good.end


def _sound_headers(data: bytes, position: int) -> Iterator[BatchHeader]:
    """Yield the headers of whole, valid batches of magic 2; stop at anything else.

    `position` is the file position of `data`.
    """
    view = memoryview(data)
    at, last = 0, len(data) - HEADER.size
    unpack, new = HEADER.unpack_from, tuple.__new__
    while at <= last:
        fields = unpack(data, at)
        offset, length, _, magic, crc, _, delta, _, _, _, _, _, count = fields
        end = at + LOG_OVERHEAD + length
        if magic != 2 or length < MIN_LENGTH or end > len(data):
            return
        if delta < 0 or count < 0 or not 0 <= offset <= MAX_OFFSET - delta:
            return
        if crc32c(view[at + CRC_FROM : end]) != crc:
            return
        yield new(BatchHeader, (position + at, *fields))
        at = end
