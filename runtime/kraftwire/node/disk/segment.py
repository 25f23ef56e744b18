"""One segment of the log on disk: `.log`, with `.index` and `.timeindex` beside it.

Batches are appended to the last segment, the active one. Its files are open, and its indexes are
preallocated as in Kafka. The other segments are opened for each read, so that a long log takes no
more file handles than a short one. The positions of batches are in memory; the indexes are for
Kafka and for tools.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

from kraftwire.log.batches.batch import Batch
from kraftwire.log.batches.header import LOG_OVERHEAD, NO_TIMESTAMP, BatchHeader
from kraftwire.log.directories.file_names import segment_name
from kraftwire.log.errors import CorruptBatch
from kraftwire.log.segments.batch_order import MAX_RELATIVE_OFFSET
from kraftwire.log.segments.batch_positions import BatchPositions
from kraftwire.log.segments.segment import Damage, scan_headers
from kraftwire.log.segments.verified_headers import scan_verified_headers
from kraftwire.log.sources.source import FileSource
from kraftwire.log.writers.segment_writer import INDEX_INTERVAL
from kraftwire.node.disk.files import read_at, sync, sync_directory, truncate, write_at
from kraftwire.node.disk.segment_indexes import SUFFIXES, SegmentIndexes
from kraftwire.raft.metadata_log.recovery import HOW_TO_REPLACE, damaged

_WEEK_MS = 7 * 24 * 60 * 60 * 1000


@dataclass(frozen=True, kw_only=True)
class DiskSettings:
    """Sizes of segments and indexes; the defaults are Kafka's."""

    segment_bytes: int = 1 << 30
    """`metadata.log.segment.bytes`: only a segment of a single batch may be larger."""
    segment_ms: int = _WEEK_MS
    """`metadata.log.segment.ms`: the longest time between timestamps of a segment."""
    index_interval: int = INDEX_INTERVAL
    """Bytes of the log between entries of an index."""
    index_bytes: int = 10 << 20
    """The preallocated size of an index of the active segment."""


DEFAULTS = DiskSettings()


class Segment:
    """A segment. Call `scan` for an existing one, and `open` to append to it."""

    def __init__(self, directory: Path, base_offset: int, settings: DiskSettings) -> None:
        self.base_offset = base_offset
        self.end = base_offset
        """The offset after the last batch."""
        self.path = directory / segment_name(base_offset, "log")
        self._settings = settings
        self._batches = BatchPositions()
        self._first_timestamp: int | None = None
        self._indexes = SegmentIndexes(self.path, base_offset, settings.index_interval)
        self._log: FileIO | None = None

    @property
    def size(self) -> int:
        return self._batches.size

    def scan(self, *, is_last: bool) -> Iterator[BatchHeader]:
        """Read the file and yield its headers; skip a torn end of the last segment."""
        torn: Damage | None = None
        add, add_to_indexes = self._batches.add, self._indexes.add
        last: BatchHeader | None = None
        with FileSource(self.path) as source:
            for item in scan_verified_headers(source):
                if isinstance(item, Damage):
                    torn = torn or item
                    continue
                if torn is not None:
                    raise damaged(source.name, torn)
                if last is None:
                    self._note_first(item)
                last = item
                add(item.base_offset, item.length + LOG_OVERHEAD)
                add_to_indexes(item)
                yield item
        if torn is not None and not is_last:
            raise damaged(str(self.path), torn)
        if last is not None:
            self.end = last.last_offset + 1

    def _note_first(self, header: BatchHeader) -> None:
        if header.base_offset != self.base_offset:
            reason = f"the first batch has offset {header.base_offset}; {HOW_TO_REPLACE}"
            raise CorruptBatch(str(self.path), 0, reason)
        self._first_timestamp = header.max_timestamp

    def open(self) -> None:
        """Make this the active segment: create its files, or cut a torn end."""
        self._log = FileIO(self.path, "r+" if self.path.exists() else "x+")
        truncate(self._log, self.size)
        sync(self._log)
        self._indexes.open(self._settings.index_bytes)
        sync_directory(self.path.parent)

    def has_room(self, batch: Batch) -> bool:
        """Whether a batch fits into this segment by size, time and offset."""
        header = batch.header
        if not len(self._batches):
            return True
        if self.size + header.size > self._settings.segment_bytes:
            return False
        if header.last_offset - self.base_offset > MAX_RELATIVE_OFFSET:
            return False
        first = self._first_timestamp
        if first is None or NO_TIMESTAMP in (first, header.max_timestamp):
            return True
        return header.max_timestamp - first <= self._settings.segment_ms

    def append(self, batch: Batch) -> None:
        """Append a batch; reads see it immediately."""
        assert self._log is not None
        write_at(self._log, self.size, batch.data)
        header = batch.header._replace(position=self.size)
        if not len(self._batches):
            self._note_first(header)
        self._batches.add(header.base_offset, header.size)
        self._indexes.add(header)
        self.end = header.last_offset + 1
        self._indexes.write()

    def flush(self) -> None:
        assert self._log is not None
        sync(self._log)

    def read(self, offset: int, max_bytes: int) -> bytes:
        """Return whole batches, starting with the one at an offset."""
        begin, end = self._batches.slice(offset, max_bytes)
        if self._log is not None:
            return read_at(self._log, begin, end - begin)
        with FileIO(self.path) as file:
            return read_at(file, begin, end - begin)

    def truncate(self, offset: int) -> None:
        """Remove the batches from an offset on, durably, and make this the active segment."""
        self.abandon()
        self._batches.truncate(offset)
        self.end = min(self.end, offset)
        if not len(self._batches):
            self._first_timestamp = None
        again = self._indexes.truncate(offset)
        with FileSource(self.path) as source:
            for item in scan_headers(source, again, self.size):
                if isinstance(item, BatchHeader):
                    self._indexes.add(item)
        self.open()

    def repair_indexes(self) -> None:
        """Write the indexes of an inactive segment again if they are not what the scan found."""
        self._indexes.repair()

    def close(self) -> None:
        """Flush an active segment, complete its indexes and close it."""
        self.flush()
        self._indexes.finish()
        self.abandon()

    def abandon(self) -> None:
        """Close the files without a flush."""
        if self._log is not None:
            self._log.close()
            self._log = None
        self._indexes.close()

    def remove(self) -> None:
        """Remove the files durably."""
        self.abandon()
        for suffix in (".log", *SUFFIXES, ".txnindex", ".snapshot"):
            self.path.with_suffix(suffix).unlink(missing_ok=True)
        sync_directory(self.path.parent)
