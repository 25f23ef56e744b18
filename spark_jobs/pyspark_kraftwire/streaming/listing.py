"""Lists the partitions below the paths of a stream, again only if directories changed.

A stream asks many times a second. On this machine, the modification time of a directory shows
whether entries were added or removed. It is trusted only after `_SETTLED_NS`, since another
change could fall into the same clock tick. Object stores and globs are listed on every call.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from kraftwire.log.directories.file_names import FileKind, parse_partition_name
from kraftwire.log.directories.partition import Partition, find_directories
from kraftwire_wire.errors import KraftwireError
from pyspark_kraftwire.options import Options
from pyspark_kraftwire.planning.plan import requested_partitions
from pyspark_kraftwire.streaming.offsets import Name

_SETTLED_NS = 2_000_000_000
_ATTEMPTS = 5
_PATIENCE, _PAUSE = 5.0, 0.05
"""Seconds to wait for a compaction, and between two listings."""
_GLOB = frozenset("*?[{")

Stamps = dict[Path, int]
"""Modification times of directories, in ns."""


class Listing:
    """The partitions that a stream follows, by topic and number."""

    def __init__(self, options: Options) -> None:
        """`options` have the paths, topics and partitions."""
        self._options = options
        self._found: dict[Name, Partition] = {}
        self._stamps: Stamps | None = None

    def partitions(self) -> dict[Name, Partition]:
        """Return the partitions that exist now; raise `KraftwireError` for one without a name."""
        if self._stamps is not None and _stamps(list(self._stamps)) == self._stamps:
            return self._found
        now = time.time_ns()
        stamps = self._directories()
        self._found = {_name_of(one): one for one in self._list()}
        is_settled = stamps is not None and now - max(stamps.values(), default=0) > _SETTLED_NS
        self._stamps = stamps if is_settled else None
        return self._found

    def settled_partitions(self, names: Collection[Name] | None = None) -> dict[Name, Partition]:
        """Wait until none of the named partitions is being compacted, and return all partitions.

        Without names, wait for all. A broker needs only milliseconds to replace segments.
        """
        deadline = time.monotonic() + _PATIENCE
        while True:
            found = self.partitions()
            unsettled = [
                one.label
                for name, one in found.items()
                if (names is None or name in names) and is_compacting(one)
            ]
            if not unsettled:
                return found
            if time.monotonic() > deadline:
                reason = "a broker stopped during compaction and left .swap segments"
                advice = "start the broker, which finishes this, or leave out the partition"
                raise KraftwireError(f"{', '.join(unsettled)}: {reason}; {advice}")
            time.sleep(_PAUSE)

    def _directories(self) -> Stamps | None:
        """Return the times of all directories; None if they do not show every change."""
        found = []
        for path in self._options.paths:
            if _GLOB & set(path) or not Path(path).is_dir():
                return None
            try:
                found += find_directories(Path(path))
            except (KraftwireError, OSError):
                return None
        return _stamps(found)

    def _list(self) -> list[Partition]:
        for _ in range(_ATTEMPTS - 1):
            try:
                return self._requested()
            except FileNotFoundError:  # a partition was deleted while it was listed
                continue
        return self._requested()

    def _requested(self) -> list[Partition]:
        try:
            return requested_partitions(self._options)
        except KraftwireError:
            paths = tuple(path for path in self._options.paths if not _is_empty(path))
            if len(paths) == len(self._options.paths):
                raise
            return requested_partitions(replace(self._options, paths=paths)) if paths else []


def is_compacting(partition: Partition) -> bool:
    """Whether a broker is replacing segments, some of which may already be gone."""
    return any(
        file.kind is FileKind.SEGMENT and file.name.state == "swap" for file in partition.files
    )


def _stamps(directories: list[Path]) -> Stamps | None:
    try:
        return {path: path.stat().st_mtime_ns for path in directories}
    except OSError:
        return None


def _is_empty(path: str) -> bool:
    """Whether a directory has only partition directories, or nothing, so far."""
    return Path(path).is_dir() and all(
        entry.is_dir() and parse_partition_name(entry.name) is not None
        for entry in os.scandir(path)
    )


def _name_of(partition: Partition) -> Name:
    if partition.segments[0].path.suffix == ".checkpoint":
        reason = "a snapshot does not grow; read it with spark.read"
        raise KraftwireError(f"{partition.segments[0].path}: {reason}")
    if partition.name is None:
        reason = "a stream needs directories named after partitions, like orders-0"
        raise KraftwireError(f"{partition.directory}: {reason}")
    return partition.name[:2]
