"""Durable writes to files; every error names the file.

`replace_file` writes a new file beside the old one and renames it, so that a crash leaves one of
the two. It syncs the directory as well: otherwise a crash could lose the name of a synced file.
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
    """Add the path to an `OSError` that has none."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


def write_at(file: FileIO, position: int, data: bytes) -> None:
    """Write all of the bytes."""
    with naming(file.name):
        written = os.pwrite(file.fileno(), data, position)
        while written < len(data):  # the disk is nearly full: the next call raises
            written += os.pwrite(file.fileno(), data[written:], position + written)


def read_at(file: FileIO, position: int, size: int) -> bytes:
    """Return `size` bytes, or fewer at the end of the file."""
    with naming(file.name):
        data = os.pread(file.fileno(), size, position)
        while len(data) < size:  # a read may stop early
            more = os.pread(file.fileno(), size - len(data), position + len(data))
            if not more:
                break
            data += more
    return data


def truncate(file: FileIO, size: int) -> None:
    """Cut a file, or extend it with zeros."""
    with naming(file.name):
        os.ftruncate(file.fileno(), size)


def sync(file: FileIO) -> None:
    """Make the content of a file durable."""
    with naming(file.name):
        os.fsync(file.fileno())


def sync_directory(directory: Path) -> None:
    """Make the names of files durable that were created, renamed or removed."""
    with naming(directory):
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def replace_file(path: Path, data: bytes) -> None:
    """Write a file, or replace it, durably."""
    beside = path.with_name(path.name + TEMPORARY)
    with FileIO(beside, "w") as file:
        write_at(file, 0, data)
        sync(file)
    beside.replace(path)
    sync_directory(path.parent)


def make_directory(directory: Path) -> None:
    """Make a directory and its missing parents, durably."""
    if directory.is_dir():
        return
    make_directory(directory.parent)
    directory.mkdir(exist_ok=True)
    sync_directory(directory.parent)
