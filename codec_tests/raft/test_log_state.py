"""The offsets and epochs of a log, beside a list of its records."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftwire.raft.metadata_log.log_state import (
    BOOTSTRAP,
    Diverging,
    LogState,
    NeedsSnapshot,
    OffsetAndEpoch,
    UpToDate,
    Valid,
)


def log_of(*epochs: int) -> LogState:
    """A log with a record of each epoch."""
    state = LogState()
    for offset, epoch in enumerate(epochs):
        state.append(offset, offset, epoch)
    return state


def test_what_an_epoch_ended_at() -> None:
    state = log_of(1, 1, 3, 3, 5)
    assert state.up_to_date == UpToDate(5, 5)
    assert [state.end_of(epoch) for epoch in range(7)] == [
        (0, 0),
        (2, 1),
        (2, 1),
        (4, 3),
        (4, 3),
        (5, 5),
        (5, 5),
    ]


@pytest.mark.parametrize(
    ("offset", "epoch", "answer"),
    [
        (0, 0, Valid()),
        (0, 9, Valid()),
        (2, 1, Valid()),
        (5, 5, Valid()),
        (3, 1, Diverging(OffsetAndEpoch(2, 1))),
        (5, 4, Diverging(OffsetAndEpoch(4, 3))),
        (6, 5, Diverging(OffsetAndEpoch(5, 5))),
        (2, 9, Diverging(OffsetAndEpoch(5, 5))),
        (1, 0, Diverging(OffsetAndEpoch(0, 0))),
    ],
)
def test_what_a_follower_is_answered(
    offset: int, epoch: int, answer: Valid | Diverging | NeedsSnapshot
) -> None:
    assert log_of(1, 1, 3, 3, 5).compare(OffsetAndEpoch(offset, epoch)) == answer


def test_who_is_behind_the_snapshot_needs_it() -> None:
    state = log_of(1, 1, 3, 3, 5)
    snapshot = OffsetAndEpoch(3, 3)
    state.add_snapshot(snapshot, 10)
    assert state.compare(OffsetAndEpoch(0, 0)) == NeedsSnapshot(snapshot)
    assert state.compare(OffsetAndEpoch(2, 1)) == NeedsSnapshot(snapshot), "its epoch is older"
    assert state.compare(OffsetAndEpoch(4, 3)) == Valid()
    state.clean(snapshot)
    assert (state.start, state.end, state.last_epoch) == (3, 5, 5)
    assert state.epochs == ((3, 3), (5, 4))
    assert state.compare(OffsetAndEpoch(2, 3)) == NeedsSnapshot(snapshot)
    assert state.compare(OffsetAndEpoch(3, 3)) == Valid()
    assert state.compare(OffsetAndEpoch(3, 4)) == NeedsSnapshot(snapshot)
    assert state.compare(OffsetAndEpoch(5, 5)) == Valid()


def test_the_bootstrap_checkpoint_is_no_snapshot_to_fetch() -> None:
    state = log_of(1)
    state.add_snapshot(BOOTSTRAP, 10)
    assert state.compare(OffsetAndEpoch(0, 0)) == Valid()


def test_a_snapshot_of_another_log_is_a_new_beginning() -> None:
    state = log_of(1, 1, 2)
    state.install(OffsetAndEpoch(100, 7), 10)
    assert (state.start, state.end, state.last_epoch) == (100, 100, 7)
    assert state.end_of(9) == (100, 7)
    state.append(100, 104, 8)
    assert state.epochs == ((8, 100),)
    assert state.end_of(7) == (100, 7)


@pytest.mark.parametrize(
    ("batch", "reason"),
    [((4, 4, 3), "at the end"), ((3, 2, 3), "at the end"), ((3, 3, 1), "epoch 1 after epoch 2")],
)
def test_what_does_not_fit_is_refused(batch: tuple[int, int, int], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        log_of(1, 1, 2).append(*batch)


def test_what_is_not_there_is_refused() -> None:
    state = log_of(1, 1, 2)
    with pytest.raises(ValueError, match="does not exist"):
        state.clean(OffsetAndEpoch(1, 1))
    with pytest.raises(ValueError, match="from 0 to 3"):
        state.add_snapshot(OffsetAndEpoch(4, 2), 10)
    state.add_snapshot(OffsetAndEpoch(2, 1), 10)
    state.clean(OffsetAndEpoch(2, 1))
    with pytest.raises(ValueError, match="from 2 on ends at 1"):
        state.truncate(1)
    with pytest.raises(ValueError, match="from 2 to 3"):
        state.add_snapshot(OffsetAndEpoch(1, 1), 10)


def test_a_log_is_cut_between_batches_alone() -> None:
    state = LogState()
    state.append(0, 3, 1)
    state.append(4, 9, 2)
    assert [offset for offset in range(12) if state.is_boundary(offset)] == [0, 4, 10]
    with pytest.raises(ValueError, match="ends at 6"):
        state.truncate(6)
    state.truncate(4)
    assert state.up_to_date == UpToDate(1, 4)


def test_a_snapshot_has_the_epoch_of_the_batch_before_it() -> None:
    state = LogState()
    state.append(0, 3, 1)
    state.append(4, 9, 2)
    ids = [state.id_of(offset) for offset in range(11)]
    assert ids == [None] * 4 + [(4, 1)] + [None] * 5 + [(10, 2)]
    state.add_snapshot(OffsetAndEpoch(4, 1), 10)
    state.clean(OffsetAndEpoch(4, 1))
    assert (state.id_of(4), state.id_of(10)) == (None, (10, 2)), "nothing is left before 4"


def test_a_snapshot_is_as_large_as_was_said() -> None:
    state = log_of(1, 1, 2)
    first, second = OffsetAndEpoch(1, 1), OffsetAndEpoch(2, 1)
    state.add_snapshot(second, 20)
    state.add_snapshot(first, 10)
    assert (state.snapshots, state.latest_snapshot) == ((first, second), second)
    assert (state.size_of(first), state.size_of(second)) == (10, 20)
    state.clean(second)
    assert (state.size_of(first), state.size_of(second)) == (None, 20)
    state.install(OffsetAndEpoch(9, 3), 30)
    assert (state.size_of(second), state.size_of(OffsetAndEpoch(9, 3))) == (None, 30)


@pytest.mark.parametrize(
    ("snapshot", "is_behind"), [((3, 2), False), ((4, 2), True), ((9, 1), False), ((1, 3), True)]
)
def test_a_log_is_behind_later_epochs_and_then_higher_offsets(
    snapshot: tuple[int, int], is_behind: bool
) -> None:
    assert log_of(1, 1, 2).is_behind(OffsetAndEpoch(*snapshot)) == is_behind


ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["append", "truncate", "snapshot", "clean"]),
        st.integers(0, 8),
        st.integers(0, 2),
    ),
    max_size=30,
)


@given(ACTIONS)
def test_a_state_is_what_its_records_say(actions: list[tuple[str, int, int]]) -> None:
    state = LogState()
    records: list[int] = []  # the epoch of each, the cleaned ones too
    ends = {0}  # the offsets at which a batch ended
    for kind, number, more in actions:
        if kind == "append":
            epoch = state.last_epoch + more
            state.append(len(records), len(records) + number, epoch)
            records += [epoch] * (number + 1)
            ends.add(len(records))
        elif kind == "truncate":
            kept = max(end for end in ends if end <= max(state.start, len(records) - number))
            if all(snapshot.offset <= kept for snapshot in state.snapshots):
                state.truncate(kept)
                del records[kept:]
                ends = {end for end in ends if end <= kept}
        elif kind == "snapshot" and state.start < number <= len(records) and number in ends:
            snapshot = OffsetAndEpoch(number, records[number - 1])
            assert state.id_of(number) == snapshot
            state.add_snapshot(snapshot, 10)
        elif kind == "clean" and state.snapshots:
            state.clean(state.snapshots[number % len(state.snapshots)])
        assert state.end == len(records)
        places = range(state.start, state.end + 1)
        assert {place for place in places if state.is_boundary(place)} == ends & set(places)
        assert state.last_epoch == (records[-1] if records else 0)
        there = records[state.start :]
        for epoch in sorted(set(there)):
            assert state.end_of(epoch) == (
                state.start + there.index(epoch) + there.count(epoch),
                epoch,
            )
        for offset in range(max(state.start, 1), len(records) + 1):
            answer = state.compare(OffsetAndEpoch(offset, records[offset - 1]))
            assert answer == Valid() or isinstance(answer, NeedsSnapshot)
            if not state.snapshots or state.snapshots[0].offset == state.start:
                assert answer == Valid(), "a part of the log"
