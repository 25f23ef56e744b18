"""The part of a file that a task reads, and how the task detects that the file has changed.

A broker deletes segments, and compaction replaces them. A file with another size, or with other
bytes at the start of a split, is another file.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kraftwire.log.directories.partition import LogFile
from kraftwire.log.queries.selection import Selection
from kraftwire.log.segments.batch_order import BatchOrder
from kraftwire.log.sources.storage import OpenSource
from kraftwire_wire.errors import KraftwireError


class LostError(KraftwireError):
    """Planned records no longer exist."""


@dataclass(frozen=True, slots=True)
class Split:
    """The batches of a file that begin at a byte from `start` to before `end`."""

    file: LogFile
    start: int
    end: int
    selection: Selection
    log: str | None
    """The log of `kraftwire.log.queries` to decode its records as; None for bytes only."""
    is_tail: bool
    """Whether it is in the partition's last segment, to which a broker may be writing."""
    file_size: int
    """Size of the whole file when it was planned; a tail may have grown since."""
    mark: bytes = b""
    """The header of the batch at `start`; empty if planning did not open the file."""
    order: BatchOrder = field(default_factory=BatchOrder, compare=False)
    """The order of the batches before `start`; readers continue with a copy."""

    @property
    def size(self) -> int:
        """The planned number of bytes."""
        return self.end - self.start

    @property
    def topic(self) -> str | None:
        return self.file.topic

    @property
    def partition(self) -> int | None:
        return self.file.partition.partition if self.file.partition else None

    def open(self) -> OpenSource:
        """Open the file; raise `LostError` if it is gone, `KraftwireError` if it was replaced.

        A file that was marked for deletion since planning is still the same file.
        """
        source = self._open()
        is_other = source.size < self.end if self.is_tail else source.size != self.file_size
        if is_other or source.read_at(self.start, len(self.mark)) != self.mark:
            with source:
                reason = "it was compacted or cut while the query ran; run the query again"
                raise KraftwireError(f"{source.name}: {reason}")
        return source

    def _open(self) -> OpenSource:
        path, storage = self.file.path, self.file.storage
        try:
            return storage.open(path)
        except FileNotFoundError:
            try:
                return storage.open(path.with_name(f"{path.name}.deleted"))
            except FileNotFoundError:
                reason = "it was deleted while the query ran, with the records in it"
                raise LostError(f"{self.file.full_name}: {reason}") from None
