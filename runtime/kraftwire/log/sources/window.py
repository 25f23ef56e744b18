"""A buffered part of a source, which moves forward as the source is read."""

from __future__ import annotations

from kraftwire.log.sources.source import Source


class Window:
    """Bytes of a source around the last requested position."""

    def __init__(self, source: Source, size: int) -> None:
        self._source = source
        self._size = size
        self._data = b""
        self._start = 0

    def at(self, position: int, needed: int) -> tuple[bytes, int]:
        """Return bytes, and the index of `position` in them.

        At least `needed` bytes follow it, unless the source ends.
        """
        start = position - self._start
        if start < 0 or start + needed > len(self._data):
            self._data = self._source.read_at(position, max(needed, self._size))
            self._start = position
            start = 0
        return self._data, start
