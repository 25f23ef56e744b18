"""Writing segments as a broker does: batches, and the indexes beside them.

The indexes have the same entries as Kafka's: one for the first batch more than `index_interval`
bytes after the last entry, and at the end the largest timestamp. So the indexes of a rewritten
segment equal Kafka's, byte for byte.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO, Self

from kraftwire.log.batches.batch import Batch, decode_batch
from kraftwire.log.batches.header import BatchHeader
from kraftwire.log.directories.file_names import segment_name
from kraftwire.log.queries.transactions import AbortedTransaction
from kraftwire.log.segments.batch_order import MAX_RELATIVE_OFFSET
from kraftwire.log.small_files.indexes import (
    OffsetEntry,
    TimeEntry,
    encode_offset_index,
    encode_time_index,
    encode_transaction_index,
)
from kraftwire_messages.kafka import AbortedTxn
from kraftwire_wire.errors import EncodeError

INDEX_INTERVAL = 4096
"""Bytes between index entries: the default of Kafka's `log.index.interval.bytes`."""


class IndexBuilder:
    """The entries of a segment's offset and time index, built from its batches in order."""

    def __init__(self, index_interval: int = INDEX_INTERVAL) -> None:
        self.offsets: list[OffsetEntry] = []
        self.times: list[TimeEntry] = []
        self._interval = index_interval
        self._indexed_at = 0
        self._largest = TimeEntry(-1, -1)

    def add(self, header: BatchHeader) -> None:
        if header.max_timestamp > self._largest.timestamp:
            self._largest = TimeEntry(header.max_timestamp, header.last_offset)
        if header.position - self._indexed_at > self._interval:
            self.offsets.append(OffsetEntry(header.last_offset, header.position))
            self.add_time()
            self._indexed_at = header.position

    def truncate(self, offset: int) -> int:
        """Remove the batches from an offset on; return where to start adding batches again.

        That position is the last one in the index, or 0.
        """
        while self.offsets and self.offsets[-1].offset >= offset:
            del self.offsets[-1]
        while self.times and self.times[-1].offset >= offset:
            del self.times[-1]
        self._largest = self.times[-1] if self.times else TimeEntry(-1, -1)
        self._indexed_at = self.offsets[-1].position if self.offsets else 0
        return self._indexed_at

    def add_time(self) -> None:
        """Add the largest timestamp so far: with each offset entry, and at the end."""
        before = self.times[-1].timestamp if self.times else -1
        if self._largest.timestamp > before:
            self.times.append(self._largest)


class SegmentWriter:
    """One segment; a context manager, which writes the indexes unless an error occurred.

    Raise `FileExistsError` instead of overwriting a file.
    """

    def __init__(
        self, directory: Path, base_offset: int, *, index_interval: int = INDEX_INTERVAL
    ) -> None:
        """Create a segment for batches from `base_offset` on."""
        self.directory = directory
        self.base_offset = base_offset
        self.size = 0
        self.next_offset = base_offset
        self._index = IndexBuilder(index_interval)
        self._aborted: list[AbortedTxn] = []
        self._log = self._path("log").open("xb")

    def append(self, batch: Batch | bytes) -> BatchHeader:
        """Append one batch unchanged; return its header, with its position in this segment."""
        data = batch.data if isinstance(batch, Batch) else batch
        header = decode_batch(data).header._replace(position=self.size)
        if header.base_offset < self.next_offset:
            raise EncodeError(f"offset {header.base_offset} is below the next, {self.next_offset}")
        if max(header.last_offset - self.base_offset, header.end) > MAX_RELATIVE_OFFSET:
            raise EncodeError(f"the segment is full: offset {header.last_offset} does not fit")
        if header.size != len(data):
            raise EncodeError(f"{len(data)} bytes, but the batch has {header.size}")
        self._log.write(data)
        self._index.add(header)
        self.size = header.end
        self.next_offset = header.last_offset + 1
        return header

    def add_aborted(self, aborted: AbortedTransaction) -> None:
        self._aborted.append(AbortedTxn(**aborted._asdict()))

    def close(self) -> None:
        """Write the indexes, and flush everything to disk."""
        self._index.add_time()
        _sync(self._log)
        self._log.close()
        self._write("index", encode_offset_index(self._index.offsets, self.base_offset))
        self._write("timeindex", encode_time_index(self._index.times, self.base_offset))
        if self._aborted:
            self._write("txnindex", encode_transaction_index(self._aborted))

    def _path(self, suffix: str) -> Path:
        return self.directory / segment_name(self.base_offset, suffix)

    def _write(self, suffix: str, data: bytes) -> None:
        with self._path(suffix).open("xb") as file:
            file.write(data)
            _sync(file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self._log.close()


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())
