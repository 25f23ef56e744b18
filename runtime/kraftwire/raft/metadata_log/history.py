"""What the control records of a log say, by the offset from which it is in force.

A voter set or kraft.version is in force from the record on that says it, committed or not
(KIP-853): what is truncated takes it along, and the one before is in force again. What stands
before every record, a static configuration or the bootstrap checkpoint, has the offset -1.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")

BEFORE_THE_LOG = -1


class Change(NamedTuple, Generic[T]):
    """A value, and the offset of the record that said it."""

    offset: int
    value: T


class History(Generic[T]):
    """Values by the offsets from which they are in force."""

    def __init__(self, initial: T, offset: int = BEFORE_THE_LOG) -> None:
        """`initial` is what stands before the log, or what a snapshot has up to an offset."""
        self._offsets = [offset]
        self._values = [initial]

    @property
    def changes(self) -> list[Change[T]]:
        """All that is known, in the order of the offsets."""
        return [Change(*pair) for pair in zip(self._offsets, self._values, strict=True)]

    @property
    def last(self) -> T:
        """The newest value, which is the one in force."""
        return self._values[-1]

    @property
    def last_offset(self) -> int:
        """The offset of the record that said it, -1 for none."""
        return self._offsets[-1]

    def before(self, offset: int) -> T:
        """What records before an offset leave in force: that of a log that ends there."""
        return self._values[max(bisect_left(self._offsets, offset) - 1, 0)]

    def is_committed(self, high_watermark: int) -> bool:
        """Whether the record of the newest value is committed."""
        return self._offsets[-1] < high_watermark

    def add(self, offset: int, value: T) -> None:
        """Take in a record; `ValueError` where its offset is not behind all others."""
        if offset <= self._offsets[-1]:
            raise ValueError(f"offset {offset} is not behind {self._offsets[-1]}")
        self._offsets.append(offset)
        self._values.append(value)

    def truncate(self, offset: int) -> None:
        """Forget what records from an offset on said; what came first stays."""
        place = max(bisect_left(self._offsets, offset), 1)
        del self._offsets[place:], self._values[place:]

    def forget_before(self, offset: int) -> None:
        """Forget what was in force only before an offset, where the log begins now."""
        place = bisect_left(self._offsets, offset) - 1
        if place > 0:
            del self._offsets[:place], self._values[:place]
