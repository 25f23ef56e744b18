"""Checks of each index against its segment, entry by entry, as the batches are read.

- An entry of an offset index has the position of a batch, and an offset of that batch or a later
  one (old brokers stored the first offset of an append, newer ones the last); both go up.
- An entry of a time index has the largest timestamp up to an offset; both go up.
- A transaction index has the transactions whose abort marker is in the segment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import ClassVar, Generic, TypeVar

from kraftwire.log.batches.header import BatchHeader
from kraftwire.log.directories.partition import LogFile
from kraftwire.log.errors import CorruptBatch
from kraftwire.log.fsck.finding import Finding, error, warning
from kraftwire.log.queries.transactions import AbortedTransaction
from kraftwire.log.small_files.indexes import (
    OFFSET_ENTRY,
    TIME_ENTRY,
    TXN_ENTRY_SIZE,
    OffsetEntry,
    TimeEntry,
    read_offset_index,
    read_time_index,
    read_transaction_index,
)
from kraftwire.log.sources.source import Source
from kraftwire_messages.kafka import AbortedTxn
from kraftwire_wire.errors import count_of

E = TypeVar("E", OffsetEntry, TimeEntry)
IndexReader = Callable[[Source, int], Iterator[E]]

_TRANSACTION_INDEX = "transaction index"
_ZEROS = AbortedTxn()
"""An entry of zeros; no transaction ends at offset 0."""


class _IndexCheck(Generic[E]):
    """Reads the entries of one index in order, and collects the findings about them."""

    name: ClassVar[str]

    def __init__(self, file: LogFile, read: IndexReader[E], entry_size: int) -> None:
        self._file = file
        self._problems: list[Finding] = []
        self._entries: Iterator[tuple[int, E]] = self._read(read, entry_size)
        self._before: E | None = None
        self._next: tuple[int, E] | None = self._advance()

    def _read(self, read: IndexReader[E], size: int) -> Iterator[tuple[int, E]]:
        """Yield the entries with their positions; report damage, and stop there."""
        try:
            with self._file.open() as source:
                for number, entry in enumerate(read(source, self._file.base_offset)):
                    yield number * size, entry
        except CorruptBatch as problem:
            self._add(problem.position, problem.reason)

    def _advance(self) -> tuple[int, E] | None:
        """Return the next entry that goes up; report the entries before it."""
        first: tuple[int, E] | None = None
        last: E | None = None
        count = 0
        found = None
        for at, entry in self._entries:
            if self._before is None or self._goes_up(self._before, entry):
                self._before = entry
                found = at, entry
                break
            first = first or (at, entry)
            last = entry
            count += 1
        if first is not None:
            self._refuse(*first, count, is_same=first[1] == last)
        return found

    def _refuse(self, at: int, entry: E, count: int, *, is_same: bool) -> None:
        """Report consecutive entries that do not go up, in one finding."""
        facts = ", ".join(f"{key} {value}" for key, value in entry._asdict().items())
        if count == 1:
            self._add(at, f"{facts} does not go up")
        elif is_same:
            self._add(at, f"{facts} {count} times, which does not go up")
        else:
            self._add(at, f"{facts} does not go up, nor do the {count - 1} entries after it")

    def _goes_up(self, before: E, entry: E) -> bool:
        raise NotImplementedError

    def _add(self, at: int, reason: str) -> None:
        self._problems.append(error(self.name, str(self._file.path), at, reason))


class OffsetIndexCheck(_IndexCheck[OffsetEntry]):
    """The `.index` of one segment."""

    name = "offset index"

    def __init__(self, file: LogFile) -> None:
        super().__init__(file, read_offset_index, OFFSET_ENTRY.size)

    def _goes_up(self, before: OffsetEntry, entry: OffsetEntry) -> bool:
        return entry.offset > before.offset and entry.position > before.position

    def batch(self, header: BatchHeader) -> None:
        while self._next is not None and self._next[1].position <= header.position:
            at, entry = self._next
            if entry.position < header.position:
                self._no_batch(at, entry)
            elif header.magic >= 2 and not _fits(entry, header):
                where = f"offset {entry.offset} at position {entry.position}"
                there = f"offsets {header.base_offset} to {header.last_offset}"
                self._add(at, f"{where}, but the batch there has {there}")
            self._next = self._advance()

    def finish(self, last_offset: int) -> list[Finding]:
        while self._next is not None:
            at, entry = self._next
            self._no_batch(at, entry)
            self._next = self._advance()
        before = self._before
        if before is not None and before.offset > last_offset and not self._problems:
            self._add(0, f"names offset {before.offset}, the segment ends with {last_offset}")
        return self._problems

    def _no_batch(self, at: int, entry: OffsetEntry) -> None:
        where = f"offset {entry.offset} at position {entry.position}"
        self._add(at, f"{where}, but no batch starts there")


def _fits(entry: OffsetEntry, header: BatchHeader) -> bool:
    """Whether an entry fits a batch: by its last offset or a later one, or by its first."""
    return entry.offset >= header.last_offset or entry.offset == header.base_offset


class TimeIndexCheck(_IndexCheck[TimeEntry]):
    """The `.timeindex` of one segment."""

    name = "time index"

    def __init__(self, file: LogFile) -> None:
        self._largest = -1
        super().__init__(file, read_time_index, TIME_ENTRY.size)

    def _goes_up(self, before: TimeEntry, entry: TimeEntry) -> bool:
        return entry.timestamp > before.timestamp and entry.offset >= before.offset

    def batch(self, header: BatchHeader) -> None:
        self._largest = max(self._largest, header.max_timestamp)
        while self._next is not None and self._next[1].offset <= header.last_offset:
            at, entry = self._next
            if entry.timestamp != self._largest:
                claim = f"time {entry.timestamp} for offset {entry.offset}"
                self._add(at, f"{claim}, but the largest so far is {self._largest}")
            self._next = self._advance()

    def finish(self) -> list[Finding]:
        while self._next is not None:
            at, entry = self._next
            self._add(at, f"names offset {entry.offset}, which the segment does not have")
            self._next = self._advance()
        return self._problems


def check_transaction_index(
    file: LogFile | None,
    segment: LogFile,
    aborted: list[AbortedTransaction],
    markers: list[tuple[int, int]],
) -> Iterator[Finding]:
    """Check the `.txnindex` of a segment against the known transactions that were aborted in it.

    `markers` are all abort markers of the segment, by producer and offset. The cleaner removes
    the data of an aborted transaction first, and leaves marker and entry.
    """
    if file is None:
        if aborted:
            reason = f"{len(aborted)} transactions were aborted here, and no .txnindex names them"
            yield error(_TRANSACTION_INDEX, str(segment.path), None, reason)
        return
    missing = {(entry.producer_id, entry.last_offset): entry for entry in aborted}
    known = set(markers)
    zeros_at = zeros = 0
    try:
        with file.open() as source:
            for number, entry in enumerate(read_transaction_index(source)):
                if entry == _ZEROS:
                    zeros_at = zeros_at if zeros else number * TXN_ENTRY_SIZE
                    zeros += 1
                    continue
                found = missing.pop((entry.producer_id, entry.last_offset), None)
                at = number * TXN_ENTRY_SIZE
                name = f"producer {entry.producer_id}, marker at offset {entry.last_offset}"
                if (entry.producer_id, entry.last_offset) not in known:
                    reason = f"{name}: no such abort marker is in the segment"
                    yield warning(_TRANSACTION_INDEX, str(file.path), at, reason)
                elif found is not None and entry.first_offset > found.first_offset:
                    reason = f"{name}: begins at {found.first_offset}, not {entry.first_offset}"
                    yield error(_TRANSACTION_INDEX, str(file.path), at, reason)
    except CorruptBatch as problem:
        yield error(_TRANSACTION_INDEX, problem.file, problem.position, problem.reason)
    if zeros:
        reason = f"zeros, {count_of(zeros * TXN_ENTRY_SIZE, 'byte')} that are not entries"
        yield warning(_TRANSACTION_INDEX, str(file.path), zeros_at, reason)
    for producer, offset in missing:
        reason = f"producer {producer}, marker at offset {offset}: the entry is missing"
        yield error(_TRANSACTION_INDEX, str(file.path), None, reason)
