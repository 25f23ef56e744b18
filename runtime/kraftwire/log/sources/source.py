"""Stored bytes with a name and a size, read at any position.

Files are read with ordinary calls, not mapped into memory: a broker may cut a file while it
is being read, and a mapped page that is gone kills the process.
"""

from __future__ import annotations

import io
import os
import stat
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from kraftwire.log.errors import UnreadableFile


class Source(Protocol):
    """What the readers of stored files need of a file."""

    name: str
    size: int
    """Bytes, when the source was opened; a live file may have grown or shrunk since."""

    def read_at(self, position: int, size: int) -> bytes:
        """Up to `size` bytes from `position` on; fewer where the source ends before."""
        ...

    def read_into(self, position: int, buffer: bytearray) -> int:
        """Fill a buffer from `position` on; how many bytes were there."""
        ...


def problem_of_mode(mode: int) -> str | None:
    """Why a file of a mode cannot be read as a stored file; None for a regular file."""
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


def _open_at_once(path: str, flags: int) -> int:
    """Open a file without waiting: a FIFO would wait for a writer."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


class FileSource:
    """A regular file on this machine; a context manager."""

    def __init__(self, path: Path | str) -> None:
        """Open the file. Raise `OSError` if that fails, `UnreadableFile` for a FIFO or device."""
        self.name = str(path)
        self._file = io.FileIO(path, opener=_open_at_once)
        problem = problem_of_mode(os.fstat(self._file.fileno()).st_mode)
        if problem is not None:
            self._file.close()
            raise UnreadableFile(self.name, problem)
        self.size = self._file.seek(0, io.SEEK_END)

    def read_at(self, position: int, size: int) -> bytes:
        """See `Source.read_at`."""
        self._file.seek(position)
        data = self._file.read(size)
        while len(data) < size:  # an unbuffered read may stop early
            more = self._file.read(size - len(data))
            if not more:
                break
            data += more
        return data

    def read_into(self, position: int, buffer: bytearray) -> int:
        """See `Source.read_into`."""
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
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()


class BytesSource:
    """Bytes in memory."""

    def __init__(self, data: bytes, name: str = "<bytes>") -> None:
        """`name` is what errors call it."""
        self.name = name
        self.size = len(data)
        self._data = data

    def read_at(self, position: int, size: int) -> bytes:
        """See `Source.read_at`."""
        return self._data[position : position + size]

    def read_into(self, position: int, buffer: bytearray) -> int:
        """See `Source.read_into`."""
        data = memoryview(self._data)[position : position + len(buffer)]
        buffer[: len(data)] = data
        return len(data)
