"""Listing the directories that contain Kafka's files, at a path and below it.

A path may be a partition directory, a data directory, or a directory above data directories,
such as the root of a volume. A data directory has Kafka's files of its own or partitions with
files; directories below its partitions are not searched. Any other directory is searched for
data directories, at most `MAX_DEPTH` levels deep and over `MAX_SEARCHED` names that are not
Kafka's.

A directory counts as a partition if it contains segments, whatever its name. A name such as
`kafka-logs-1` does not make a data directory a partition: its files decide.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kraftwire.log.directories.file_names import (
    FileKind,
    FileName,
    PartitionName,
    parse_file_name,
    parse_partition_name,
)
from kraftwire.log.errors import ProblemHandler, UnreadableFile
from kraftwire.log.sources.storage import Storage
from kraftwire_wire.errors import KraftwireError

MAX_DEPTH = 3
"""How many levels below a path its data directories may be."""
MAX_SEARCHED = 100_000
"""How many names that are not Kafka's a search reads below a path."""

_OF_DATA_DIRECTORIES = frozenset(
    {FileKind.META_PROPERTIES, FileKind.OFFSET_CHECKPOINT, FileKind.CLEAN_SHUTDOWN, FileKind.LOCK}
)
_OF_PARTITIONS = frozenset(FileKind) - _OF_DATA_DIRECTORIES
_LOST_AND_FOUND = "lost+found"
"""Every ext4 volume has it, readable only to root; Kafka stores nothing in it."""


@dataclass(frozen=True, slots=True)
class DirectoryListing:
    """Kafka's files in a directory, and the names of its subdirectories."""

    path: Path
    partition: PartitionName | None
    """The directory's parsed name, unless it is a data directory."""
    files: list[tuple[str, FileName]] = field(default_factory=list)
    directories: list[str] = field(default_factory=list)

    def has(self, kinds: frozenset[FileKind]) -> bool:
        return any(name.kind in kinds for _, name in self.files)

    @property
    def is_data_directory(self) -> bool:
        return self.has(_OF_DATA_DIRECTORIES)

    @property
    def is_partition(self) -> bool:
        """Whether it has files of a partition, and is not a data directory."""
        return self.has(_OF_PARTITIONS) and not self.is_data_directory


class DirectorySearch:
    """The search at one path; use it once."""

    def __init__(self, root: Path, storage: Storage, report: ProblemHandler) -> None:
        self._root = root
        self._storage = storage
        self._report = report
        self._left = MAX_SEARCHED
        self._visited: set[Path] = set()
        self._found: list[Path] = []

    def listings(self, partition: PartitionName | None) -> Iterator[DirectoryListing]:
        """Yield the listing of the path, then those below it; `partition` is its parsed name."""
        own = self._list(self._root, partition, is_bounded=False)
        if own.is_partition and own.partition is not None:
            yield own
            return
        yield from self._below(own, next(self._storage.identities([self._root])), MAX_DEPTH)

    def _below(
        self, listing: DirectoryListing, identity: Path, depth: int
    ) -> Iterator[DirectoryListing]:
        """Yield a directory that is not a partition, and those below it."""
        self._visited.add(identity)
        yield listing
        if depth == 0:
            return
        below = sorted(self._subdirectories(listing), key=_sort_key)
        is_data = bool(listing.files) or any(one.is_partition and one.partition for one, _ in below)
        if is_data:
            self._found.append(listing.path)
        for one, known_as in below:
            if not one.is_data_directory and (is_data or one.is_partition):
                yield one
            elif known_as not in self._visited:
                yield from self._below(one, known_as, depth - 1)

    def _subdirectories(self, listing: DirectoryListing) -> Iterator[tuple[DirectoryListing, Path]]:
        """Yield the listings of the subdirectories, each with its canonical path."""
        paths = [listing.path / name for name in listing.directories]
        for path, identity in zip(paths, self._storage.identities(paths), strict=True):
            one = None if identity in self._visited else self._enter(path)
            if one is not None:
                yield one, identity

    def _enter(self, path: Path) -> DirectoryListing | None:
        """Return the listing of a directory; None if permission is denied."""
        try:
            return self._list(path, parse_partition_name(path.name), is_bounded=True)
        except PermissionError as error:
            if path.name != _LOST_AND_FOUND:
                name = self._storage.name_of(path)
                self._report(UnreadableFile(name, f"cannot be listed: {error.strerror}"))
            return None

    def _list(
        self, path: Path, partition: PartitionName | None, *, is_bounded: bool
    ) -> DirectoryListing:
        listing = DirectoryListing(path, partition)
        for entry in self._storage.entries(path):
            name = parse_file_name(entry.name)
            if name is not None and (entry.problem or entry.is_directory):
                reason = entry.problem or "a directory, not a regular file"
                self._report(UnreadableFile(self._storage.name_of(path / entry.name), reason))
            elif name is not None:
                listing.files.append((entry.name, name))
            elif entry.is_directory:
                listing.directories.append(entry.name)
            if name is None and is_bounded:
                self._count()
        if listing.is_data_directory and partition is not None:
            return DirectoryListing(path, None, listing.files, listing.directories)
        return listing

    def _count(self) -> None:
        self._left -= 1
        if self._left < 0:
            seen = ", ".join(map(str, self._found)) or "none so far"
            raise KraftwireError(
                f"{self._root}: more than {MAX_SEARCHED} names below it, too many to search; "
                f"name the data directories (found: {seen})"
            )


def _sort_key(found: tuple[DirectoryListing, Path]) -> tuple[bool, PartitionName, str]:
    """Sort partitions by topic and number, before directories with other names."""
    listing, _ = found
    name = listing.partition
    return name is None, name or PartitionName("", 0), listing.path.name
