"""What a replicated state machine is to a node, and how it comes to what is committed.

A state machine has everything from committed records alone, so that every node has the same.
It is handed each batch once, in the order of the log; where a node begins, or was so far behind
that it got another's snapshot, that comes first, and what it had is forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from kraftwire.log.batch import Batch
from kraftwire.log.segment import read_batches
from kraftwire.log.source import BytesSource
from kraftwire.raft.metadata_log.batches import split_batches
from kraftwire.raft.metadata_log.log_state import BOOTSTRAP, OffsetAndEpoch
from kraftwire.raft.metadata_log.store import Store

_LEAST_LIMIT = 128 << 20
"""Of a batch; a constant, since a record that one node skips all others must skip too."""
_MOST_BYTES = 1 << 20
"""What is read at once, and so how long a node does nothing else, but for a larger batch."""


class StateMachine(Protocol):
    """See the module. An exception stops the node, since its state differs from the others'.

    The node would read the same record again at every start, and stop again. So a machine raises
    for faults of its own, and decides what a record means that it cannot read: to skip it is safe
    if every node skips it alike.
    """

    def apply(self, batch: Batch) -> None:
        """Take in the records of a committed batch."""
        ...

    def load(self, batches: Iterable[Batch]) -> None:
        """Begin anew with what a snapshot has."""
        ...

    def snapshot(self) -> Iterable[bytes] | None:
        """Values of records from which `load` makes what it has now; None for no snapshots."""
        ...


class Applier:
    """Hands a state machine what is committed; `applied` is the offset behind that."""

    def __init__(
        self,
        store: Store,
        machine: StateMachine,
        *,
        controls: bool = False,
        max_batch_bytes: int = 0,
    ) -> None:
        """With `controls`, control batches are passed on like others.

        `max_batch_bytes` is what the replica accepts.
        """
        self._store = store
        self._limit = max(max_batch_bytes, _LEAST_LIMIT)
        self._controls = controls
        self.machine = machine
        self.applied = 0
        self.bytes_since_snapshot = 0
        """Of the log, since the machine was last loaded, or `bytes_since_snapshot` set to 0."""
        self.last_timestamp = 0
        """Of the last record that was applied, in ms."""

    def load(self, snapshot: OffsetAndEpoch) -> None:
        """Begin anew with a finished snapshot.

        That of a directory that was just formatted has nothing of a state machine: what it says of
        Kafka's features, the first leader among Kafka's controllers puts into the log.
        """
        if snapshot == BOOTSTRAP:
            return
        data = self._store.read_snapshot(snapshot, 0, self._store.snapshot_size(snapshot))
        batches = read_batches(BytesSource(data, f"snapshot {snapshot}"), limit=self._limit)
        self.machine.load(batch for batch in batches if self._is_wanted(batch))
        self.applied = snapshot.offset
        self.bytes_since_snapshot = 0

    def apply_some(self, end: int) -> bool:
        """Apply some of the records up to an offset; returns whether there are more.

        They have about a megabyte, decompressed, unless one batch has more.
        """
        size = 0
        for batch in self._read(end):
            header = batch.header
            size += batch.unpacked_size()
            self.bytes_since_snapshot += header.size
            self.last_timestamp = max(self.last_timestamp, header.max_timestamp)
            if self._is_wanted(batch):
                self.machine.apply(batch)
            self.applied = header.last_offset + 1
            if size >= _MOST_BYTES:
                break
        return self.applied < end

    def _is_wanted(self, batch: Batch) -> bool:
        return self._controls or not batch.header.is_control

    def _read(self, end: int) -> Iterator[Batch]:
        if self.applied < end:
            for batch in split_batches(self._store.read(self.applied, _MOST_BYTES), self._limit):
                if self.applied <= batch.header.base_offset < end:
                    yield batch
