"""Finding Kafka's files: below a data directory, in a partition directory, or a single one.

`find_files` accepts a path of any of these, or one above data directories (`search`), and returns
files that know their kind and partition. It reads only names, except for a single file whose
name has no offset, and leaves out files that are not Kafka's.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from operator import attrgetter
from pathlib import Path

from kraftwire.log.batches.header import HEADER, parse_sound_header
from kraftwire.log.directories.file_names import (
    FileKind,
    FileName,
    PartitionName,
    parse_file_name,
    parse_partition_name,
)
from kraftwire.log.directories.search import MAX_DEPTH, DirectoryListing, DirectorySearch
from kraftwire.log.errors import CorruptBatch, ProblemHandler, raise_problem
from kraftwire.log.segments.batch_order import BatchOrder
from kraftwire.log.sources.storage import LOCAL, OpenSource, Storage
from kraftwire_wire.errors import KraftwireError

METADATA_TOPIC = "__cluster_metadata"

_MAX_SMALL_FILE = 64 << 20


@dataclass(frozen=True, slots=True)
class LogFile:
    """A file of Kafka's: its path, its parsed name and its partition."""

    path: Path
    name: FileName
    partition: PartitionName | None = None
    """None in a data directory itself, and if the directory's name is not a partition's."""
    storage: Storage = LOCAL
    is_alone: bool = field(default=False, compare=False)
    """Whether the caller named this file itself; its neighbours are then unknown."""

    @property
    def kind(self) -> FileKind:
        return self.name.kind

    @property
    def topic(self) -> str | None:
        """The topic; snapshots of metadata and bootstrap.checkpoint have it by their kind."""
        if self.partition is not None:
            return self.partition.topic
        return METADATA_TOPIC if self.kind is FileKind.SNAPSHOT else None

    @property
    def partition_state(self) -> str:
        """`delete`, `future` or `stray`; empty in a partition in use, and outside of one."""
        return self.partition.state if self.partition else ""

    @property
    def base_offset(self) -> int:
        return self.name.offset or 0

    @property
    def in_use(self) -> bool:
        """Whether neither the file nor its partition is being added or removed."""
        return not self.name.state and not self.partition_state

    @property
    def full_name(self) -> str:
        """The file's name outside of its storage: its URL, or its path."""
        return self.storage.name_of(self.path)

    def open(self) -> OpenSource:
        return self.storage.open(self.path)

    @property
    def size(self) -> int:
        return self.storage.size(self.path)

    def read(self) -> bytes:
        """Return the content of a small file: a checkpoint, an index, a producer snapshot."""
        with self.open() as source:
            if source.size > _MAX_SMALL_FILE:
                reason = f"{source.size} bytes, too large for a file of {self.kind.value}"
                raise CorruptBatch(source.name, 0, reason)
            return source.read_at(0, source.size)


@dataclass
class Partition:
    """The files of one partition directory, or of another directory with Kafka's files."""

    directory: Path
    name: PartitionName | None
    files: list[LogFile] = field(default_factory=list)

    @property
    def topic(self) -> str | None:
        return self.name.topic if self.name else None

    @property
    def label(self) -> str:
        """The partition as people write it: `tea-0`."""
        return f"{self.name.topic}-{self.name.partition}" if self.name else str(self.directory)

    def of_kind(self, kind: FileKind) -> list[LogFile]:
        """Return the files of a kind that are in use, in the order of their offsets."""
        return list(self._by_kind.get(kind, {}).values())

    @cached_property
    def _by_kind(self) -> dict[FileKind, dict[int, LogFile]]:
        found: dict[FileKind, dict[int, LogFile]] = {}
        for file in sorted(self.files, key=attrgetter("base_offset")):
            if file.in_use:
                found.setdefault(file.kind, {})[file.base_offset] = file
        return found

    @property
    def segments(self) -> list[LogFile]:
        return self.of_kind(FileKind.SEGMENT)

    def end_of(self, segment: LogFile) -> int | None:
        """Return the first offset of the segment after one; None for the last."""
        return self._ends.get(segment.base_offset)

    @cached_property
    def _ends(self) -> dict[int, int]:
        bases = [segment.base_offset for segment in self.segments]
        return dict(pairwise(bases))

    def order(self, file: LogFile, start: int = 0, next_offset: int | None = None) -> BatchOrder:
        """Return the order of a file's batches up to position `start`.

        `next_offset` is the offset after the batch before `start`, if it is known. Snapshots and
        the metadata log have no gaps. Other logs may: a topic may have been compacted once.
        """
        if file.kind is FileKind.SNAPSHOT:
            return BatchOrder(next_offset=next_offset if start else 0, has_gaps=False)
        has_base = _OFFSET.match(file.path.name) is not None
        base = file.base_offset if has_base else None
        return BatchOrder(
            base,
            self.end_of(file) if file.in_use else None,
            next_offset=next_offset if start else base,
            has_gaps=file.topic != METADATA_TOPIC,
        )

    def beside(self, segment: LogFile, kind: FileKind) -> LogFile | None:
        """Return a segment's index, or another file with the same offset; None if there is none."""
        return self._by_kind.get(kind, {}).get(segment.base_offset)


