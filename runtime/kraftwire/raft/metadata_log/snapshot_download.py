"""A snapshot that arrives in pieces: its received size, and its control batches.

A piece may end within a batch. Each batch is checked as soon as it is complete, so that a replica
does not replace its log by a snapshot that cannot be read.
"""

from __future__ import annotations

from kraftwire.log.batches.batch import Batch
from kraftwire.log.batches.compression import DEFAULT_LIMIT
from kraftwire.log.errors import CorruptBatch
from kraftwire.raft.metadata_log.batches import MOST_CONTROL_BYTES, check_size, split_batches
from kraftwire.raft.metadata_log.log_state import OffsetAndEpoch


class SnapshotDownload:
    """The first `position` bytes of a snapshot that has `size` bytes."""

    def __init__(self, snapshot: OffsetAndEpoch, limit: int = DEFAULT_LIMIT) -> None:
        """`limit` is how many bytes one batch may decompress to."""
        self.snapshot = snapshot
        self.refused: str | None = None
        self._limit = limit
        self._control_bytes = 0
        self.position = 0
        self.size = 0
        self.is_doubtful = False
        """Whether the leader may have removed it: a request for a piece got no answer."""
        self.controls: list[Batch] = []
        """The control batches, to be applied when the snapshot is complete."""
        self._rest = b""
        """The start of an incomplete batch."""

    @property
    def is_complete(self) -> bool:
        return 0 < self.position == self.size

    def add(self, piece: bytes, size: int) -> bool:
        """Add the next bytes of a snapshot of `size` bytes; return False if they cannot be."""
        end = self.position + len(piece)
        if not piece or end > size or (self.position and size != self.size):
            return False
        data = self._rest + piece
        whole = 0
        try:
            for batch in split_batches(data, self._limit):
                whole = batch.header.end
                unpacked = check_size(batch)
                if batch.header.is_control:
                    self._control_bytes += unpacked
                    self.controls.append(batch)
                if self._control_bytes > MOST_CONTROL_BYTES:
                    reason = (
                        f"more than {MOST_CONTROL_BYTES} bytes of control records in a snapshot"
                    )
                    raise CorruptBatch(batch.file, batch.header.position, reason)
        except CorruptBatch as error:
            self.refused = str(error)
            return False
        self._rest = data[whole:]
        self.position, self.size = end, size
        return not (self.is_complete and self._rest)
