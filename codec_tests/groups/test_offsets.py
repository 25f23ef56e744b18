"""Commits of offsets: plain, in transactions, legacy, deleted."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftwire.groups import CommittedOffset, GroupType, TopicPartition
from kraftwire_messages.kafka import (
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitValue,
)
from kraftwire_wire.records import ControlType

from codec_tests.groups.building import Log, commit, kinds

TEA = TopicPartition("tea", 0)
ID = UUID(int=7)


def offset_of(log: Log, group: str = "g", at: TopicPartition = TEA) -> int | None:
    found = log.groups.by_name.get(group)
    offset = found.offsets.get(at) if found else None
    return offset.offset if offset else None


def test_a_commit_is_kept_with_all_that_it_says() -> None:
    log = Log(number=3)
    log.put(
        *commit("g", "tea", 0, 42, leader_epoch=5, metadata="m", commit_timestamp=9, topic_id=ID)
    )
    group = log.groups["g"]
    assert group.offsets == {TEA: CommittedOffset(42, 5, "m", 9, None, ID, 0)}
    assert (group.type, group.state, group.partition) == (GroupType.CLASSIC, "Empty", 3)
    assert log.groups.topic_names == {ID: "tea"}


@pytest.mark.parametrize("version", OffsetCommitValue.VALID_VERSIONS)
def test_every_version_of_a_commit_is_read(version: int) -> None:
    log = Log()
    key, value = commit("g", "tea", 0, 42, commit_timestamp=9)
    assert value is not None
    if version == 1:
        value.expire_timestamp = 77
    log.put(key, value, version=version)
    expires = 77 if version == 1 else None
    assert log.groups["g"].offsets == {TEA: CommittedOffset(42, None, "", 9, expires, None, 0)}


def test_legacy_commits_are_commits() -> None:
    log = Log()
    key = LegacyOffsetCommitKey(group="g", topic="tea", partition=0)
    log.put(key, LegacyOffsetCommitValue(offset=4, metadata="m", commit_timestamp=9))
    assert log.groups["g"].offsets == {TEA: CommittedOffset(4, None, "m", 9, None, None, 0)}
    log.put(*commit("g", "tea", 0, 5))
    assert offset_of(log) == 5
    assert kinds(log.put(key, None)) == ["offset deleted"]
    assert log.groups.by_name == {}


def test_the_last_commit_stands_and_a_tombstone_removes_it() -> None:
    log = Log()
    log.put(*commit("g", "tea", 0, 1))
    (event,) = log.put(*commit("g", "tea", 0, 2))
    assert event.change.before is not None
    assert (event.offset, event.group, event.change.topic) == (1, "g", "tea")
    assert offset_of(log) == 2
    log.put(*commit("g", "tea", 1, 2))
    assert kinds(log.put(*commit("g", "tea", 0, None))) == ["offset deleted"]
    assert offset_of(log) is None
    log.put(*commit("g", "tea", 1, None))
    assert log.groups.by_name == {}, "nothing is left of the group"


def test_the_same_commit_again_is_an_event_again() -> None:
    log = Log()
    for _ in range(2):
        assert kinds(log.put(*commit("g", "tea", 0, 1))) == ["offset committed"]


def test_what_a_transaction_commits_counts_from_its_marker_on() -> None:
    log = Log()
    assert log.put(*commit("g", "tea", 0, 7), producer=5) == []
    group = log.groups["g"]
    assert group.offsets == {}
    assert group.pending[TEA][5].offset == 7
    (event,) = log.end(5)
    assert (event.offset, event.change.what.value) == (1, "offset committed")
    assert group.pending == {}
    assert group.offsets[TEA].offset == 7
    assert group.offsets[TEA].record_offset == 0
    assert group.offsets[TEA].producer_id == 5


def test_what_a_transaction_aborts_never_was() -> None:
    log = Log()
    log.put(*commit("g", "tea", 0, 7), producer=5)
    assert log.end(5, ControlType.ABORT) == []
    assert log.groups.by_name == {}


def test_a_marker_ends_the_transaction_of_its_own_producer() -> None:
    log = Log()
    log.put(*commit("g", "tea", 0, 7), producer=5)
    log.put(*commit("g", "tea", 0, 8), producer=6)
    log.end(6, ControlType.ABORT)
    assert [*log.groups["g"].pending[TEA]] == [5]
    log.end(5)
    assert offset_of(log) == 7


def test_a_second_transaction_does_not_bring_the_first_with_it() -> None:
    log = Log()
    log.put(*commit("g", "tea", 0, 7), producer=5)
    log.end(5, ControlType.ABORT)
    log.put(*commit("g", "tea", 1, 8), producer=5)
    log.end(5)
    assert offset_of(log) is None
    assert offset_of(log, at=TopicPartition("tea", 1)) == 8


def test_markers_of_one_partition_say_nothing_of_another() -> None:
    one, other = Log(number=0), Log(number=1)
    other.groups = other.replay.groups = one.groups
    one.put(*commit("g", "tea", 0, 7), producer=5)
    other.end(5)
    assert offset_of(one) is None
    one.end(5)
    assert offset_of(one) == 7


def test_a_plain_commit_after_a_transactional_one_stands() -> None:
    """The marker comes last, but the record that it is about is the older one."""
    log = Log()
    log.put(*commit("g", "tea", 0, 5), producer=5)
    log.put(*commit("g", "tea", 0, 1))
    assert log.end(5) == []
    assert offset_of(log) == 1


def test_a_tombstone_takes_what_is_pending_with_it() -> None:
    log = Log()
    log.put(*commit("g", "tea", 0, 5), producer=5)
    log.put(*commit("g", "tea", 0, None))
    assert log.end(5) == []
    assert log.groups.by_name == {}


def test_markers_of_transactions_without_offsets_are_nothing() -> None:
    log = Log()
    assert log.end(99) == []
    assert log.groups.by_name == {}


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["put", "put", "delete", "transact", "transact", "COMMIT", "ABORT"]),
        st.integers(0, 2),
        st.integers(0, 1),
    ),
    max_size=40,
)


@given(STEPS)
def test_the_newest_record_that_counts_is_what_is_left(steps: list[tuple[str, int, int]]) -> None:
    """Against a model that knows how transactions ended before it looks at their records."""
    log = Log()
    records: list[tuple[int, int | None, int | None]] = []  # partition, offset, producer
    outcome: dict[int, bool] = {}  # by the record's number
    for number, (step, producer, partition) in enumerate(steps):
        if step in ("COMMIT", "ABORT"):
            log.end(producer, ControlType[step])
            for at, (_, _, of) in enumerate(records):
                if of == producer:
                    outcome.setdefault(at, step == "COMMIT")
            continue
        offset = None if step == "delete" else number
        transaction = producer if step == "transact" else None
        log.put(*commit("g", "tea", partition, offset), producer=transaction)
        records.append((partition, offset, transaction))
    expected: dict[int, int | None] = {}
    for at, (partition, offset, of) in enumerate(records):
        if of is None or outcome.get(at):
            expected[partition] = offset
    for partition in (0, 1):
        at_partition = TopicPartition("tea", partition)
        assert offset_of(log, at=at_partition) == expected.get(partition)
