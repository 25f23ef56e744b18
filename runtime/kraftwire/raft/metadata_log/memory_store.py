"""A store in memory, which keeps the bytes of a disk and loses the unflushed ones in a crash."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from random import Random

from kraftwire.log.batches.batch import Batch
from kraftwire.log.sources.source import BytesSource
from kraftwire.raft.metadata_log.control_state import ControlState
from kraftwire.raft.metadata_log.log_state import OffsetAndEpoch
from kraftwire.raft.metadata_log.recovery import OneSource, recover_batches
from kraftwire.raft.metadata_log.store import Recovered
from kraftwire.raft.state.election_state import Election, decode_election, encode_election
from kraftwire.raft.state.voters import NO_VOTERS, VoterSet
from kraftwire_messages import kafka
from kraftwire_wire.registry import Registry


class MemoryStore:
    """Implements `Store`; `copy`, `crash` and the bytes are for tests."""

    def __init__(self, static: VoterSet = NO_VOTERS, registry: Registry = kafka.registry) -> None:
        """`static` and `registry` are arguments of `ControlState`."""
        self._static = static
        self._registry = registry
        self.election: bytes | None = None
        self.log = bytearray()
        self.snapshots: dict[OffsetAndEpoch, bytes] = {}
        self.unfinished: dict[OffsetAndEpoch, bytearray] = {}
        self._start = 0
        self._flushed = 0
        """How many bytes of the log survive a crash."""
        self._offsets: list[int] = []
        self._positions: list[int] = []

    def recover(self) -> Recovered:
        stored = OneSource(BytesSource(bytes(self.log), "log"))
        snapshots = {
            one: BytesSource(data, f"snapshot {one}") for one, data in self.snapshots.items()
        }
        control = ControlState(self._static, self._registry)
        log = recover_batches(stored, self._start, snapshots, control)
        batches = stored.batches if log.start < log.end else []
        self._start = log.start
        self._flushed = batches[-1].header.end if batches else 0
        del self.log[self._flushed :]
        self._offsets = [batch.header.base_offset for batch in batches]
        self._positions = [batch.header.position for batch in batches]
        self.unfinished.clear()
        election = None if self.election is None else decode_election(self.election)
        return Recovered(election, log, control)

    def save_election(
        self, election: Election, kraft_version: int, voter_ids: Iterable[int] = ()
    ) -> None:
        self.election = encode_election(election, kraft_version, voter_ids)

    def append(self, batch: Batch) -> None:
        self._offsets.append(batch.header.base_offset)
        self._positions.append(len(self.log))
        self.log += batch.data

    def flush(self) -> None:
        self._flushed = len(self.log)

    def truncate(self, offset: int) -> None:
        place = bisect_left(self._offsets, offset)
        if place < len(self._offsets):
            del self.log[self._positions[place] :]
            del self._offsets[place:], self._positions[place:]
            self._flushed = len(self.log)

    def read(self, offset: int, max_bytes: int) -> bytes:
        place = bisect_right(self._offsets, offset) - 1
        begin, end = self._positions[place], len(self.log)
        if begin + max_bytes < end and place + 1 < len(self._positions):
            last = bisect_right(self._positions, begin + max_bytes) - 1
            end = self._positions[max(last, place + 1)]
        return bytes(self.log[begin:end])

    def write_snapshot(self, snapshot: OffsetAndEpoch, position: int, data: bytes) -> None:
        if position == 0:
            self.unfinished[snapshot] = bytearray()
        part = self.unfinished[snapshot]
        if position != len(part):
            raise ValueError(f"position {position} of a snapshot with {len(part)} bytes")
        part += data

    def finish_snapshot(self, snapshot: OffsetAndEpoch) -> None:
        self.snapshots[snapshot] = bytes(self.unfinished.pop(snapshot))

    def read_snapshot(self, snapshot: OffsetAndEpoch, position: int, max_bytes: int) -> bytes:
        return self.snapshots[snapshot][position : position + max_bytes]

    def snapshot_size(self, snapshot: OffsetAndEpoch) -> int:
        return len(self.snapshots[snapshot])

    def install(self, snapshot: OffsetAndEpoch) -> None:
        self.log.clear()
        self._offsets.clear()
        self._positions.clear()
        self._flushed = 0
        self._start = snapshot.offset
        self._forget_snapshots(snapshot)

    def clean(self, snapshot: OffsetAndEpoch) -> None:
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
        """How many bytes of the log a crash may lose."""
        return len(self.log) - self._flushed

    def copy(self) -> MemoryStore:
        copy = MemoryStore(self._static, self._registry)
        copy.election, copy.log, copy._start = self.election, bytearray(self.log), self._start
        copy.snapshots = dict(self.snapshots)
        return copy

    def crash(self, rng: Random) -> None:
        del self.log[self._flushed + rng.randint(0, self.unflushed) :]
        self.unfinished.clear()
