"""The records of a batch as a sequence that fits into memory, however many they are.

A few kilobytes can decompress to millions of records, in a crafted batch or a real one. All of them
are checked before the first is returned. If they take little memory, they are kept in a list;
otherwise each iteration decodes them again, a chunk at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, overload

from kraftwire.log.batches.compression import DEFAULT_LIMIT, over_limit
from kraftwire.log.batches.record import OBJECT_BYTES, Record, RecordChunk
from kraftwire.log.errors import CorruptBatch

if TYPE_CHECKING:
    from kraftwire.log.batches.batch import Batch

_MAX_LIST_BYTES = 64 << 20
"""Bytes that the list of a batch's records may take, counting `OBJECT_BYTES` for each object."""

Decode = Callable[[], Iterator[RecordChunk]]
"""Decodes the records of a batch from the first to the last; raises `CorruptBatch`."""


def collect(decode: Decode, size: int) -> Sequence[Record]:
    """Return all records of a batch with a payload of `size` bytes, or raise `CorruptBatch`."""
    kept: list[Record] | None = []
    count, cost = 0, size
    for records, headers in decode():
        count += len(records)
        cost += (len(records) + headers) * OBJECT_BYTES
        if kept is not None and cost <= _MAX_LIST_BYTES:
            kept += records
        else:
            kept = None
    return LargeRecords(decode, count) if kept is None else kept


class LargeRecords(Sequence[Record]):
    """Records that each iteration decodes again; indexing iterates up to the index."""

    def __init__(self, decode: Decode, count: int) -> None:
        """`decode` yields `count` records and has run once without an error."""
        self._decode = decode
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Record]:
        return chain.from_iterable(chunk.records for chunk in self._decode())

    @overload
    def __getitem__(self, index: int) -> Record: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Record]: ...

    def __getitem__(self, index: int | slice) -> Record | Sequence[Record]:
        indexes = range(self._count)[index]
        if isinstance(indexes, int):
            return next(islice(self, indexes, None))
        if indexes.step < 0:
            return self[indexes[-1] : indexes[0] + 1 : -indexes.step][::-1] if indexes else []
        return list(islice(self, indexes.start, indexes.stop, indexes.step))


class RecordBudget:
    """A limit for the records of several batches that are in memory together."""

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self._limit = limit
        self._left = limit

    def hold(self, batch: Batch) -> list[Record]:
        """Return the records of a batch, or raise `CorruptBatch` if they are too many."""
        kept: list[Record] = []
        self._left -= batch.header.size
        for record in batch.records:
            self._left -= (1 + len(record.headers)) * OBJECT_BYTES
            if isinstance(batch.records, LargeRecords):  # their bytes are not those of the batch
                self._left -= len(record.key or b"") + len(record.value or b"")
            if self._left < 0:
                reason = over_limit("its records are too many to keep in memory", self._limit)
                raise CorruptBatch(batch.file, batch.header.position, reason)
            kept.append(record)
        return kept
