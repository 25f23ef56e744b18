"""Copying the small files of a damaged log: those that can be read, as they are."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from kraftwire.log.directories.file_names import FileKind
from kraftwire.log.directories.partition import LogFile
from kraftwire.log.errors import CorruptBatch
from kraftwire.log.segments.segment import read_batches
from kraftwire.log.small_files.checkpoints import decode_offset_checkpoint
from kraftwire.log.small_files.properties import decode_meta_properties, decode_partition_metadata
from kraftwire.log.small_files.quorum_state import decode_quorum_state

_LOG_STARTS = "log-start-offset-checkpoint"
"""The one checkpoint to keep: what it says is below every offset that was saved."""


class Loss(NamedTuple):
    """Bytes of a file that were not kept, and the offsets that are lost with them."""

    file: str
    start: int
    end: int
    reason: str
    first_offset: int | None
    """The first offset lost; None where no offset is."""
    last_offset: int | None
    """The last one; None where no offset is, and where nothing tells how many follow."""


def copy_files(files: Iterable[LogFile], target: Path) -> Iterator[Loss]:
    """Copy what says whose a directory is, snapshots of metadata, and log start offsets."""
    for file in files:
        check = _CHECKS.get(file.kind)
        left_out = file.kind is FileKind.OFFSET_CHECKPOINT and file.path.name != _LOG_STARTS
        if check is None or left_out or not file.in_use:
            continue
        try:
            check(file)
            with file.path.open("rb") as source, (target / file.path.name).open("xb") as copy:
                shutil.copyfileobj(source, copy)
        except CorruptBatch as problem:
            size = file.size
            yield Loss(str(file.path), problem.position, size, problem.reason, None, None)


def write_new(path: Path, data: bytes) -> None:
    """Write a file that is not there yet."""
    with path.open("xb") as file:
        file.write(data)


def _check_snapshot(file: LogFile) -> None:
    with file.open() as source:
        for _ in read_batches(source):
            pass


_CHECKS: dict[FileKind, Callable[[LogFile], object]] = {
    FileKind.PARTITION_METADATA: lambda file: decode_partition_metadata(
        file.read(), str(file.path)
    ),
    FileKind.META_PROPERTIES: lambda file: decode_meta_properties(file.read(), str(file.path)),
    FileKind.QUORUM_STATE: lambda file: decode_quorum_state(file.read(), str(file.path)),
    FileKind.OFFSET_CHECKPOINT: lambda file: decode_offset_checkpoint(file.read(), str(file.path)),
    FileKind.SNAPSHOT: _check_snapshot,
}
