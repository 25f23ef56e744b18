"""Where the batches of one segment begin, in memory: 12 bytes for each."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right


class BatchPositions:
    """The first offset and the position of every batch of a segment, in order."""

    def __init__(self) -> None:
        self.size = 0
        """Bytes of all batches."""
        self._offsets = array("q")
        self._positions = array("I")  # a segment has less than 2**31 bytes

    def __len__(self) -> int:
        return len(self._offsets)

    def add(self, base_offset: int, size: int) -> None:
        self._offsets.append(base_offset)
        self._positions.append(self.size)
        self.size += size

    def slice(self, offset: int, max_bytes: int) -> tuple[int, int]:
        """Return the start and end of whole batches, from the one with an offset on.

        Return at most `max_bytes`, but at least one batch. The offset is not before the first.
        """
        place = bisect_right(self._offsets, offset) - 1
        begin, end = self._positions[place], self.size
        if begin + max_bytes < end and place + 1 < len(self._positions):
            last = bisect_right(self._positions, begin + max_bytes) - 1
            end = self._positions[max(last, place + 1)]
        return begin, end

    def truncate(self, offset: int) -> None:
        place = bisect_left(self._offsets, offset)
        if place < len(self._offsets):
            self.size = self._positions[place]
            del self._offsets[place:], self._positions[place:]
