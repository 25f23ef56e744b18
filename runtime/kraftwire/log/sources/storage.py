"""Where stored files lie: this machine, or whatever else can list and open them.

`find_files` walks a `Storage`, and the files it finds open themselves through it, so that
everything that reads logs reads them from anywhere. Paths are those of the storage, with
`/` between their parts; for an object store the first part is the bucket.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Protocol, Self

from kraftwire.log.sources.source import FileSource, Source, problem_of_mode
from kraftwire_wire.errors import KraftwireError


class DirectoryEntry(NamedTuple):
    """A name in a directory."""

    name: str
    is_directory: bool
    problem: str = ""
    """Why it cannot be read: a FIFO, a link to nothing. Empty for files and directories."""


class OpenSource(Source, Protocol):
    """A source that is closed when it is left."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None: ...


class Storage(Protocol):
    """What finding and reading files needs of the place where they lie."""

    def is_directory(self, path: Path) -> bool:
        """Whether a path is a directory or a file; `OSError` where nothing is there."""
        ...

    def entries(self, directory: Path) -> Iterable[DirectoryEntry]:
        """The names in a directory, in any order."""
        ...

    def identities(self, paths: Iterable[Path]) -> Iterator[Path]:
        """Of each file the one path, of those that lead to it, that it is known by."""
        ...

    def size(self, path: Path) -> int:
        """The bytes of a file."""
        ...

    def name_of(self, path: Path) -> str:
        """What a file is called outside of the storage: its URL, or its path."""
        ...

    def open(self, path: Path) -> OpenSource:
        """A file, to be read piece by piece."""
        ...


class LocalStorage:
    """The files of this machine; there is one of it, in other processes too."""

    def __reduce__(self) -> str:
        return "LOCAL"

    def is_directory(self, path: Path) -> bool:
        """See `Storage.is_directory`."""
        if path.is_dir():
            return True
        path.stat()  # a path that is not there is an OSError with its name
        if not path.is_file():
            raise KraftwireError(f"{path}: neither a file nor a directory")
        return False

    def entries(self, directory: Path) -> Iterable[DirectoryEntry]:
        """See `Storage.entries`."""
        with os.scandir(directory) as found:
            for entry in found:
                one = _entry(entry)
                if one is not None:
                    yield one

    def identities(self, paths: Iterable[Path]) -> Iterator[Path]:
        """See `Storage.identities`; a directory is resolved once for all files in it."""
        directories: dict[Path, Path] = {}
        for path in paths:
            directory = path.parent
            if path.is_symlink():
                yield path.resolve()
                continue
            if directory not in directories:
                directories[directory] = directory.resolve()
            yield directories[directory] / path.name

    def size(self, path: Path) -> int:
        """See `Storage.size`."""
        return path.stat().st_size

    def name_of(self, path: Path) -> str:
        """See `Storage.name_of`."""
        return str(path)

    def open(self, path: Path) -> FileSource:
        """See `Storage.open`."""
        return FileSource(path)


def _entry(entry: os.DirEntry[str]) -> DirectoryEntry | None:
    """A name in a directory of this machine; None if it was deleted meanwhile."""
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
