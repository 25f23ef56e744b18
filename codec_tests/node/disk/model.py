"""Random steps on stores, as a replica could take them."""

from __future__ import annotations

from kraftwire.log.batches.batch import Batch
from kraftwire.raft.metadata_log.log_state import LogState, OffsetAndEpoch
from kraftwire.raft.metadata_log.store import Store
from kraftwire.raft.state.election_state import Election
from kraftwire.raft.state.voters import ReplicaKey

from codec_tests.node.disk.disks import batch_at, snapshot_bytes, take_snapshot, voters_batch

KINDS = (
    *("append", "append", "append", "voters", "epoch", "flush", "vote"),
    *("truncate", "snapshot", "part", "clean", "install"),
)
"""What `Model.step` can do; what comes more often is there more often."""


class Model:
    """What a replica knows of its log, which decides what it may do to its stores."""

    def __init__(self, *stores: Store) -> None:
        self.stores = stores
        self.log = LogState()
        self.epoch = 1

    def append(self, batch: Batch) -> None:
        header = batch.header
        self.log.append(header.base_offset, header.last_offset, header.partition_leader_epoch)
        for store in self.stores:
            store.append(batch)

    def ends(self, first: int) -> list[int]:
        """Where batches end, from an offset on."""
        return [at for at in range(first, self.log.end + 1) if self.log.is_boundary(at)]

    def step(self, kind: str, number: int) -> None:
        getattr(self, f"do_{kind}", lambda _: None)(number)

    def do_append(self, number: int) -> None:
        self.append(batch_at(self.log.end, number + 1, self.epoch, timestamp=number))

    def do_voters(self, number: int) -> None:
        self.append(voters_batch(self.log.end, *range(number + 1), epoch=self.epoch))

    def do_epoch(self, number: int) -> None:
        self.epoch += number % 2 + 1

    def do_flush(self, number: int) -> None:
        for store in self.stores:
            store.flush()

    def do_vote(self, number: int) -> None:
        for store in self.stores:
            store.save_election(Election(self.epoch, None, ReplicaKey(number)), 1)

    def do_truncate(self, number: int) -> None:
        latest = self.log.latest_snapshot
        ends = self.ends(latest.offset if latest else self.log.start)
        self.log.truncate(ends[number % len(ends)])
        for store in self.stores:
            store.truncate(ends[number % len(ends)])

    def do_snapshot(self, number: int) -> None:
        latest = self.log.latest_snapshot
        ends = self.ends(latest.offset + 1 if latest else self.log.start + 1)
        if ends and (one := self.log.id_of(ends[number % len(ends)])) is not None:
            for store in self.stores:
                take_snapshot(store, one.offset, number, epoch=one.epoch)
            self.log.add_snapshot(one, len(snapshot_bytes(number, epoch=one.epoch)))

    def do_clean(self, number: int) -> None:
        if self.log.snapshots:
            snapshot = self.log.snapshots[number % len(self.log.snapshots)]
            self.log.clean(snapshot)
            for store in self.stores:
                store.clean(snapshot)

    def do_install(self, number: int) -> None:
        self.epoch += 1
        snapshot = OffsetAndEpoch(self.log.end + number, self.epoch)
        for store in self.stores:
            take_snapshot(store, snapshot.offset, number, epoch=snapshot.epoch)
            store.install(snapshot)
        self.log.install(snapshot, 1)

    def do_part(self, number: int) -> None:
        for store in self.stores:
            store.write_snapshot(OffsetAndEpoch(self.log.end + number, self.epoch), 0, b"part")
