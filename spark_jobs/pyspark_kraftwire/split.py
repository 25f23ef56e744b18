"""A part of a file that a task reads, and how the file is known again when the task runs.

A broker deletes segments, and compaction puts other batches in the place of those that were
planned. A file of another size, or with other bytes where a split begins, is another file.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kraftwire.log.directories.partition import LogFile
from kraftwire.log.queries.selection import Selection
from kraftwire.log.segments.batch_order import BatchOrder
from kraftwire.log.sources.storage import OpenSource
from kraftwire_wire.errors import KraftwireError


class LostError(KraftwireError):
    """Records that were about to be read are gone."""


@dataclass(frozen=True, slots=True)
class Split:
    """The batches of a file that begin from `start` to before `end` bytes, `size` of them."""

    file: LogFile
    start: int
    end: int
    selection: Selection
    log: str | None
    """The log whose records lie there, of `kraftwire.log.queries`; None for bytes alone."""
    is_tail: bool
    """Whether the end of the partition is in it, where a broker may be writing."""
    file_size: int
    """Bytes of the whole file when it was planned; behind a tail there may be more since."""
    mark: bytes = b""
    """What stood at `start`; empty where planning had no need to open the file."""
    order: BatchOrder = field(default_factory=BatchOrder, compare=False)
    """What is known about the batches before `start`; whoever reads goes on with a copy."""

    @property
    def size(self) -> int:
        """Bytes, as the file was when it was planned."""
        return self.end - self.start

    @property
    def topic(self) -> str | None:
        """The topic's name, where it is known."""
        return self.file.topic

    @property
    def partition(self) -> int | None:
        """The partition's number, where it is known."""
        return self.file.partition.partition if self.file.partition else None

    def open(self) -> OpenSource:
        """The file; `LostError` where it is gone, `KraftwireError` where another is in its place.

        It may have been marked for deletion since it was planned: that is still the same file.
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
