"""Places with stored files: this machine, or any other that can list and open files.

`find_files` walks a `Storage` and returns files that open themselves through it, so logs can be
read from anywhere. Paths are those of the storage, with `/` between their parts; in an object
store, the first part is the bucket.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol, Self

from kraftwire.log.sources.source import FileSource, Source, problem_of_mode
from kraftwire_wire.errors import KraftwireError


class DirectoryEntry(NamedTuple):
    """A name in a directory."""

    name: str
    is_directory: bool
    problem: str = ""
    """Why it cannot be read: a FIFO, a broken link. Empty for files and directories."""


class OpenSource(Source, Protocol):
    """A source that is closed on exit from its `with` block."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class Storage(Protocol):
    """A place that can list and open files."""

    def is_directory(self, path: Path) -> bool:
        """Whether a path is a directory, not a file; raise `OSError` if it does not exist."""
        ...

    def entries(self, directory: Path) -> Iterable[DirectoryEntry]:
        """Return the names in a directory, in any order."""
        ...

    def identities(self, paths: Iterable[Path]) -> Iterator[Path]:
        """Yield the canonical path of each path; all paths of one file have the same."""
        ...

    def size(self, path: Path) -> int: ...

    def name_of(self, path: Path) -> str:
        """Return a file's name outside of the storage: its URL, or its path."""
        ...

    def open(self, path: Path) -> OpenSource: ...


class LocalStorage:
    """The files of this machine. `LOCAL` is the only instance, also after unpickling."""

    def __reduce__(self) -> str:
        return "LOCAL"

    def is_directory(self, path: Path) -> bool:
        if path.is_dir():
            return True
        path.stat()  # raises an `OSError` with the path if it does not exist
        if not path.is_file():
            raise KraftwireError(f"{path}: neither a file nor a directory")
        return False

    def entries(self, directory: Path) -> Iterable[DirectoryEntry]:
        with os.scandir(directory) as found:
            for entry in found:
                one = _entry(entry)
                if one is not None:
                    yield one

    def identities(self, paths: Iterable[Path]) -> Iterator[Path]:
        directories: dict[Path, Path] = {}  # resolved once for all files in them
        for path in paths:
            directory = path.parent
            if path.is_symlink():
                yield path.resolve()
                continue
            if directory not in directories:
                directories[directory] = directory.resolve()
            yield directories[directory] / path.name

    def size(self, path: Path) -> int:
        return path.stat().st_size

    def name_of(self, path: Path) -> str:
        return str(path)

    def open(self, path: Path) -> FileSource:
        return FileSource(path)


def _entry(entry: os.DirEntry[str]) -> DirectoryEntry | None:
    """Return a local directory entry; None if the file was deleted meanwhile."""
    try:
        if entry.is_dir():
            return DirectoryEntry(entry.name, is_directory=True)
        if entry.is_file():
            return DirectoryEntry(entry.name, is_directory=False)
        problem = problem_of_mode(entry.stat().st_mode) or ""
    except FileNotFoundError:
        if not entry.is_symlink():
            return None
        problem = "a link to a file that does not exist"
    except OSError as error:  # a link that leads back to itself
        problem = error.strerror or str(error)
    return DirectoryEntry(entry.name, is_directory=False, problem=problem)


LOCAL = LocalStorage()
