"""How far share groups have come: snapshots, updates, and batches that overlap."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftwire.groups import GroupType, SharePartition, StateBatch
from kraftwire.groups.share_state import ShareProgress, combine

from codec_tests.groups.building import Log, kinds
from codec_tests.groups.share_records import AT, SNAPSHOT, UPDATE, snapshot, update

AVAILABLE, ACKNOWLEDGED, ARCHIVED = 0, 2, 4

BATCHES = st.lists(
    st.builds(
        lambda first, size, state, count: StateBatch(first, first + size, state, count),
        st.integers(0, 30),
        st.integers(-1, 10),
        st.sampled_from([AVAILABLE, ACKNOWLEDGED, ARCHIVED]),
        st.integers(1, 3),
    ),
    max_size=10,
)


def shared(log: Log) -> SharePartition:
    return log.groups["g"].share_partitions[AT].get()


def test_a_snapshot_says_everything() -> None:
    log = Log("share")
    batch = StateBatch(8, 9, ACKNOWLEDGED, 1)
    assert kinds(log.put(SNAPSHOT, snapshot(7, batch))) == ["share state"]
    assert shared(log) == SharePartition(7, 1, 2, 3, 4, 5, 6, (batch,))
    group = log.groups["g"]
    assert (group.type, group.state, group.partition) == (GroupType.SHARE, None, None)


def test_an_update_changes_what_it_names() -> None:
    log = Log("share")
    log.put(SNAPSHOT, snapshot(0, StateBatch(0, 9, AVAILABLE, 1)))
    log.put(UPDATE, update(-1, StateBatch(3, 4, ACKNOWLEDGED, 1)))
    assert shared(log).batches == (
        StateBatch(0, 2, AVAILABLE, 1),
        StateBatch(3, 4, ACKNOWLEDGED, 1),
        StateBatch(5, 9, AVAILABLE, 1),
    )
    assert (shared(log).start_offset, shared(log).leader_epoch) == (0, 3)
    log.put(UPDATE, update(5, leader=8))
    assert shared(log) == SharePartition(5, 1, 2, 8, 4, 5, 6, (StateBatch(5, 9, AVAILABLE, 1),))


def test_a_snapshot_forgets_what_was_before() -> None:
    log = Log("share")
    log.put(UPDATE, update(3, StateBatch(3, 4, ACKNOWLEDGED, 1)))
    assert shared(log).state_epoch is None, "there was no snapshot yet"
    log.put(SNAPSHOT, snapshot(-1))
    assert shared(log).batches == ()
    assert shared(log).start_offset is None


def test_a_tombstone_ends_it() -> None:
    log = Log("share")
    log.put(SNAPSHOT, snapshot(7))
    (event,) = log.put(SNAPSHOT, None)
    assert event.change.what.value == "share state deleted"
    assert isinstance(event.change.before, SharePartition)
    assert event.change.before.start_offset == 7
    assert log.groups.by_name == {}
    assert kinds(log.put(SNAPSHOT, None)) == ["share state deleted"]
    assert log.put(UPDATE, None) == []
    assert log.groups.by_name == {}


@given(BATCHES, st.integers(0, 40))
def test_batches_combine_offset_by_offset(batches: list[StateBatch], start: int) -> None:
    strongest: dict[int, tuple[int, int]] = {}
    for batch in batches:
        for offset in range(max(start, batch.first_offset), batch.last_offset + 1):
            was = strongest.get(offset, (0, 0))
            strongest[offset] = max(was, (batch.delivery_count, batch.delivery_state))
    combined = combine(batches, start)
    assert strongest == {
        offset: (batch.delivery_count, batch.delivery_state)
        for batch in combined
        for offset in range(batch.first_offset, batch.last_offset + 1)
    }
    for before, after in pairwise(combined):
        assert before.last_offset < after.first_offset
        contiguous = before.last_offset + 1 == after.first_offset
        assert not (contiguous and before[2:] == after[2:]), "could be one"


@pytest.mark.slow
@given(st.lists(st.tuples(st.none() | st.integers(0, 40), BATCHES), max_size=30))
def test_looking_in_between_changes_nothing(
    steps: list[tuple[int | None, list[StateBatch]]],
) -> None:
    looked, blind = (ShareProgress(SharePartition()) for _ in range(2))
    for start, batches in steps:
        part = SharePartition(start_offset=start, batches=tuple(batches))
        looked.update(part)
        looked.get()
        blind.update(part)
    assert looked.get() == blind.get()


@pytest.mark.slow
def test_a_long_row_of_updates_takes_time_like_its_length() -> None:
    def seconds(count: int) -> float:
        progress = ShareProgress(SharePartition(start_offset=0))
        began = time.process_time()
        for number in range(count):
            batch = StateBatch(number * 2, number * 2, ACKNOWLEDGED, 1)
            progress.update(SharePartition(batches=(batch,)))
        assert len(progress.get().batches) == count
        return time.process_time() - began

    long, short = (min(seconds(count) for _ in range(3)) for count in (40_000, 10_000))
    assert long < 12 * short
