"""Writes to files that are durable when they return, and whose errors name the file.

A file is replaced by one that was written beside it, so that a crash leaves the one or the
other. A directory is synced too: else a crash may take the name of a file that is on the disk.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path

TEMPORARY = ".tmp"


@contextmanager
def naming(path: Path | str) -> Iterator[None]:
    """Let an error of a call that knows no path say which file it is about."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


def write_at(file: FileIO, position: int, data: bytes) -> None:
    """Write all of the bytes; the file ends behind them or later."""
    with naming(file.name):
        written = os.pwrite(file.fileno(), data, position)
        while written < len(data):  # the disk is full, or nearly so: the next call tells
            written += os.pwrite(file.fileno(), data[written:], position + written)


def read_at(file: FileIO, position: int, size: int) -> bytes:
    """So many bytes, or as many as there are."""
    with naming(file.name):
        data = os.pread(file.fileno(), size, position)
        while len(data) < size:  # a read may stop early
            more = os.pread(file.fileno(), size - len(data), position + len(data))
            if not more:
                break
            data += more
    return data


def truncate(file: FileIO, size: int) -> None:
    """Cut a file, or lengthen it by zeros."""
    with naming(file.name):
        os.ftruncate(file.fileno(), size)


def sync(file: FileIO) -> None:
    """See that what was written is on the disk."""
    with naming(file.name):
        os.fsync(file.fileno())


def sync_directory(directory: Path) -> None:
    """See that the names of files that were made, renamed or removed are on the disk."""
    with naming(directory):
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def replace_file(path: Path, data: bytes) -> None:
    """Put a file with these bytes in the place of what a path has."""
    beside = path.with_name(path.name + TEMPORARY)
    with FileIO(beside, "w") as file:
        write_at(file, 0, data)
        sync(file)
    beside.replace(path)
    sync_directory(path.parent)


def make_directory(directory: Path) -> None:
    """Make a directory, and those above it, where they are missing."""
    if directory.is_dir():
        return
    make_directory(directory.parent)
    directory.mkdir(exist_ok=True)
    sync_directory(directory.parent)
