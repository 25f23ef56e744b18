"""The log on disk: consecutive segments, of which the last is active.

There is never a gap between segments, not even after a crash: a segment is durable before the next
one begins. Truncation removes segments from the end, cleaning from the start.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise
from operator import attrgetter
from pathlib import Path

from kraftwire.log.batches.batch import Batch
from kraftwire.log.batches.header import BatchHeader
from kraftwire.log.directories.file_names import FileKind, parse_file_name
from kraftwire.log.errors import CorruptBatch
from kraftwire.node.disk.segment import DiskSettings, Segment
from kraftwire.raft.metadata_log.recovery import HOW_TO_REPLACE

_base_offset = attrgetter("base_offset")


class SegmentedLog:
    """The segments of a directory: read `headers` once, then `open` it."""

    def __init__(self, directory: Path, settings: DiskSettings) -> None:
        self._directory = directory
        self._settings = settings
        names = (parse_file_name(path.name) for path in directory.iterdir())
        offsets = sorted(
            name.offset
            for name in names
            if name and name.kind is FileKind.SEGMENT and not name.state and name.offset is not None
        )
        self._segments = [Segment(directory, offset, settings) for offset in offsets]
        self._scanned = self._directory
        self._is_dirty = False

    @property
    def base_offset(self) -> int | None:
        """The first offset of the first segment; None without segments."""
        return self._segments[0].base_offset if self._segments else None

    @property
    def end(self) -> int:
        """The offset after the last batch."""
        return self._segments[-1].end if self._segments else 0

    @property
    def _active(self) -> Segment:
        return self._segments[-1]

    @property
    def file(self) -> str:
        return str(self._scanned)

    def headers(self) -> Iterator[BatchHeader]:
        end = self.base_offset
        for segment in self._segments:
            self._scanned = segment.path
            if segment.base_offset != end:
                raise CorruptBatch(
                    self.file, 0, f"the previous segment ends at {end}; {HOW_TO_REPLACE}"
                )
            yield from segment.scan(is_last=segment is self._active)
            end = segment.end

    def read_batch(self, header: BatchHeader) -> Batch:
        segment = self._segments[
            bisect_right(self._segments, header.base_offset, key=_base_offset) - 1
        ]
        return Batch(header, segment.read(header.base_offset, 0), self.file)

    def open(self) -> None:
        """Cut a torn end, and get ready for appends."""
        for segment in self._segments[:-1]:
            segment.repair_indexes()
        self._active.open()

    def is_empty_at(self, offset: int) -> bool:
        """Whether the log is one empty segment that begins at an offset."""
        return [offset] == [one.base_offset for one in self._segments] and not self._active.size

    def append(self, batch: Batch) -> None:
        """Append a batch, in a new segment if the last one is full."""
        if batch.header.base_offset != self.end:
            offset = batch.header.base_offset
            raise ValueError(f"offset {offset} at the end of a log that ends at {self.end}")
        if not self._active.has_room(batch):
            self._active.close()
            self._begin_segment(self.end)
        self._is_dirty = True
        self._active.append(batch)

    def _begin_segment(self, offset: int) -> None:
        segment = Segment(self._directory, offset, self._settings)
        self._segments.append(segment)
        segment.open()

    def flush(self) -> None:
        if self._is_dirty:
            self._active.flush()
            self._is_dirty = False

    def read(self, offset: int, max_bytes: int) -> bytes:
        """Return whole batches from an offset on, up to the end of its segment."""
        index = bisect_right(self._segments, offset, key=_base_offset) - 1
        if index < 0 or offset >= self.end:
            raise ValueError(
                f"no offset {offset}: the log is from {self.base_offset} to {self.end}"
            )
        return self._segments[index].read(offset, max_bytes)

    def truncate(self, offset: int) -> None:
        while len(self._segments) > 1 and self._active.base_offset > offset:
            self._segments[-1].remove()
            del self._segments[-1]
        self._active.truncate(offset)
        self._is_dirty = False

    def remove_before(self, offset: int) -> None:
        """Remove the segments that end before an offset."""
        gone = [one for one, after in pairwise(self._segments) if after.base_offset <= offset]
        for segment in gone:
            segment.remove()
            self._segments.remove(segment)

    def restart_at(self, offset: int) -> None:
        """Remove all batches; the next one must have this offset."""
        while self._segments:
            self._segments[-1].remove()
            del self._segments[-1]
        self._begin_segment(offset)
        self._is_dirty = False

    def close(self) -> None:
        if self._segments:
            self._active.close()

    def abandon(self) -> None:
        """Close the files without a flush."""
        for segment in self._segments:
            segment.abandon()
