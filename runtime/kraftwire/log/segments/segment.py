"""Files of record batches, read from start to end: segments and snapshots.

Rules:
- memory is constant: a window of the file, or one batch if that is larger;
- damage is an item among the batches: it says which bytes could not be read and why, and reading
  goes on after it (`resync` finds where);
- every byte of the file is in a batch or in a damage.

`scan_headers` reads headers alone and trusts them; `scan_batches` checks the CRC of every
batch before it yields it. `read_batches` raises at the first damage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from typing import NamedTuple

from kraftwire.log.batches.batch import Batch
from kraftwire.log.batches.compression import DEFAULT_LIMIT
from kraftwire.log.batches.header import (
    HEADER,
    LOG_OVERHEAD,
    BatchHeader,
    inspect_header,
    parse_header,
    parse_sound_header,
    problem_of,
)
from kraftwire.log.errors import CorruptBatch
from kraftwire.log.segments.resync import Resync, is_zero
from kraftwire.log.sources.source import Source
from kraftwire.log.sources.window import Window
from kraftwire_wire.errors import count_of

ZEROS_REASON = "zeros to the end of the file"
_WRONG_CRC = "the CRC does not match"

_HEADERS_WINDOW = 64 << 10
_BATCHES_WINDOW = 1 << 20


class DamageKind(Enum):
    """The kinds of damage."""

    TORN = "torn tail"
    ZEROS = "zeros"
    CORRUPT = "corrupt"
    DISORDER = "out of order"
    """A batch whose offsets do not fit those around it; see `batch_order`."""


class Damage(NamedTuple):
    """Bytes from `start` to `end` of a file that contain no readable batch."""

    start: int
    end: int
    kind: DamageKind
    reason: str
    claimed: BatchHeader | None
    """The header at `start`, if there is one; nothing confirms it."""

    @property
    def size(self) -> int:
        return self.end - self.start

    def error(self, file: str) -> CorruptBatch:
        """Return the damage as an error, with the number of bytes that cannot be read."""
        count = f", {count_of(self.size, 'byte')} not readable" if self.size else ""
        reason = f"{self.kind.value}{count}: {self.reason}"
        return CorruptBatch(file, self.start, reason)


def scan_headers(
    source: Source, start: int = 0, end: int | None = None
) -> Iterator[BatchHeader | Damage]:
    """Yield the headers of the batches that begin between two positions; read no payloads."""
    window = Window(source, _HEADERS_WINDOW)
    resync = Resync(source)
    position, size = start, source.size
    last = size if end is None else end
    good: BatchHeader | None = None
    while position < last:
        data, at = window.at(position, HEADER.size)
        header = parse_sound_header(data, at, position, size)
        if header is None:
            header, problem = inspect_header(data, at, position, size)
            if header is None or problem is not None:
                damage = _damage(source, resync, position, header, problem or "", good)
                yield damage
                position = damage.end
                continue
        good = header
        yield header
        position += header.length + LOG_OVERHEAD


def scan_batches(
    source: Source, start: int = 0, *, limit: int = DEFAULT_LIMIT
) -> Iterator[Batch | Damage]:
    """Yield the batches from a position on, each with a CRC that matches.

    `limit` is how many bytes one batch may decompress to.
    """
    reader = BatchReader(source, limit=limit)
    position = start
    good: BatchHeader | None = None
    while position < source.size:
        item = reader.read(position, good)
        yield item
        if isinstance(item, Damage):
            position = item.end
        else:
            good = item.header
            position = good.end


class BatchReader:
    """Reads single batches of a source; positions must only go forward."""

    def __init__(
        self, source: Source, *, limit: int = DEFAULT_LIMIT, verify_crc: bool = True
    ) -> None:
        self._source = source
        self._limit = limit
        self._verify_crc = verify_crc
        self._window = Window(source, _BATCHES_WINDOW)
        self._resync = Resync(source)

    def read(self, position: int, good: BatchHeader | None) -> Batch | Damage:
        """Return the batch at a position before the end, with its CRC checked, or damage.

        `good` is the header of the last batch before it, if there is one.
        """
        size = self._source.size
        data, at = self._window.at(position, HEADER.size)
        header, problem = parse_sound_header(data, at, position, size), None
        if header is None:
            header, problem = inspect_header(data, at, position, size)
        if header is not None and problem is None:
            is_checked = not self._verify_crc
            if header.size > _BATCHES_WINDOW and not is_checked:
                # Check it in chunks, before reading so many bytes together.
                is_checked = self._resync.has_valid_crc(header)
                problem = None if is_checked else _WRONG_CRC
            if problem is None:
                data, at = self._window.at(position, header.size)
                content = data[at : at + header.size]
                batch = Batch(header, content, self._source.name, limit=self._limit)
                if is_checked or batch.has_valid_crc:
                    return batch
                problem = _WRONG_CRC
        return _damage(self._source, self._resync, position, header, problem or "", good)

    def following(
        self, header: BatchHeader, is_suspect: Callable[[BatchHeader], bool]
    ) -> BatchHeader | None:
        """Return the header of the batch directly after one, if it is suspect and its CRC matches.

        Headers that are not `is_suspect` are not checked, and not returned.
        """
        position, size = header.end, self._source.size
        data, at = self._window.at(position, HEADER.size)
        found = parse_header(data, at, position)
        if found is None or problem_of(found) is not None or found.end > size:
            return None
        if not is_suspect(found):
            return None
        is_whole = not self._verify_crc or self._resync.has_valid_crc(found)
        return found if is_whole else None


def read_batches(source: Source, *, limit: int = DEFAULT_LIMIT) -> Iterator[Batch]:
    """Yield all batches of a file; raise `CorruptBatch` at the first damage."""
    for item in scan_batches(source, limit=limit):
        if isinstance(item, Damage):
            raise CorruptBatch(source.name, item.start, item.reason)
        yield item


def _damage(
    source: Source,
    resync: Resync,
    position: int,
    header: BatchHeader | None,
    problem: str,
    good: BatchHeader | None,
) -> Damage:
    claimed = header if header is not None and problem_of(header) is None else None
    if header is not None and is_zero(source, position):
        return Damage(position, source.size, DamageKind.ZEROS, ZEROS_REASON, None)
    found = resync.find(position, claimed, good)
    if found is not None:
        return Damage(position, found, DamageKind.CORRUPT, problem, claimed)
    cut_off = header is None or (claimed is not None and claimed.end > source.size)
    kind = DamageKind.TORN if cut_off else DamageKind.CORRUPT
    if resync.gave_up:
        problem += "; gave up on the bytes after it: too many of them look like batches"
    return Damage(position, source.size, kind, problem, claimed)
