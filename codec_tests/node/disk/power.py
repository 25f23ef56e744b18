"""A machine that loses its power: of each file there is what was synced, under synced names."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path
from typing import NamedTuple


class Power:
    """In the place of `os.fsync`, it notes what would be there without power."""

    def __init__(self) -> None:
        self._contents: dict[int, bytes] = {}
        self._names: dict[int, dict[str, int]] = {}
        """By the number of the directory: its names, and the numbers of their files."""
        self.moments: list[Moment] = []
        """What was durable after each call."""

    def fsync(self, descriptor: int) -> None:
        """Note what is durable from now on."""
        found = os.fstat(descriptor)
        if stat.S_ISDIR(found.st_mode):
            self._names[found.st_ino] = {
                name: os.stat(name, dir_fd=descriptor).st_ino for name in os.listdir(descriptor)
            }
        else:
            self._contents[found.st_ino] = Path(f"/dev/fd/{descriptor}").read_bytes()

        self.moments.append(Moment(dict(self._contents), dict(self._names)))

    @property
    def last(self) -> Moment:
        """What is durable now."""
        return self.moments[-1]


class Moment(NamedTuple):
    """What was durable once."""

    contents: dict[int, bytes]
    names: dict[int, dict[str, int]]

    def leave(self, directory: Path, copy: Path) -> None:
        """Make a directory of what is left of one."""
        shutil.rmtree(copy, ignore_errors=True)
        copy.mkdir(parents=True)
        for name, number in self.names.get(directory.stat().st_ino, {}).items():
            (copy / name).write_bytes(self.contents.get(number, b""))
