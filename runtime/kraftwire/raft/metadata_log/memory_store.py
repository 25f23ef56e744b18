"""A store in memory, with a disk's manners: what was not flushed may be lost in a crash.

It holds the bytes that a disk would, and opens by reading them.
"""

from __future__ import annotations

import random
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from contextlib import suppress

from kraftwire.log.batch import Batch
from kraftwire.log.source import BytesSource
from kraftwire.raft.metadata_log.control_state import ControlState
from kraftwire.raft.metadata_log.log_state import OffsetAndEpoch
from kraftwire.raft.metadata_log.recovery import recover_log
from kraftwire.raft.metadata_log.store import Recovered
from kraftwire.raft.state.election_state import Election, decode_election, encode_election
from kraftwire.raft.state.voters import NO_VOTERS, VoterSet
from kraftwire_messages import kafka
from kraftwire_wire.registry import Registry


class MemoryStore:
    """See `Store`; `crash` and the bytes themselves are for those who test."""

    def __init__(self, static: VoterSet = NO_VOTERS, registry: Registry = kafka.registry) -> None:
        """`static` and `registry` are those of `ControlState`."""
        self._static = static
        self._registry = registry
        self.election: bytes | None = None
        self.log = bytearray()
        self.snapshots: dict[OffsetAndEpoch, bytes] = {}
        self.unfinished: dict[OffsetAndEpoch, bytearray] = {}
        self._start = 0
        self._flushed = 0
        """Bytes of the log that a crash leaves."""
        self._offsets: list[int] = []
        self._positions: list[int] = []

    def recover(self) -> Recovered:
        """See `Store.recover`."""
        found = recover_log(
            BytesSource(bytes(self.log), "log"),
            self._start,
            {one: BytesSource(data, f"snapshot {one}") for one, data in self.snapshots.items()},
            ControlState(self._static, self._registry),
        )
        del self.log[found.size :]
        self._start = found.log.start
        self._flushed = found.size
        self._offsets = [batch.header.base_offset for batch in found.batches]
        self._positions = [batch.header.position for batch in found.batches]
        self.unfinished.clear()
        election = None if self.election is None else decode_election(self.election)
        return Recovered(election, found.log, found.control)

    def save_election(
        self, election: Election, kraft_version: int, voter_ids: Iterable[int] = ()
    ) -> None:
        """See `Store.save_election`."""
        self.election = encode_election(election, kraft_version, voter_ids)

    def append(self, batch: Batch) -> None:
        """See `Store.append`."""
        self._offsets.append(batch.header.base_offset)
        self._positions.append(len(self.log))
        self.log += batch.data

    def flush(self) -> None:
        """See `Store.flush`."""
        self._flushed = len(self.log)

    def truncate(self, offset: int) -> None:
        """See `Store.truncate`."""
        place = bisect_left(self._offsets, offset)
        if place < len(self._offsets):
            del self.log[self._positions[place] :]
            del self._offsets[place:], self._positions[place:]
            self._flushed = len(self.log)

    def read(self, offset: int, max_bytes: int) -> bytes:
        """See `Store.read`."""
        place = bisect_right(self._offsets, offset) - 1
        begin, end = self._positions[place], len(self.log)
        if begin + max_bytes < end and place + 1 < len(self._positions):
            last = bisect_right(self._positions, begin + max_bytes) - 1
            end = self._positions[max(last, place + 1)]
        return bytes(self.log[begin:end])

    def write_snapshot(self, snapshot: OffsetAndEpoch, position: int, data: bytes) -> None:
        """See `Store.write_snapshot`."""
        if position == 0:
            self.unfinished[snapshot] = bytearray()
        part = self.unfinished[snapshot]
        if position != len(part):
            raise ValueError(f"position {position} of a snapshot with {len(part)} bytes")
        part += data

    def finish_snapshot(self, snapshot: OffsetAndEpoch) -> None:
        """See `Store.finish_snapshot`."""
        self.snapshots[snapshot] = bytes(self.unfinished.pop(snapshot))

    def read_snapshot(self, snapshot: OffsetAndEpoch, position: int, max_bytes: int) -> bytes:
        """See `Store.read_snapshot`."""
        return self.snapshots[snapshot][position : position + max_bytes]

    def snapshot_size(self, snapshot: OffsetAndEpoch) -> int:
        """See `Store.snapshot_size`."""
        return len(self.snapshots[snapshot])

    def install(self, snapshot: OffsetAndEpoch) -> None:
        """See `Store.install`."""
        self.log.clear()
        self._offsets.clear()
        self._positions.clear()
        self._flushed = 0
        self._start = snapshot.offset
        self._forget_snapshots(snapshot)

    def clean(self, snapshot: OffsetAndEpoch) -> None:
        """See `Store.clean`."""
        self._forget_snapshots(snapshot)
        if snapshot.offset <= self._start:
            return
        self._start = snapshot.offset
        place = bisect_left(self._offsets, snapshot.offset)
        gone = self._positions[place] if place < len(self._positions) else len(self.log)
        del self.log[:gone]
        self._flushed = max(self._flushed - gone, 0)
        self._offsets = self._offsets[place:]
        self._positions = [position - gone for position in self._positions[place:]]

    def _forget_snapshots(self, before: OffsetAndEpoch) -> None:
        for found in (self.snapshots, self.unfinished):
            for snapshot in [one for one in found if one < before]:
                del found[snapshot]

    @property
    def unflushed(self) -> int:
        """Bytes of the log that a crash may take."""
        return len(self.log) - self._flushed

    def copy(self) -> MemoryStore:
        """Another disk with the same bytes."""
        copy = MemoryStore(self._static, self._registry)
        copy.election, copy.log, copy._start = self.election, bytearray(self.log), self._start
        copy.snapshots = dict(self.snapshots)
        return copy

    def crash(self, chance: random.Random) -> None:
        """Lose what a crash may take: of unflushed bytes any number, from the end on."""
        del self.log[self._flushed + chance.randint(0, self.unflushed) :]
        self.unfinished.clear()

    def damage(self, chance: random.Random) -> None:
        """Flip a bit of the log."""
        with suppress(ValueError):  # an empty log has none
            self.log[chance.randrange(len(self.log))] ^= 1 << chance.randrange(8)
