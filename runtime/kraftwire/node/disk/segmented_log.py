"""The log on disk: segments, one behind the other, of which the last is appended to.

At any moment, a crash included, the segments are a log without a hole. So a segment is durable
before the next is begun, the last goes first where the end is removed, and the first goes first
where the start is.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise
from operator import attrgetter
from pathlib import Path

from kraftwire.log.batch import Batch
from kraftwire.log.errors import CorruptBatch
from kraftwire.log.file_names import FileKind, parse_file_name
from kraftwire.log.header import BatchHeader
from kraftwire.node.disk.segment import DiskSettings, Segment
from kraftwire.raft.metadata_log.recovery import HOW_TO_REPLACE

_base_offset = attrgetter("base_offset")


class SegmentedLog:
    """The segments of a directory: read `headers` once, then `open` it."""

    def __init__(self, directory: Path, settings: DiskSettings) -> None:
        """The segments that are there, by their names."""
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
        """The first offset of the first segment; None where there is none."""
        return self._segments[0].base_offset if self._segments else None

    @property
    def end(self) -> int:
        """The offset behind the last batch."""
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
                    self.file, 0, f"the segment before it ends at {end}; {HOW_TO_REPLACE}"
                )
            yield from segment.scan(is_last=segment is self._active)
            end = segment.end

    def read_batch(self, header: BatchHeader) -> Batch:
        segment = self._segments[
            bisect_right(self._segments, header.base_offset, key=_base_offset) - 1
        ]
        return Batch(header, segment.read(header.base_offset, 0), self.file)

    def open(self) -> None:
        """Cut off what is torn, and be ready for appends."""
        for segment in self._segments[:-1]:
            segment.mend_indexes()
        self._active.open()

    def is_empty_at(self, offset: int) -> bool:
        """Whether there is one segment, without batches, that begins there."""
        return [offset] == [one.base_offset for one in self._segments] and not self._active.size

    def append(self, batch: Batch) -> None:
        """Put a batch at the end, in a segment that has room for it."""
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
        """Make durable what was appended."""
        if self._is_dirty:
            self._active.flush()
            self._is_dirty = False

    def read(self, offset: int, max_bytes: int) -> bytes:
        """Whole batches from the one with an offset on, up to the end of its segment."""
        place = bisect_right(self._segments, offset, key=_base_offset) - 1
        if place < 0 or offset >= self.end:
            raise ValueError(f"offset {offset} of a log from {self.base_offset} to {self.end}")
        return self._segments[place].read(offset, max_bytes)

    def truncate(self, offset: int) -> None:
        """Remove the batches from an offset on."""
        while len(self._segments) > 1 and self._active.base_offset > offset:
            self._segments[-1].remove()
            del self._segments[-1]
        self._active.truncate(offset)
        self._is_dirty = False

    def remove_before(self, offset: int) -> None:
        """Remove the segments that have nothing from an offset on."""
        gone = [one for one, after in pairwise(self._segments) if after.base_offset <= offset]
        for segment in gone:
            segment.remove()
            self._segments.remove(segment)

    def begin_anew(self, offset: int) -> None:
        """Remove all batches; the next has this offset."""
        while self._segments:
            self._segments[-1].remove()
            del self._segments[-1]
        self._begin_segment(offset)
        self._is_dirty = False

    def close(self) -> None:
        """Make all durable, and close the files."""
        if self._segments:
            self._active.close()

    def abandon(self) -> None:
        """Close the files as they are."""
        for segment in self._segments:
            segment.abandon()
