"""The three indexes beside a segment: offsets to positions, times to offsets, aborted transactions.

- `.index`: entries of 8 bytes: an offset relative to the segment's base (int32), and the position
  (int32) of the batch that ends with it;
- `.timeindex`: entries of 12 bytes: the largest timestamp so far (int64, ms), and the relative
  offset (int32) of the batch that has it;
- `.txnindex`: entries of 34 bytes: the message AbortedTxn after its version.

A broker allocates the indexes of an active segment in advance: trailing zeros are not entries.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from struct import Struct
from typing import NamedTuple

from kraftwire.log.errors import CorruptBatch
from kraftwire.log.segments.resync import is_zero
from kraftwire.log.sources.source import Source
from kraftwire_messages.kafka import AbortedTxn
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.records import decode_prefixed, encode_prefixed

OFFSET_ENTRY = Struct(">ii")
TIME_ENTRY = Struct(">qi")
TXN_ENTRY_SIZE = 34

_ENTRIES_AT_ONCE = 8192


class OffsetEntry(NamedTuple):
    """The batch at `position` ends at `offset` or before it."""

    offset: int
    position: int


class TimeEntry(NamedTuple):
    """No record up to `offset` has a timestamp, in ms, above this one."""

    timestamp: int
    offset: int


def read_offset_index(source: Source, base_offset: int) -> Iterator[OffsetEntry]:
    """Yield the entries of an `.index` file, with absolute offsets."""
    for relative, position in _entries(source, OFFSET_ENTRY):
        yield OffsetEntry(base_offset + relative, position)


class OffsetIndex:
    """An `.index` file in memory, for searching; its content is not checked."""

    def __init__(self, data: bytes, base_offset: int) -> None:
        """`data` is the whole file: 10 MiB at most, unless a broker is configured otherwise."""
        self._data = data
        self._base = base_offset
        whole = len(data) // OFFSET_ENTRY.size
        # Trailing zeros are not entries; only the first entry can be (0, 0).
        self.count = bisect_left(range(whole), True, key=lambda at: at > 0 and not self._raw(at)[1])

    def _raw(self, number: int) -> tuple[int, int]:
        offset, position = OFFSET_ENTRY.unpack_from(self._data, number * OFFSET_ENTRY.size)
        return offset, position

    def _last(self, limit: int, field: int) -> OffsetEntry | None:
        at = bisect_right(range(self.count), limit, key=lambda number: self._raw(number)[field])
        if at == 0:
            return None
        offset, position = self._raw(at - 1)
        return OffsetEntry(self._base + offset, position)

    def at_offset(self, offset: int) -> OffsetEntry | None:
        """Return the last entry that is not after an offset."""
        return self._last(offset - self._base, 0)

    def at_position(self, position: int) -> OffsetEntry | None:
        """Return the last entry that is not after a position."""
        return self._last(position, 1)


def read_time_index(source: Source, base_offset: int) -> Iterator[TimeEntry]:
    """Yield the entries of a `.timeindex` file, with absolute offsets."""
    for timestamp, relative in _entries(source, TIME_ENTRY):
        yield TimeEntry(timestamp, base_offset + relative)


def _entries(source: Source, form: Struct) -> Iterator[tuple[int, int]]:
    """Yield the entries before trailing zeros; raise `CorruptBatch` if the last is cut off."""
    whole = source.size - source.size % form.size
    for position in range(0, whole, form.size * _ENTRIES_AT_ONCE):
        size = min(form.size * _ENTRIES_AT_ONCE, whole - position)
        data = source.read_at(position, size)
        for number, entry in enumerate(form.iter_unpack(data[: len(data) - len(data) % form.size])):
            if entry == (0, 0) and is_zero(source, position + number * form.size):
                return
            yield entry
    if whole != source.size:
        reason = f"{source.size - whole} bytes are left over after entries of {form.size} bytes"
        raise CorruptBatch(source.name, whole, reason)


def read_transaction_index(source: Source) -> Iterator[AbortedTxn]:
    """Yield the entries of a `.txnindex` file."""
    for position in range(0, source.size, TXN_ENTRY_SIZE):
        try:
            stored = decode_prefixed(AbortedTxn, source.read_at(position, TXN_ENTRY_SIZE))
        except KraftwireError as error:
            raise CorruptBatch(source.name, position, str(error)) from None
        assert isinstance(stored.message, AbortedTxn)
        yield stored.message


def encode_offset_index(entries: Iterable[OffsetEntry], base_offset: int) -> bytes:
    """Return the content of an `.index` file."""
    pack = OFFSET_ENTRY.pack
    return b"".join(pack(entry.offset - base_offset, entry.position) for entry in entries)


def encode_time_index(entries: Iterable[TimeEntry], base_offset: int) -> bytes:
    """Return the content of a `.timeindex` file."""
    pack = TIME_ENTRY.pack
    return b"".join(pack(entry.timestamp, entry.offset - base_offset) for entry in entries)


def encode_transaction_index(entries: Iterable[AbortedTxn]) -> bytes:
    """Return the content of a `.txnindex` file."""
    return b"".join(encode_prefixed(entry, AbortedTxn.VALID_VERSIONS[-1]) for entry in entries)
