"""Values that control records set, each with the first offset at which it is in force.

A voter set or kraft.version is in force from its record on, committed or not (KIP-853). Truncating
the record restores the value before it. A value from a static configuration or the bootstrap
checkpoint has the offset -1.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")

BEFORE_THE_LOG = -1


class HistoryEntry(NamedTuple, Generic[T]):
    """A value, and the offset of the record that set it."""

    offset: int
    value: T


class History(Generic[T]):
    """The values of one setting, in the order of the log."""

    def __init__(self, initial: T, offset: int = BEFORE_THE_LOG) -> None:
        """`initial` is the value before the log, or that of the snapshot before it."""
        self._offsets = [offset]
        self._values = [initial]

    @property
    def entries(self) -> list[HistoryEntry[T]]:
        return [HistoryEntry(*pair) for pair in zip(self._offsets, self._values, strict=True)]

    @property
    def last(self) -> T:
        return self._values[-1]

    @property
    def last_offset(self) -> int:
        """The offset of the record that set the last value; -1 if no record did."""
        return self._offsets[-1]

    def before(self, offset: int) -> T:
        """Return the value in force in a log that ends at an offset."""
        return self._values[max(bisect_left(self._offsets, offset) - 1, 0)]

    def is_committed(self, high_watermark: int) -> bool:
        return self._offsets[-1] < high_watermark

    def add(self, offset: int, value: T) -> None:
        """Add the value of a record; raise `ValueError` if its offset is not after all others."""
        if offset <= self._offsets[-1]:
            raise ValueError(f"offset {offset} is not after {self._offsets[-1]}")
        self._offsets.append(offset)
        self._values.append(value)

    def truncate(self, offset: int) -> None:
        """Forget the values of records from an offset on; the first value stays."""
        first_gone = max(bisect_left(self._offsets, offset), 1)
        del self._offsets[first_gone:], self._values[first_gone:]

    def forget_before(self, offset: int) -> None:
        """Forget the values that were in force only before the new start of the log."""
        first_kept = max(bisect_left(self._offsets, offset) - 1, 0)
        del self._offsets[:first_kept], self._values[:first_kept]
