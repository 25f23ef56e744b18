"""Copying the small files of a damaged log, as far as they can be read."""

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
"""The only checkpoint to copy: its offsets stay valid, being below every saved offset."""


class Loss(NamedTuple):
    """Bytes of a file that were not kept, and the offsets that are lost with them."""

    file: str
    start: int
    end: int
    reason: str
    first_offset: int | None
    """The first lost offset; None if no offset is lost."""
    last_offset: int | None
    """The last one; None if no offset is lost, or the end is unknown."""


def copy_files(files: Iterable[LogFile], target: Path) -> Iterator[Loss]:
    """Copy the files that identify a directory, snapshots of metadata, and log start offsets."""
    for file in files:
        left_out = file.kind is FileKind.OFFSET_CHECKPOINT and file.path.name != _LOG_STARTS
        if file.kind not in _COPIED or left_out or not file.in_use:
            continue
        try:
            _check(file)
            with file.path.open("rb") as source, (target / file.path.name).open("xb") as copy:
                shutil.copyfileobj(source, copy)
        except CorruptBatch as problem:
            size = file.size
            yield Loss(str(file.path), problem.position, size, problem.reason, None, None)


def write_new(path: Path, data: bytes) -> None:
    """Write a file; raise `FileExistsError` if it exists."""
    with path.open("xb") as file:
        file.write(data)


_DECODERS: dict[FileKind, Callable[[bytes, str], object]] = {
    FileKind.PARTITION_METADATA: decode_partition_metadata,
    FileKind.META_PROPERTIES: decode_meta_properties,
    FileKind.QUORUM_STATE: decode_quorum_state,
    FileKind.OFFSET_CHECKPOINT: decode_offset_checkpoint,
}
_COPIED = {*_DECODERS, FileKind.SNAPSHOT}


def _check(file: LogFile) -> None:
    if file.kind is FileKind.SNAPSHOT:
        with file.open() as source:
            for _ in read_batches(source):
                pass
    else:
        _DECODERS[file.kind](file.read(), str(file.path))
