"""Appending to a cassette: each frame is in the file before the next one is accepted.

A failed write (a full disk) ends the recording. The partial last line is then truncated, so that
the file stays a valid cassette. The file is locked while it is open, because two writers would
overwrite each other's frames.
"""

from __future__ import annotations

import fcntl
import os
import stat
from contextlib import suppress
from dataclasses import replace
from io import FileIO
from pathlib import Path
from typing import Self

from kraftwire.capture.cassette import (
    CassetteHeader,
    CassetteReader,
    frame_line,
    header_line,
)
from kraftwire.capture.frame import Frame
from kraftwire_wire.errors import KraftwireError


class CassetteExists(KraftwireError):
    """The file exists already."""


class CassetteInUse(KraftwireError):
    """Another process is writing to the file."""


class CassetteFile:
    """A cassette open for writing; a context manager. `count` is the number of frames written."""

    def __init__(self, raw: FileIO) -> None:
        self.count = 0
        self._raw = raw
        self._end = 0
        self._first_connection = 0
        self._first_time = 0.0

    @classmethod
    def create(cls, path: Path, header: CassetteHeader, *, force: bool = False) -> Self:
        """Create a file; `force` replaces an existing one.

        Raise `CassetteExists` without `force`, and `CassetteInUse` if another process is writing
        to the file.
        """
        try:
            self = cls(_locked(path, "a" if force else "x"))
        except FileExistsError:
            fix = "--append adds to it, --force replaces it"
            raise CassetteExists(f"{path} exists: {fix}") from None
        if stat.S_ISREG(os.fstat(self._raw.fileno()).st_mode):
            self._raw.truncate(0)
        self._write(header_line(header))
        return self

    @classmethod
    def append(cls, path: Path) -> Self:
        """Open a cassette to append to; connections and times continue after those in it.

        Raise `CassetteError` if the file is not a cassette or its last line is incomplete, and
        `CassetteInUse`.
        """
        self = cls(_locked(path, "r+"))
        try:
            self._continue_after(path)
        except BaseException:
            self._raw.close()
            raise
        return self

    def _continue_after(self, path: Path) -> None:
        connection, time = 0, 0.0
        with path.open("rb") as stream:
            for frame in CassetteReader(stream, str(path)):
                connection, time = max(connection, frame.connection), max(time, frame.time)
            stream.seek(-1, os.SEEK_END)
            ends_line = stream.read() == b"\n"
        self._end = self._raw.seek(0, os.SEEK_END)
        self._first_connection, self._first_time = connection, time
        if not ends_line:
            self._write(b"\n")

    @classmethod
    def to_pipe(cls, descriptor: int, header: CassetteHeader) -> Self:
        """Write to a stream, such as standard output."""
        self = cls(FileIO(descriptor, "w", closefd=False))
        self._write(header_line(header))
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._raw.close()

    def write(self, frame: Frame) -> None:
        """Append a frame; if that raises `OSError`, the file is as it was before."""
        self._write(frame_line(self._shifted(frame)))
        self.count += 1

    def _shifted(self, frame: Frame) -> Frame:
        if not self._first_connection and not self._first_time:
            return frame
        connection = self._first_connection + frame.connection
        return replace(frame, connection=connection, time=self._first_time + frame.time)

    def _write(self, line: bytes) -> None:
        rest = memoryview(line)
        try:
            while rest:
                rest = rest[self._raw.write(rest) or 0 :]
        except OSError:
            with suppress(OSError):
                self._raw.truncate(self._end)
            raise
        self._end += len(line)


def _locked(path: Path, mode: str) -> FileIO:
    raw = FileIO(path, mode)
    try:
        fcntl.flock(raw, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raw.close()
        raise CassetteInUse(f"{path} is being written by another process") from None
    return raw
