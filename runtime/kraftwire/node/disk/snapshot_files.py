"""The snapshots of a metadata log: `.checkpoint` files, which end in `.part` until finished.

As in Kafka, a snapshot is renamed to `.deleted` before it is removed, so that a crash in between
cannot leave a partial snapshot that looks finished.
"""

from __future__ import annotations

from contextlib import ExitStack
from io import FileIO
from pathlib import Path

from kraftwire.log.directories.file_names import FileKind, parse_file_name, snapshot_name
from kraftwire.log.sources.source import FileSource
from kraftwire.node.disk.files import read_at, sync, sync_directory, write_at
from kraftwire.raft.metadata_log.log_state import OffsetAndEpoch

PART = ".part"
DELETED = ".deleted"


class SnapshotFiles:
    """Snapshots by their ids; files are open only while they are read or written."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._sizes: dict[OffsetAndEpoch, int] = {}
        self._unfinished: dict[OffsetAndEpoch, int] = {}
        """The number of bytes written so far."""
        for path in directory.iterdir():
            name = parse_file_name(path.name)
            if name is None or name.kind is not FileKind.SNAPSHOT or name.state:
                continue
            if name.offset is not None and name.epoch is not None:
                self._sizes[OffsetAndEpoch(name.offset, name.epoch)] = path.stat().st_size

    @property
    def ids(self) -> list[OffsetAndEpoch]:
        """The finished snapshots, in order."""
        return sorted(self._sizes)

    def open_all(self, opened: ExitStack) -> dict[OffsetAndEpoch, FileSource]:
        """Open all finished snapshots for reading; `opened` closes them."""
        return {one: opened.enter_context(FileSource(self._path(one))) for one in self._sizes}

    def write(self, snapshot: OffsetAndEpoch, position: int, data: bytes) -> None:
        if position == 0:
            self._unfinished[snapshot] = 0
        elif position != self._unfinished[snapshot]:
            size = self._unfinished[snapshot]
            raise ValueError(f"position {position} of a snapshot with {size} bytes")
        with FileIO(self._path(snapshot, PART), "r+" if position else "w+") as file:
            write_at(file, position, data)
        self._unfinished[snapshot] += len(data)

    def finish(self, snapshot: OffsetAndEpoch) -> None:
        size = self._unfinished.pop(snapshot)
        part = self._path(snapshot, PART)
        with FileIO(part, "r+") as file:
            sync(file)
        part.replace(self._path(snapshot))
        sync_directory(self._directory)
        self._sizes[snapshot] = size

    def read(self, snapshot: OffsetAndEpoch, position: int, max_bytes: int) -> bytes:
        size = min(max_bytes, self._sizes[snapshot] - position)
        with FileIO(self._path(snapshot)) as file:
            return read_at(file, position, max(size, 0))

    def size(self, snapshot: OffsetAndEpoch) -> int:
        return self._sizes[snapshot]

    def remove(self, snapshot: OffsetAndEpoch) -> None:
        """Remove a finished snapshot."""
        deleted = self._path(snapshot, DELETED)
        self._path(snapshot).replace(deleted)
        del self._sizes[snapshot]
        deleted.unlink()

    def remove_before(self, snapshot: OffsetAndEpoch) -> None:
        """Remove the earlier snapshots, finished or not."""
        for one in [one for one in self._sizes if one < snapshot]:
            self.remove(one)
        for one in [one for one in self._unfinished if one < snapshot]:
            del self._unfinished[one]
            self._path(one, PART).unlink(missing_ok=True)

    def _path(self, snapshot: OffsetAndEpoch, state: str = "") -> Path:
        return self._directory / (snapshot_name(snapshot.offset, snapshot.epoch) + state)
