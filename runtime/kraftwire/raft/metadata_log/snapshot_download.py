"""A snapshot that comes piece by piece: how much there is of it, and what it says of the quorum.

Pieces end where they end, within a batch or not. Every batch is checked as soon as it is whole,
so that a log is not given up for a snapshot that cannot be read.
"""

from __future__ import annotations

from kraftwire.log.batch import Batch
from kraftwire.log.compression import DEFAULT_LIMIT
from kraftwire.log.errors import CorruptBatch
from kraftwire.raft.metadata_log.batches import MOST_CONTROL_BYTES, check_size, split_batches
from kraftwire.raft.metadata_log.log_state import OffsetAndEpoch


class Download:
    """A snapshot as far as it has come: `position` bytes of `size`."""

    def __init__(self, snapshot: OffsetAndEpoch, limit: int = DEFAULT_LIMIT) -> None:
        """Nothing of it has come; `limit` is how many bytes one batch may decompress to."""
        self.snapshot = snapshot
        self.refused: str | None = None
        """Why a batch was refused."""
        self._limit = limit
        self._control_bytes = 0
        self.position = 0
        self.size = 0
        self.is_doubtful = False
        """Whether the leader may not have it any more: it has not answered."""
        self.controls: list[Batch] = []
        """Its control batches."""
        self._rest = b""
        """The beginning of a batch whose end has not come."""

    @property
    def is_complete(self) -> bool:
        """Whether all has come."""
        return 0 < self.position == self.size

    def add(self, piece: bytes, size: int) -> bool:
        """Take in the next bytes of a snapshot of a size; whether they can be that."""
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
                    self._add_control(batch, unpacked)
        except CorruptBatch as error:
            self.refused = str(error)
            return False
        self._rest = data[whole:]
        self.position, self.size = end, size
        return not (self.is_complete and self._rest)

    def _add_control(self, batch: Batch, size: int) -> None:
        """Keep a control batch of `size` bytes; all of them are read when the last has come."""
        self._control_bytes += size
        if self._control_bytes > MOST_CONTROL_BYTES:
            reason = f"a snapshot with more than {MOST_CONTROL_BYTES} bytes of control records"
            raise CorruptBatch(batch.file, batch.header.position, reason)
        self.controls.append(batch)
