"""Applies the committed records to a replicated state machine.

All state of a machine comes from committed records, so every node computes the same state. A
machine gets each batch once, in log order. If the node has just started, or has fetched a snapshot
because it lagged too far, the machine first replaces its state by that snapshot.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from typing import Protocol

from kraftwire.log.batches.batch import Batch
from kraftwire.log.segments.segment import read_batches
from kraftwire.log.sources.source import BytesSource
from kraftwire.raft.metadata_log.batches import split_batches
from kraftwire.raft.metadata_log.log_state import BOOTSTRAP, OffsetAndEpoch
from kraftwire.raft.metadata_log.store import Store

_MIN_BATCH_LIMIT = 128 << 20
"""The least limit of a decompressed batch. A constant, so that all nodes skip the same records."""
_MAX_BYTES = 1 << 20
"""Bytes to apply before the loop runs other work; a single batch may be larger."""


class StateMachine(Protocol):
    """The state that every node replicates.

    An exception stops the node, since its state would differ from that of the others. The node
    would stop at the same record after each start, so a machine raises only for its own faults. It
    may skip a record that it cannot read, if every node skips that record.
    """

    def apply(self, batch: Batch) -> None:
        """Apply the records of a committed batch."""

    def load(self, batches: Iterable[Batch]) -> None:
        """Replace the state by that in a snapshot."""

    def snapshot(self) -> Iterable[bytes] | None:
        """Return the values of records that `load` restores; None if it takes no snapshots."""


class NoRecords:
    """The state machine of a node that only votes and keeps the log: it ignores all records."""

    def apply(self, batch: object) -> None:
        pass

    def load(self, batches: object) -> None:
        pass

    def snapshot(self) -> None:
        pass


class Applier:
    """Passes committed batches to a state machine; `applied` is the offset after the last one."""

    def __init__(
        self,
        store: Store,
        machine: StateMachine,
        *,
        controls: bool = False,
        max_batch_bytes: int = 0,
    ) -> None:
        """With `controls`, the machine gets control batches too.

        `max_batch_bytes` is the largest batch that the replica accepts.
        """
        self._store = store
        self._limit = max(max_batch_bytes, _MIN_BATCH_LIMIT)
        self._controls = controls
        self._waiters: list[tuple[int, asyncio.Future[None]]] = []
        self.machine = machine
        self.applied = 0
        self.bytes_since_snapshot = 0
        """Bytes of the log that were applied since the last snapshot was loaded or taken."""
        self.last_timestamp = 0
        """The timestamp of the last record that was applied, in ms."""

    def load(self, snapshot: OffsetAndEpoch) -> None:
        """Load a finished snapshot, unless it is that of a newly formatted directory.

        That one has nothing for a state machine: Kafka's first active controller writes its
        features to the log.
        """
        if snapshot == BOOTSTRAP:
            return
        data = self._store.read_snapshot(snapshot, 0, self._store.snapshot_size(snapshot))
        batches = read_batches(BytesSource(data, f"snapshot {snapshot}"), limit=self._limit)
        self.machine.load(batch for batch in batches if self._is_passed_on(batch))
        self.applied = snapshot.offset
        self.bytes_since_snapshot = 0

    def apply_some(self, end: int) -> bool:
        """Apply about a megabyte of the records before `end`; return whether there are more."""
        size = 0
        for batch in self._read(end):
            header = batch.header
            size += batch.unpacked_size()
            self.bytes_since_snapshot += header.size
            self.last_timestamp = max(self.last_timestamp, header.max_timestamp)
            if self._is_passed_on(batch):
                self.machine.apply(batch)
            self.applied = header.last_offset + 1
            if size >= _MAX_BYTES:
                break
        self._wake()
        return self.applied < end

    async def wait_for(self, offset: int) -> None:
        """Wait until the machine has all records before an offset."""
        if self.applied < offset:
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append((offset, waiter))
            await waiter

    def fail_waiters(self, error: Exception) -> None:
        for _, waiter in self._waiters:
            if not waiter.done():
                waiter.set_exception(error)
        self._waiters.clear()

    def _wake(self) -> None:
        for offset, waiter in self._waiters:
            if offset <= self.applied and not waiter.done():
                waiter.set_result(None)
        self._waiters = [one for one in self._waiters if one[0] > self.applied]

    def _is_passed_on(self, batch: Batch) -> bool:
        return self._controls or not batch.header.is_control

    def _read(self, end: int) -> Iterator[Batch]:
        if self.applied < end:
            for batch in split_batches(self._store.read(self.applied, _MAX_BYTES), self._limit):
                if self.applied <= batch.header.base_offset < end:
                    yield batch
