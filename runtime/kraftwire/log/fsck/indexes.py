"""Each index against its segment, entry by entry, while the batches pass by.

- an offset index names positions where batches start, and an offset of that batch or of one
  behind it; both go up;
- a time index names the largest timestamp up to an offset; both go up;
- a transaction index names the transactions whose abort marker is in the segment.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from kraftwire.log.directory import LogFile
from kraftwire.log.errors import CorruptBatch
from kraftwire.log.fsck.finding import Finding, error, warning
from kraftwire.log.header import BatchHeader
from kraftwire.log.indexes import (
    OFFSET_ENTRY,
    TIME_ENTRY,
    TXN_ENTRY_SIZE,
    OffsetEntry,
    TimeEntry,
    read_offset_index,
    read_time_index,
    read_transaction_index,
)
from kraftwire.log.isolation import Aborted

E = TypeVar("E")

_OFFSET_INDEX = "offset index"
_TIME_INDEX = "time index"
_TRANSACTION_INDEX = "transaction index"


class OffsetIndexCheck:
    """The `.index` of one segment."""

    def __init__(self, file: LogFile, base_offset: int) -> None:
        """Nothing is read yet."""
        self._file = str(file.path)
        self._problems: list[Finding] = []
        self._before = OffsetEntry(-1, -1)
        self._entries = _numbered(self._read(file, base_offset), OFFSET_ENTRY.size)
        self._next = self._advance()

    def _read(self, file: LogFile, base_offset: int) -> Iterator[OffsetEntry]:
        try:
            with file.open() as source:
                yield from read_offset_index(source, base_offset)
        except CorruptBatch as problem:
            self._add(problem.position, problem.reason)

    def _advance(self) -> tuple[int, OffsetEntry] | None:
        """The next entry that goes up; those that do not are findings."""
        for at, entry in self._entries:
            if entry.offset <= self._before.offset or entry.position <= self._before.position:
                self._add(at, f"offset {entry.offset} at {entry.position} does not go up")
                continue
            self._before = entry
            return at, entry
        return None

    def _add(self, at: int, reason: str) -> None:
        self._problems.append(error(_OFFSET_INDEX, self._file, at, reason))

    def batch(self, header: BatchHeader) -> None:
        """A batch of the segment passes by."""
        while self._next is not None and self._next[1].position <= header.position:
            at, entry = self._next
            if entry.position < header.position:
                self._no_batch(at, entry)
            elif entry.offset < header.last_offset:
                self._add(
                    at,
                    f"offset {entry.offset} is said to be at {entry.position}, "
                    f"where offsets {header.base_offset} to {header.last_offset} are",
                )
            self._next = self._advance()

    def finish(self, last_offset: int) -> list[Finding]:
        """The segment is at its end, whose last offset is given; returns what was found."""
        while self._next is not None:
            at, entry = self._next
            self._no_batch(at, entry)
            self._next = self._advance()
        if self._before.offset > last_offset and not self._problems:
            self._add(0, f"names offset {self._before.offset}, the segment ends with {last_offset}")
        return self._problems

    def _no_batch(self, at: int, entry: OffsetEntry) -> None:
        where = f"offset {entry.offset} is said to be at {entry.position}"
        self._add(at, f"{where}, where no batch starts")


class TimeIndexCheck:
    """The `.timeindex` of one segment."""

    def __init__(self, file: LogFile, base_offset: int) -> None:
        """Nothing is read yet."""
        self._file = str(file.path)
        self._problems: list[Finding] = []
        self._before = TimeEntry(-1, -1)
        self._largest = -1
        self._entries = _numbered(self._read(file, base_offset), TIME_ENTRY.size)
        self._next = self._advance()

    def _read(self, file: LogFile, base_offset: int) -> Iterator[TimeEntry]:
        try:
            with file.open() as source:
                yield from read_time_index(source, base_offset)
        except CorruptBatch as problem:
            self._add(problem.position, problem.reason)

    def _advance(self) -> tuple[int, TimeEntry] | None:
        for at, entry in self._entries:
            before = self._before
            if entry.timestamp <= before.timestamp or entry.offset < before.offset:
                self._add(at, f"time {entry.timestamp} of offset {entry.offset} does not go up")
                continue
            self._before = entry
            return at, entry
        return None

    def _add(self, at: int, reason: str) -> None:
        self._problems.append(error(_TIME_INDEX, self._file, at, reason))

    def batch(self, header: BatchHeader) -> None:
        """A batch of the segment passes by."""
        self._largest = max(self._largest, header.max_timestamp)
        while self._next is not None and self._next[1].offset <= header.last_offset:
            at, entry = self._next
            if entry.timestamp != self._largest:
                self._add(
                    at,
                    f"time {entry.timestamp} for offset {entry.offset}, "
                    f"where the largest so far is {self._largest}",
                )
            self._next = self._advance()

    def finish(self) -> list[Finding]:
        """The segment is at its end; returns what was found."""
        while self._next is not None:
            at, entry = self._next
            self._add(at, f"names offset {entry.offset}, which the segment does not have")
            self._next = self._advance()
        return self._problems


def check_transaction_index(
    file: LogFile | None, segment: LogFile, aborted: list[Aborted]
) -> Iterator[Finding]:
    """The `.txnindex` of a segment, whose abort markers ended the transactions given.

    What began before the log's first offset has no first offset to compare; the markers
    themselves can be compacted away, so that entries beyond them are a warning.
    """
    if file is None:
        if aborted:
            reason = f"{len(aborted)} transactions were aborted here, and no .txnindex names them"
            yield error(_TRANSACTION_INDEX, str(segment.path), None, reason)
        return
    wanted = {(entry.producer_id, entry.last_offset): entry for entry in aborted}
    try:
        with file.open() as source:
            for number, entry in enumerate(read_transaction_index(source)):
                found = wanted.pop((entry.producer_id, entry.last_offset), None)
                at = number * TXN_ENTRY_SIZE
                name = f"producer {entry.producer_id}, marker at offset {entry.last_offset}"
                if found is None:
                    reason = f"{name}: no such abort marker is in the segment"
                    yield warning(_TRANSACTION_INDEX, str(file.path), at, reason)
                elif entry.first_offset > found.first_offset:
                    reason = f"{name}: begins at {found.first_offset}, not {entry.first_offset}"
                    yield error(_TRANSACTION_INDEX, str(file.path), at, reason)
    except CorruptBatch as problem:
        yield error(_TRANSACTION_INDEX, problem.file, problem.position, problem.reason)
    for producer, offset in wanted:
        reason = f"producer {producer}, marker at offset {offset}: the entry is missing"
        yield error(_TRANSACTION_INDEX, str(file.path), None, reason)


def _numbered(entries: Iterator[E], size: int) -> Iterator[tuple[int, E]]:
    """Entries with the byte that each starts at."""
    for number, entry in enumerate(entries):
        yield number * size, entry
