"""Stores on real directories, what is put into them, and what is seen of them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from kraftwire.log.batches.batch import Batch
from kraftwire.log.small_files.checkpoints import EpochEntry
from kraftwire.log.writers.snapshot_writer import SnapshotWriter
from kraftwire.node.disk.replica_disk import DiskSettings, DiskStore
from kraftwire.raft.metadata_log.batches import ControlRecord, control_batch, data_batch
from kraftwire.raft.metadata_log.history import HistoryEntry
from kraftwire.raft.metadata_log.log_state import OffsetAndEpoch
from kraftwire.raft.metadata_log.store import Recovered, Store
from kraftwire.raft.state.election_state import Election
from kraftwire.raft.state.voters import ReplicaKey, Voter, VoterSet, encode_voters
from kraftwire_messages.kafka import KRaftVersionRecord
from kraftwire_wire.records import ControlType

EPOCH = 3
PARTITION = "__cluster_metadata-0"
SMALL = DiskSettings(segment_bytes=400, index_interval=100, index_bytes=1000)
"""Segments of a few batches."""


def voters_of(*ids: int) -> VoterSet:
    return VoterSet(Voter(ReplicaKey(number)) for number in ids)


def voters_batch(offset: int, *ids: int, epoch: int = EPOCH) -> Batch:
    """A batch that says kraft.version and a voter set."""
    version = ControlRecord(ControlType.KRAFT_VERSION, KRaftVersionRecord(kraft_version=1))
    voters = ControlRecord(ControlType.KRAFT_VOTERS, encode_voters(voters_of(*ids)))
    return control_batch(offset, epoch, 0, [version, voters])


def batch_at(offset: int, count: int = 1, epoch: int = EPOCH, timestamp: int = 0) -> Batch:
    """A batch of records."""
    return data_batch(offset, epoch, timestamp, [b"value"] * count)


def snapshot_bytes(*ids: int, epoch: int = EPOCH) -> bytes:
    """A snapshot that says a voter set."""
    writer = SnapshotWriter(epoch)
    writer.begin(0, 0, voters=encode_voters(voters_of(*ids)))
    return writer.finish(0)


def take_snapshot(store: Store, offset: int, *ids: int, epoch: int = EPOCH) -> OffsetAndEpoch:
    """Write a snapshot in two pieces, and finish it."""
    snapshot = OffsetAndEpoch(offset, epoch)
    data = snapshot_bytes(*ids, epoch=epoch)
    store.write_snapshot(snapshot, 0, data[:50])
    store.write_snapshot(snapshot, 50, data[50:])
    store.finish_snapshot(snapshot)
    return snapshot


class Seen(NamedTuple):
    """What a store tells when it is opened, and all bytes of its log."""

    election: Election | None
    start: int
    end: int
    epochs: tuple[EpochEntry, ...]
    snapshots: tuple[OffsetAndEpoch, ...]
    voters: list[HistoryEntry[VoterSet]]
    log: bytes


def read_all(store: Store, start: int, end: int) -> bytes:
    """The batches of a log; a read may end before it has all."""
    data = b""
    offset = start
    while offset < end:
        data += store.read(offset, 1 << 20)
        at = 0
        while at < len(data):
            length = int.from_bytes(data[at + 8 : at + 12])
            offset = int.from_bytes(data[at : at + 8]) + int.from_bytes(data[at + 23 : at + 27]) + 1
            at += 12 + length
    return data


def seen(store: Store, found: Recovered) -> Seen:
    log = found.log
    return Seen(
        found.election,
        log.start,
        log.end,
        log.epochs,
        log.snapshots,
        found.control.voters.entries,
        read_all(store, log.start, log.end),
    )


@contextmanager
def opened(
    directory: Path, settings: DiskSettings = SMALL
) -> Iterator[tuple[DiskStore, Recovered]]:
    """A store that is open, and what it found."""
    store = DiskStore(directory / PARTITION, settings=settings)
    try:
        yield store, store.recover()
    finally:
        store.close()


def seen_in_copy(directory: Path, copy: Path, settings: DiskSettings = SMALL) -> Seen:
    """What a store finds in a copy of a directory, as a crash would leave it now."""
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(directory, copy)
    with opened(copy, settings) as (store, found):
        return seen(store, found)


def names_of(directory: Path) -> set[str]:
    """The files of the log."""
    return {path.name for path in (directory / PARTITION).iterdir()}