def find_files(
    paths: Iterable[Path],
    storage: Storage = LOCAL,
    *,
    matched: Collection[Path] = (),
    report: ProblemHandler = raise_problem,
) -> list[LogFile]:
    """Return the files below the paths, each once, sorted by directory, partition and offset.

    Raise `KraftwireError` for a path without files of Kafka's, `OSError` for one that cannot be
    read. `matched` are the paths that a pattern found: such a directory may be empty, and a
    partition that is being deleted keeps that state. `report` gets a `KraftwireError` for each
    FIFO, device, directory or broken link with the name of a file of Kafka's, and for each
    directory that cannot be listed; by default, the first is raised.
    """
    found: dict[Path, LogFile] = {}
    reported = 0

    def count(problem: KraftwireError) -> None:
        nonlocal reported
        reported += 1
        report(problem)

    for path in paths:
        is_named, before = path not in matched, reported
        below = list(_files_at(path, storage, count, is_named=is_named))
        if not below and is_named and reported == before:
            where = f"in it or up to {MAX_DEPTH} levels below it; name the data directory"
            raise KraftwireError(f"{path}: no file of Kafka's, {where}")
        identities = storage.identities(file.path for file in below)
        for identity, file in zip(identities, below, strict=True):
            found.setdefault(identity, file)
    return list(found.values())


def find_partitions(
    paths: Iterable[Path],
    storage: Storage = LOCAL,
    *,
    matched: Collection[Path] = (),
    report: ProblemHandler = raise_problem,
) -> list[Partition]:
    """Return the files below the paths (see `find_files`), grouped by directory.

    A segment gets its own partition if nothing shows that its neighbours belong to the same log: a
    copy with another name, or a second one with the same first offset.
    """
    partitions: dict[Path, Partition] = {}
    taken: set[tuple[Path, int]] = set()
    for file in find_files(paths, storage, matched=matched, report=report):
        place = file.path.parent
        if file.kind is FileKind.SEGMENT and file.in_use:
            is_known = file.partition is not None or _OFFSET.match(file.path.name)
            if not is_known or (place, file.base_offset) in taken:
                place = file.path
            taken.add((place, file.base_offset))
        partition = partitions.setdefault(place, Partition(place, file.partition))
        partition.files.append(file)
    return list(partitions.values())


_OFFSET = re.compile(r"\d{20}(?!\d)")
"""The beginning of a segment's name, also in tiered storage."""

_BY_SUFFIX = {".log": FileKind.SEGMENT, ".checkpoint": FileKind.SNAPSHOT}
"""The kind of a file that the caller named, if its name is not one of a data directory's."""


def _files_at(
    path: Path, storage: Storage, report: ProblemHandler, *, is_named: bool
) -> Iterator[LogFile]:
    if not storage.is_directory(path):
        yield _named_file(path, storage, is_named=is_named)
        return
    search = DirectorySearch(path, storage, report)
    for listing in search.listings(_partition_of(path, is_named=is_named)):
        yield from _files_of(listing, storage)


def find_directories(path: Path) -> list[Path]:
    """Return the local directories that `find_files` lists at a path."""
    search = DirectorySearch(path, LOCAL, lambda _: None)
    return [listing.path for listing in search.listings(None)]


def _partition_of(directory: Path, *, is_named: bool) -> PartitionName | None:
    """Parse a directory's name; ignore the state of one that the caller named."""
    name = parse_partition_name(directory.absolute().name)
    return name._replace(state="") if name and is_named else name


def _named_file(path: Path, storage: Storage, *, is_named: bool) -> LogFile:
    name = parse_file_name(path.name)
    if name is None and path.suffix in _BY_SUFFIX:  # in tiered storage, or a copy
        digits = _OFFSET.match(path.name)
        offset = int(digits[0]) if digits else _first_offset(path, storage)
        name = FileName(_BY_SUFFIX[path.suffix], offset)
    if name is None:
        reason = "not a file name of a data directory; segments end with .log"
        raise KraftwireError(f"{path}: {reason}")
    partition = _partition_of(path.parent, is_named=is_named)
    return LogFile(path, name, partition, storage, is_alone=True)


def _first_offset(path: Path, storage: Storage) -> int:
    """Return the first offset in a file, whose name does not have it; 0 if it is unreadable."""
    with storage.open(path) as source:
        data = source.read_at(0, HEADER.size)
        header = parse_sound_header(data, 0, 0, source.size)
    return header.base_offset if header else 0


def _files_of(listing: DirectoryListing, storage: Storage) -> list[LogFile]:
    files = [
        LogFile(listing.path / text, name, listing.partition, storage)
        for text, name in listing.files
    ]
    return sorted(files, key=lambda file: (file.base_offset, file.kind.value, file.path.name))
