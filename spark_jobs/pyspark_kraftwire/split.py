"""A part of a file that a task reads."""

from __future__ import annotations

from dataclasses import dataclass

from kraftwire.log.directory import LogFile
from kraftwire.log.selection import Selection


@dataclass(frozen=True, slots=True)
class Split:
    """The batches of a file that begin from `start` to before `end` bytes, `size` of them."""

    file: LogFile
    start: int
    end: int
    selection: Selection
    log: str | None
    """The log whose records lie there, of `kraftwire.log.typed`; None for bytes alone."""
    is_tail: bool
    """Whether the end of the partition is in it, where a broker may be writing."""

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
