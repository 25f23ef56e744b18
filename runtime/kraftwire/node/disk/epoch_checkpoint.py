"""The file `leader-epoch-checkpoint`: which epoch began at which offset of the log.

The batches have the same epochs. But if a log was cleaned up to the middle of a segment, only this
file shows where the log begins: as in Kafka, its first entry then has that offset.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from operator import attrgetter
from pathlib import Path

from kraftwire.log.errors import CorruptBatch
from kraftwire.log.small_files.checkpoints import (
    EpochEntry,
    decode_leader_epochs,
    encode_leader_epochs,
)
from kraftwire.node.disk.files import replace_file

FILE_NAME = "leader-epoch-checkpoint"


class EpochCheckpoint:
    """The entries; `save` writes them if they have changed."""

    def __init__(self, directory: Path) -> None:
        """Read the file; a damaged one counts as missing, since the batches have its content."""
        self._path = directory / FILE_NAME
        self._entries: list[EpochEntry] = []
        self._is_changed = True
        with suppress(FileNotFoundError, CorruptBatch):
            self._entries = decode_leader_epochs(self._path.read_bytes(), str(self._path))
            self._is_changed = False

    @property
    def first_offset(self) -> int | None:
        """The offset at which the first epoch begins; None without entries."""
        return self._entries[0].start_offset if self._entries else None

    def replace(self, entries: Iterable[EpochEntry]) -> None:
        entries = list(entries)
        self._is_changed |= entries != self._entries
        self._entries = entries

    def append(self, epoch: int, offset: int) -> None:
        """Add the epoch of a batch that was appended to the log."""
        if not self._entries or self._entries[-1].epoch < epoch:
            self._entries.append(EpochEntry(epoch, offset))
            self._is_changed = True

    def truncate(self, offset: int) -> None:
        """Remove the epochs that begin at an offset or after it."""
        while self._entries and self._entries[-1].start_offset >= offset:
            del self._entries[-1]
            self._is_changed = True

    def clean(self, offset: int) -> None:
        """Make the log begin at an offset for which it has a record."""
        before = [one for one in self._entries if one.start_offset <= offset]
        kept = self._entries[len(before) :]
        at_start = max(before, default=None, key=attrgetter("start_offset"))
        if at_start is not None:
            kept.insert(0, EpochEntry(at_start.epoch, offset))
        self.replace(kept)

    def save(self) -> None:
        """Make the entries durable."""
        if self._is_changed:
            replace_file(self._path, encode_leader_epochs(self._entries))
            self._is_changed = False
