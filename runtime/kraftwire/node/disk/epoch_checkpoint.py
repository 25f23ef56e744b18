"""The file `leader-epoch-checkpoint`: which epoch began at which offset of the log.

The batches have the same epochs. Only this file says where a log begins that was cleaned within a
segment: as in Kafka, the first entry then has that offset.
"""

from __future__ import annotations

from collections.abc import Iterable
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
        self._saved: bytes | None = None
        self._entries: list[EpochEntry] = []
        self._is_changed = False
        if self._path.exists():
            self._saved = self._path.read_bytes()
            try:
                self._entries = decode_leader_epochs(self._saved, str(self._path))
            except CorruptBatch:
                self._saved = None

    @property
    def first_offset(self) -> int | None:
        """The offset at which the first epoch begins; None without entries."""
        return self._entries[0].start_offset if self._entries else None

    def replace(self, entries: Iterable[EpochEntry]) -> None:
        self._entries = list(entries)
        self._is_changed = True

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
        """Let the log begin at an offset that it has records at."""
        before = [one for one in self._entries if one.start_offset <= offset]
        kept = self._entries[len(before) :]
        at_start = max(before, default=None, key=attrgetter("start_offset"))
        if at_start is not None:
            kept.insert(0, EpochEntry(at_start.epoch, offset))
        self.replace(kept)

    def save(self) -> None:
        """Make the entries durable."""
        if not self._is_changed:
            return
        data = encode_leader_epochs(self._entries)
        if data != self._saved:
            replace_file(self._path, data)
            self._saved = data
        self._is_changed = False
