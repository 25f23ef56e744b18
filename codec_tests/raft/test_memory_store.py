"""A store in memory, beside a list of batches: reads, crashes, snapshots, opening again."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftwire.log.batches.batch import Batch
from kraftwire.log.errors import CorruptBatch
from kraftwire.log.writers.snapshot_writer import SnapshotWriter
from kraftwire.raft.metadata_log.batches import ControlRecord, control_batch, data_batch
from kraftwire.raft.metadata_log.log_state import OffsetAndEpoch
from kraftwire.raft.metadata_log.memory_store import MemoryStore
from kraftwire.raft.state.election_state import Election
from kraftwire.raft.state.voters import ReplicaKey, Voter, VoterSet, encode_voters
from kraftwire_messages import kip_856
from kraftwire_messages.kafka import KRaftVersionRecord
from kraftwire_wire.records import ControlType

EPOCH = 3


def voters_of(*ids: int) -> VoterSet:
    return VoterSet(Voter(ReplicaKey(number)) for number in ids)


def voters_batch(offset: int, *ids: int) -> Batch:
    """A batch that says kraft.version and a voter set."""
    version = ControlRecord(ControlType.KRAFT_VERSION, KRaftVersionRecord(kraft_version=1))
    voters = ControlRecord(ControlType.KRAFT_VOTERS, encode_voters(voters_of(*ids)))
    return control_batch(offset, EPOCH, 0, [version, voters])


def snapshot_bytes(*ids: int) -> bytes:
    """A snapshot that says a voter set."""
    writer = SnapshotWriter(EPOCH)
    writer.begin(0, 0, voters=encode_voters(voters_of(*ids)))
    return writer.finish(0)


def take_snapshot(store: MemoryStore, offset: int, *ids: int, epoch: int = EPOCH) -> OffsetAndEpoch:
    snapshot = OffsetAndEpoch(offset, epoch)
    store.write_snapshot(snapshot, 0, snapshot_bytes(*ids))
    store.finish_snapshot(snapshot)
    return snapshot


def test_what_was_flushed_is_there_after_a_crash() -> None:
    store = MemoryStore(voters_of(1))
    store.save_election(Election(EPOCH, 2, ReplicaKey(2)), 1)
    store.append(voters_batch(0, 1, 2))
    store.flush()
    store.append(data_batch(2, EPOCH, 0, [b"lost"]))
    store.crash(random.Random(1))
    found = store.recover()
    assert found.election == Election(EPOCH, 2, ReplicaKey(2))
    assert (found.log.start, found.log.end, found.log.last_epoch) == (0, 2, EPOCH)
    assert found.control.voters.last == voters_of(1, 2)
    assert found.control.voters.before(1) == voters_of(1)
    assert found.control.kraft_version.last == 1


def test_damage_before_the_end_is_not_taken_for_a_torn_tail() -> None:
    store = MemoryStore()
    for offset in range(3):
        store.append(data_batch(offset, EPOCH, 0, [b"value"]))
    store.log[70] ^= 1
    with pytest.raises(CorruptBatch, match="batches follow it; give the replica an empty"):
        store.recover()


def test_an_installation_that_was_cut_off_is_done_at_the_next_start() -> None:
    store = MemoryStore()
    store.append(data_batch(0, 1, 0, [b"old"]))
    snapshot = take_snapshot(store, 50, 4, 5)
    found = store.recover()
    assert (found.log.start, found.log.end, found.log.snapshots) == (50, 50, (snapshot,))
    assert found.control.voters.last == voters_of(4, 5)
    assert bytes(store.log) == b""


def test_a_snapshot_of_a_later_epoch_takes_the_place_of_a_longer_log() -> None:
    store = MemoryStore()
    store.append(data_batch(0, EPOCH, 0, [b"never committed"] * 9))
    snapshot = take_snapshot(store, 5, 4, epoch=EPOCH + 1)
    found = store.recover().log
    assert (found.start, found.end, found.snapshots) == (5, 5, (snapshot,))


def test_snapshots_are_found_with_their_sizes() -> None:
    store = MemoryStore()
    for offset in range(3):
        store.append(data_batch(offset, EPOCH, 0, [b"value"]))
    first, second = take_snapshot(store, 1), take_snapshot(store, 2, 4, 5)
    log = store.recover().log
    assert log.size_of(first) == store.snapshot_size(first)
    assert log.size_of(second) == store.snapshot_size(second) > store.snapshot_size(first)


def test_a_snapshot_from_before_the_log_is_left_alone() -> None:
    store = MemoryStore()
    for offset in range(3):
        store.append(data_batch(offset, EPOCH, 0, [b"value"]))
    store.clean(take_snapshot(store, 2))
    take_snapshot(store, 1)
    assert store.recover().log.snapshots == (OffsetAndEpoch(2, EPOCH),)


def test_a_log_that_lacks_what_a_snapshot_of_an_earlier_epoch_has_is_damaged() -> None:
    store = MemoryStore()
    store.append(data_batch(0, EPOCH, 0, [b"value"]))
    take_snapshot(store, 2, epoch=EPOCH - 1)
    with pytest.raises(CorruptBatch, match="ends at 1, before snapshot"):
        store.recover()


def test_what_was_begun_before_a_snapshot_that_is_installed_is_gone() -> None:
    store = MemoryStore()
    store.write_snapshot(OffsetAndEpoch(5, EPOCH), 0, b"part")
    store.write_snapshot(OffsetAndEpoch(70, EPOCH), 0, b"part")
    store.install(take_snapshot(store, 50))
    assert set(store.unfinished) == {OffsetAndEpoch(70, EPOCH)}


def test_the_bootstrap_checkpoint_stands_before_the_log() -> None:
    store = MemoryStore()
    store.write_snapshot(OffsetAndEpoch(0, 0), 0, snapshot_bytes(1, 2, 3))
    store.finish_snapshot(OffsetAndEpoch(0, 0))
    found = store.recover()
    assert found.control.voters.last == voters_of(1, 2, 3)
    assert found.control.voters.last_offset == -1
    assert (found.log.start, found.log.end, found.log.last_epoch) == (0, 0, 0)


def test_draft_records_add_and_remove_one_voter_each() -> None:
    store = MemoryStore(voters_of(1), kip_856.registry)
    added = [ControlRecord(0x7001, kip_856.AddVoterRecord(voter_id=number)) for number in (2, 3)]
    store.append(control_batch(0, EPOCH, 0, added))
    gone = ControlRecord(0x7002, kip_856.RemoveVoterRecord(voter_id=2))
    store.append(control_batch(2, EPOCH, 0, [gone]))
    voters = store.recover().control.voters
    assert [voters.before(offset) for offset in range(4)] == [
        voters_of(1),
        voters_of(1, 2),
        voters_of(1, 2, 3),
        voters_of(1, 3),
    ]


@given(st.lists(st.integers(1, 40), min_size=1, max_size=8), st.data())
def test_reads_are_whole_batches_and_at_least_one(sizes: list[int], data: st.DataObject) -> None:
    store = MemoryStore()
    batches = [data_batch(at, EPOCH, 0, [b"x" * size]) for at, size in enumerate(sizes)]
    for batch in batches:
        store.append(batch)
    offset = data.draw(st.integers(0, len(sizes) - 1))
    max_bytes = data.draw(st.integers(0, 500))
    expected = batches[offset].data
    for batch in batches[offset + 1 :]:
        if len(expected) + len(batch.data) > max_bytes:
            break
        expected += batch.data
    assert store.read(offset, max_bytes) == expected


ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["append", "voters", "flush", "truncate", "snapshot", "clean", "crash"]),
        st.integers(0, 9),
    ),
    max_size=30,
)


@given(ACTIONS, st.integers(0, 2**32))
def test_a_store_opens_with_what_it_held(actions: list[tuple[str, int]], seed: int) -> None:
    chance = random.Random(seed)
    store = MemoryStore()
    held: list[Batch] = []
    flushed = start = 0
    snapshots: list[OffsetAndEpoch] = []
    for kind, number in actions:
        end = held[-1].header.last_offset + 1 if held else start
        if kind == "append":
            held.append(data_batch(end, EPOCH, 0, [b"value"] * (number + 1)))
            store.append(held[-1])
        elif kind == "voters":
            held.append(voters_batch(end, *range(number + 1)))
            store.append(held[-1])
        elif kind == "flush":
            store.flush()
            flushed = len(held)
        elif kind == "truncate" and len(held) > number and not snapshots:
            store.truncate(held[number].header.base_offset)
            del held[number:]
            flushed = len(held)
        elif kind == "snapshot" and flushed:
            offset = held[number % flushed].header.base_offset
            if offset > max([start, *(one.offset for one in snapshots)]):
                snapshots.append(take_snapshot(store, offset, number))
        elif kind == "clean" and snapshots:
            snapshots = snapshots[number % len(snapshots) :]
            store.clean(snapshots[0])
            start = snapshots[0].offset
            gone = sum(batch.header.base_offset < start for batch in held)
            del held[:gone]
            flushed -= gone
        elif kind == "crash":
            store.crash(chance)
            end = store.recover().log.end
            left = [batch for batch in held if batch.header.base_offset < end]
            assert len(left) >= flushed
            held, flushed = left, len(left)
        assert bytes(store.log) == b"".join(batch.data for batch in held)
    found = store.recover()
    assert found.log.start == start
    assert found.log.end == (held[-1].header.last_offset + 1 if held else start)
    assert found.log.snapshots == tuple(snapshots)
