"""Snapshots that a state machine takes: of what, what they begin with, how long they are kept."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftwire.log.segments.segment import read_batches
from kraftwire.log.sources.source import BytesSource
from kraftwire.raft.core.effects import Clean
from kraftwire.raft.core.inputs import Propose, SnapshotTaken, Tick
from kraftwire.raft.core.snapshots import begin_snapshot
from kraftwire.raft.metadata_log.batches import ControlRecord, control_batch
from kraftwire.raft.metadata_log.control_state import ControlState
from kraftwire.raft.metadata_log.log_state import BOOTSTRAP, OffsetAndEpoch
from kraftwire.raft.metadata_log.memory_store import MemoryStore
from kraftwire.raft.replica import Replica
from kraftwire.raft.state.config import Config
from kraftwire.raft.state.voters import NO_VOTERS, ReplicaKey, Voter, VoterSet, encode_voters
from kraftwire_messages.kafka import KRaftVersionRecord
from kraftwire_wire.records import ControlType

from codec_tests.raft.replicas import (
    CLUSTER,
    ME,
    THREE,
    TWO,
    core_of,
    elected,
    fetched,
    take_snapshot,
)


def grown(batches: int, replica: Replica | None = None, **more: Any) -> Replica:
    """A leader with some batches of two records each, all committed."""
    replica = elected(**more) if replica is None else replica
    for number in range(batches):
        replica.step(replica.core.now, Propose(number, [b"a", b"b"]))
    for key in (TWO, THREE):
        fetched(replica, key)
    return replica


# -- which there may be -----------------------------------------------------------------------


def test_a_snapshot_ends_where_a_batch_ends_and_has_its_epoch() -> None:
    replica = grown(2)
    end = replica.core.committed
    assert [replica.snapshot_id(offset) for offset in range(end - 4, end + 1)] == [
        OffsetAndEpoch(end - 4, 4),
        None,
        OffsetAndEpoch(end - 2, 4),
        None,
        OffsetAndEpoch(end, 4),
    ]


def test_what_is_not_committed_is_in_no_snapshot() -> None:
    replica = grown(1)
    end = replica.core.committed
    replica.step(5000, Propose("p", [b"a"]))
    assert replica.core.log.end == end + 1
    assert replica.snapshot_id(end + 1) is None
    assert replica.snapshot_id(end) is not None


def test_snapshots_go_forward() -> None:
    replica = grown(3)
    end = replica.core.committed
    take_snapshot(replica, end - 2)
    assert [replica.snapshot_id(offset) for offset in (0, end - 4, end - 2)] == [None] * 3
    assert replica.snapshot_id(end) == (end, 4)


@pytest.mark.parametrize("more", [(-1, 4), (0, 3), (2, 4), (-2, 4)])
def test_a_snapshot_that_may_not_be_is_not_counted(more: tuple[int, int]) -> None:
    replica = grown(2)
    end = replica.core.committed
    replica.step(5000, Propose("p", [b"a", b"b"]))
    before, _ = take_snapshot(replica, end - 2)
    replica.step(5000, SnapshotTaken(OffsetAndEpoch(end + more[0], more[1]), 100))
    assert replica.core.log.snapshots == (BOOTSTRAP, before)


def test_what_a_snapshot_has_is_committed_after_a_restart() -> None:
    store = MemoryStore()
    snapshot = OffsetAndEpoch(9, 2)
    store.write_snapshot(snapshot, 0, begin_snapshot(core_of(), snapshot, 0).finish(0))
    store.finish_snapshot(snapshot)
    replica = Replica(Config(key=ME, cluster_id=CLUSTER), store.recover(), Random(1), 0)
    assert replica.core.committed == 9


# -- what they begin with ---------------------------------------------------------------------


def voters_of(ids: list[int]) -> VoterSet:
    return VoterSet(Voter(ReplicaKey(number)) for number in ids)


@given(st.lists(st.lists(st.integers(0, 5), unique=True, min_size=1), max_size=5), st.data())
def test_a_snapshot_says_what_the_log_before_it_says(
    sets: list[list[int]], data: st.DataObject
) -> None:
    core = core_of(voters=NO_VOTERS)
    for ids in sets:
        said = [
            ControlRecord(ControlType.KRAFT_VERSION, KRaftVersionRecord(kraft_version=1)),
            ControlRecord(ControlType.KRAFT_VOTERS, encode_voters(voters_of(ids))),
        ]
        core.append(control_batch(core.log.end, 1, 0, said))
    offset = 2 * data.draw(st.integers(0, len(sets)))
    snapshot = OffsetAndEpoch(offset, 1)
    content = begin_snapshot(core, snapshot, 7).finish(0)
    loaded = ControlState(NO_VOTERS)
    loaded.load(snapshot, read_batches(BytesSource(content, "snapshot")))
    assert loaded.voters.last == core.control.voters.before(offset)
    assert loaded.kraft_version.last == core.control.kraft_version.before(offset)


def test_without_kraft_version_1_a_snapshot_says_nothing_of_voters() -> None:
    core = core_of()
    content = begin_snapshot(core, OffsetAndEpoch(1, 2), 7).finish(0)
    header, footer = read_batches(BytesSource(content, "snapshot"))
    assert [len(batch.records) for batch in (header, footer)] == [1, 1]


def test_what_was_in_force_before_a_snapshot_is_forgotten_as_after_a_restart() -> None:
    replica = grown(1)
    snapshot, content = take_snapshot(replica)
    loaded = ControlState(NO_VOTERS)
    loaded.load(snapshot, read_batches(BytesSource(content, "snapshot")))
    changes = replica.core.control.voters.entries
    assert [one.value for one in changes] == [one.value for one in loaded.voters.entries]


# -- how long they are kept -------------------------------------------------------------------


def test_as_many_are_kept_as_configured_and_the_log_from_the_first_on() -> None:
    replica = grown(1)
    first, _ = take_snapshot(replica)
    second, _ = take_snapshot(grown(1, replica))
    now = replica.core.now
    log = replica.core.log
    assert Clean(first) not in replica.step(now + 59_999, Tick())
    assert (log.start, list(log.snapshots)) == (0, [BOOTSTRAP, first, second])
    assert Clean(first) in replica.step(now + 60_000, Tick())
    assert (log.start, list(log.snapshots)) == (first.offset, [first, second])


def test_a_replica_wants_to_be_woken_for_cleaning() -> None:
    replica = grown(1, clean_interval_ms=7)
    take_snapshot(replica)
    assert replica.next_deadline() == 6000, "no more than are kept: it tells voters who leads"
    take_snapshot(grown(1, replica))
    assert replica.next_deadline() == 5007


def test_cleaning_can_wait_for_nothing_and_keep_one() -> None:
    replica = grown(1, clean_interval_ms=0, retained_snapshots=1)
    snapshot = replica.snapshot_id(replica.core.committed)
    assert snapshot is not None
    assert Clean(snapshot) in replica.step(5000, SnapshotTaken(snapshot, 100))
    assert (replica.core.log.start, replica.core.log.snapshots) == (snapshot.offset, (snapshot,))
    assert replica.core.clean_deadline is None
