"""Locks a log directory, so that no two nodes write to it.

As in Kafka, it is an exclusive `fcntl` lock on the file `.lock`, which is never removed. Such a
lock has no effect within one process, and the system drops it when the process closes any handle of
the file. So a set remembers which directories this process has locked.
"""

from __future__ import annotations

import fcntl
from io import FileIO
from pathlib import Path
from typing import Self

from kraftwire.node.disk.files import naming
from kraftwire_wire.errors import KraftwireError

LOCK_FILE = ".lock"

_held: set[Path] = set()


class DirectoryInUse(KraftwireError):
    """Another node writes to a directory."""

    def __init__(self, directory: Path) -> None:
        reason = "a node is running on this directory: stop it, or configure another one"
        super().__init__(f"{directory / LOCK_FILE} is locked: {reason}")


class DirectoryLock:
    """A lock, held until `release`."""

    def __init__(self, directory: Path) -> None:
        """Raise `DirectoryInUse` if another node has the lock."""
        self._directory = directory.resolve()
        if self._directory in _held:
            raise DirectoryInUse(directory)
        path = directory / LOCK_FILE
        self._file = FileIO(path, "a+")
        try:
            with naming(path):
                fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            self._file.close()
            raise DirectoryInUse(directory) from None
        except OSError:
            self._file.close()
            raise
        _held.add(self._directory)

    def release(self) -> None:
        _held.discard(self._directory)
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
