"""Finding the snapshots and segments of one metadata log.

The path is a data directory or a directory above one, its `__cluster_metadata-0` (or a copy of that
under another name), a single snapshot, or a single segment.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kraftwire.log.directories.file_names import FileKind, parse_partition_name
from kraftwire.log.directories.partition import METADATA_TOPIC, LogFile, Partition, find_partitions
from kraftwire.log.errors import CorruptBatch
from kraftwire.log.small_files.properties import MetaProperties, decode_meta_properties
from kraftwire.metadata.errors import ProblemHandler, raise_problem
from kraftwire_wire.errors import KraftwireError

_DIRECTORY = f"{METADATA_TOPIC}-0"


@dataclass(frozen=True, slots=True)
class MetadataSource:
    """The files of one metadata log."""

    path: Path
    partition: Partition
    properties: MetaProperties | None
    """The data directory's `meta.properties`, if it exists."""

    @property
    def snapshots(self) -> list[LogFile]:
        """The snapshots, oldest first."""
        return snapshots_of(self.partition)

    @property
    def size(self) -> int:
        return sum(segment.size for segment in self.segments)

    @property
    def segments(self) -> list[LogFile]:
        return self.partition.segments


def snapshots_of(partition: Partition) -> list[LogFile]:
    """Return the snapshots of a metadata partition, oldest first."""
    found = partition.of_kind(FileKind.SNAPSHOT)
    return sorted(found, key=lambda file: (file.base_offset, file.name.epoch or 0))


def find_metadata(path: Path, report: ProblemHandler = raise_problem) -> MetadataSource:
    """Return the metadata log at a path; raise `KraftwireError` if it has none, or several."""
    inner = path / _DIRECTORY
    at = inner if inner.is_dir() else path
    directory = at if at.is_dir() else at.parent
    found = find_partitions([at], report=report)
    name = parse_partition_name(directory.absolute().name)
    files = [file for one in found for file in one.files if file.path.parent == directory]
    partition = Partition(directory, name, files)
    below: list[Partition] = []
    is_here = _has_metadata(partition)
    if not is_here:
        below = [one for one in found if one.topic == METADATA_TOPIC and _has_metadata(one)]
    if name is not None and name.topic != METADATA_TOPIC and not below:
        raise KraftwireError(f"{path}: files of the topic {name.topic}, not {METADATA_TOPIC}")
    if not is_here:
        partition = _only(path, below)
    return MetadataSource(path, partition, _properties(partition.directory, report))


def _has_metadata(partition: Partition) -> bool:
    return bool(partition.segments or partition.of_kind(FileKind.SNAPSHOT))


def _only(path: Path, partitions: list[Partition]) -> Partition:
    if not partitions:
        raise KraftwireError(f"{path}: contains neither {_DIRECTORY} nor a snapshot of metadata")
    if len(partitions) > 1:
        places = ", ".join(str(one.directory.parent) for one in partitions)
        raise KraftwireError(f"{path}: several metadata logs; name the data directory: {places}")
    return partitions[0]


def _properties(directory: Path, report: ProblemHandler) -> MetaProperties | None:
    """Read `meta.properties` of the data directory above `directory`, or of `directory` itself."""
    for place in (directory.absolute().parent, directory):
        file = place / "meta.properties"
        if file.is_file():
            try:
                return decode_meta_properties(file.read_bytes(), str(file))
            except CorruptBatch as error:
                report(error)
    return None
