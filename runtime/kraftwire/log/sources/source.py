"""Stored bytes with a name and a size, read at any position.

Files are read with ordinary calls, not mapped into memory: a broker may truncate a file while
it is being read, and accessing a mapped page after that kills the process.
"""

from __future__ import annotations

import io
import os
import stat
from pathlib import Path
from typing import Protocol, Self

from kraftwire.log.errors import UnreadableFile


class Source(Protocol):
    """The bytes of one file; see `FileSource` and `BytesSource`."""

    name: str
    size: int
    """Bytes when the source was opened; a live file may have grown or shrunk since."""

    def read_at(self, position: int, size: int) -> bytes:
        """Return up to `size` bytes from `position` on; fewer if the source ends before."""
        ...

    def read_into(self, position: int, buffer: bytearray) -> int:
        """Fill a buffer from `position` on; return how many bytes were read."""
        ...


def problem_of_mode(mode: int) -> str | None:
    """Return why a file with this mode cannot be read; None for a regular file."""
    if stat.S_ISREG(mode):
        return None
    for is_kind, words in _KINDS:
        if is_kind(mode):
            return f"{words}, not a regular file"
    return "not a regular file"


_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def _open_without_waiting(path: str, flags: int) -> int:
    """Open a file without waiting: opening a FIFO waits for a writer."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


class FileSource:
    """A local regular file; a context manager."""

    def __init__(self, path: Path | str) -> None:
        """Open the file. Raise `OSError` if that fails, `UnreadableFile` for a FIFO or device."""
        self.name = str(path)
        self._file = io.FileIO(path, opener=_open_without_waiting)
        problem = problem_of_mode(os.fstat(self._file.fileno()).st_mode)
        if problem is not None:
            self._file.close()
            raise UnreadableFile(self.name, problem)
        self.size = self._file.seek(0, io.SEEK_END)

    def read_at(self, position: int, size: int) -> bytes:
        self._file.seek(position)
        data = self._file.read(size)
        while len(data) < size:  # an unbuffered read may stop early
            more = self._file.read(size - len(data))
            if not more:
                break
            data += more
        return data

    def read_into(self, position: int, buffer: bytearray) -> int:
        self._file.seek(position)
        filled = 0
        with memoryview(buffer) as view:
            while filled < len(buffer):  # an unbuffered read may stop early
                count = self._file.readinto(view[filled:])
                if not count:
                    break
                filled += count
        return filled

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class BytesSource:
    """Bytes in memory."""

    def __init__(self, data: bytes, name: str = "<bytes>") -> None:
        self.name = name
        self.size = len(data)
        self._data = data

    def read_at(self, position: int, size: int) -> bytes:
        return self._data[position : position + size]

    def read_into(self, position: int, buffer: bytearray) -> int:
        data = memoryview(self._data)[position : position + len(buffer)]
        buffer[: len(data)] = data
        return len(data)
