"""The `.index` and `.timeindex` beside a segment, as Kafka has them.

Those of the active segment are preallocated, and cut to their entries when the segment ends. After
a crash they may contain anything: opening the log builds them again from the batches.
"""

from __future__ import annotations

from contextlib import suppress
from io import FileIO
from pathlib import Path

from kraftwire.log.small_files.indexes import (
    OFFSET_ENTRY,
    TIME_ENTRY,
    encode_offset_index,
    encode_time_index,
)
from kraftwire.log.writers.segment_writer import IndexBuilder
from kraftwire.node.disk.files import sync, truncate, write_at

SUFFIXES = (".index", ".timeindex")

_ENTRY_SIZES = (OFFSET_ENTRY.size, TIME_ENTRY.size)


class SegmentIndexes:
    """Both indexes of one segment."""

    def __init__(self, segment: Path, base_offset: int, interval: int) -> None:
        """`segment` is the path of the `.log`; `interval` is in bytes."""
        self._paths = [segment.with_suffix(suffix) for suffix in SUFFIXES]
        self._base = base_offset
        self._builder = IndexBuilder(interval)
        self.add = self._builder.add
        """Counts a batch; `write` writes its entry if it has one."""
        self._files: list[FileIO] = []
        self._written = [0, 0]
        """The number of entries in each file."""

    def open(self, room: int) -> None:
        """Create both files with `room` bytes each, and keep them open."""
        for path, size in zip(self._paths, _ENTRY_SIZES, strict=True):
            self._files.append(FileIO(path, "w+"))
            truncate(self._files[-1], room - room % size)
        self._written = [0, 0]
        self.write()

    def write(self) -> None:
        """Write the entries that the files do not have yet."""
        offsets, times = self._written
        builder = self._builder
        if len(builder.offsets) > offsets:
            self._write_entries(0, encode_offset_index(builder.offsets[offsets:], self._base))
        if len(builder.times) > times:
            self._write_entries(1, encode_time_index(builder.times[times:], self._base))

    def _write_entries(self, which: int, entries: bytes) -> None:
        size = _ENTRY_SIZES[which]
        write_at(self._files[which], self._written[which] * size, entries)
        self._written[which] += len(entries) // size

    def truncate(self, offset: int) -> int:
        """Drop the batches from an offset on; return the position to add batches from again."""
        return self._builder.truncate(offset)

    def finish(self) -> None:
        """Write the last entries and cut the files to their content."""
        self._builder.add_time()
        self.write()
        for file, size, count in zip(self._files, _ENTRY_SIZES, self._written, strict=True):
            truncate(file, size * count)
            sync(file)

    def close(self) -> None:
        """Close the files without a flush."""
        for file in self._files:
            with suppress(OSError):
                file.close()
        self._files.clear()

    def repair(self) -> None:
        """Write the files of an inactive segment again if their content is wrong."""
        self._builder.add_time()
        contents = (
            encode_offset_index(self._builder.offsets, self._base),
            encode_time_index(self._builder.times, self._base),
        )
        for path, content in zip(self._paths, contents, strict=True):
            if not path.exists() or path.read_bytes() != content:
                path.write_bytes(content)
