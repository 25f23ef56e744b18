"""The groups of a real Kafka: with members, with transactions, and one of each kind but streams."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from kraftwire.groups import (
    CommittedOffset,
    GroupEvent,
    Groups,
    GroupType,
    TopicPartition,
    find_group_logs,
    read_groups,
)
from kraftwire.log import find_partitions, read_batches
from kraftwire.log.queries.transactions import find_transactions
from kraftwire.log.queries.typed_records import decode_typed
from kraftwire_messages.kafka import OffsetCommitKey, OffsetCommitValue

from codec_tests.groups.building import kinds
from codec_tests.stored_files import BROKER

TEA = TopicPartition("tea", 0)


@pytest.fixture(scope="module")
def groups() -> Groups:
    found, problems = read_groups([BROKER])
    assert problems == []
    return found


def events(*paths: Path) -> list[GroupEvent]:
    items = list(find_group_logs(paths).replay(Groups()))
    found = [item for item in items if isinstance(item, GroupEvent)]
    assert found == items
    return found


def test_which_groups_there_are(groups: Groups) -> None:
    assert {name: (group.type, group.state) for name, group in groups.by_name.items()} == {
        "cashiers": (GroupType.CLASSIC, "Empty"),
        "classic-drinkers": (GroupType.CLASSIC, "Empty"),
        "new-drinkers": (GroupType.CONSUMER, "Empty"),
        "new-stayers": (GroupType.CONSUMER, "Stable"),
        "stayers": (GroupType.CLASSIC, "Stable"),
        "streamers": (GroupType.STREAMS, "Stable"),
        "tasters": (GroupType.SHARE, "Empty"),
    }


def test_members_that_were_there_when_the_broker_stopped(groups: Groups) -> None:
    for name in ("stayers", "new-stayers"):
        (member,) = groups[name].members.values()
        assert member.info is not None
        assert member.current is not None
        assert (member.info.client_id, member.info.client_host) == ("rdkafka", "/127.0.0.1")
        assert member.info.subscription == ("tea",)
        (has,) = member.current.assigned or ()
        assert has.partitions == (0,)
        assert has.topic == "tea" or (has.topic_id and groups.topic_names[has.topic_id] == "tea")
        assert member.target in (None, member.current.assigned)
    classic = groups["stayers"].classic
    assert classic is not None
    assert (classic.protocol_type, classic.protocol, classic.generation) == ("consumer", "range", 1)


def test_offsets_are_those_that_a_committed_reader_sees_last(groups: Groups) -> None:
    """Found another way: records that read_committed shows, and of each key the last."""
    expected: dict[tuple[str, str, int], int] = {}
    for partition in find_partitions([BROKER]):
        if partition.topic != "__consumer_offsets":
            continue
        transactions = find_transactions(partition.segments)
        for segment in partition.segments:
            with segment.open() as source:
                for batch in read_batches(source):
                    if not transactions.is_visible(batch.header):
                        continue
                    for record in batch.records:
                        typed: Any = decode_typed("group", batch, record)
                        if isinstance(typed.key, OffsetCommitKey):
                            key = (typed.key.group, typed.key.topic, typed.key.partition)
                            expected.pop(key, None)
                            if typed.value is not None:
                                assert isinstance(typed.value.message, OffsetCommitValue)
                                expected[key] = typed.value.message.offset
    assert expected == {
        (group.name, *at): offset.offset
        for group in groups.by_name.values()
        for at, offset in group.offsets.items()
    }
    assert expected[("cashiers", "tea", 0)] == 6
    assert not any(group.pending for group in groups.by_name.values())


def test_aborted_commits_never_happened() -> None:
    committed = [
        event.change.after
        for event in events(BROKER)
        if event.group == "cashiers" and event.change.topic == "tea"
    ]
    assert [isinstance(after, CommittedOffset) and after.offset for after in committed] == [
        1,
        3,
        4,
        6,
    ]


def test_the_life_of_a_share_group() -> None:
    happened = kinds([event for event in events(BROKER) if event.group == "sharers"])
    assert happened[:2] == ["member joined", "group epoch"]
    for what in ("share topics", "member left", "group deleted", "share state deleted"):
        assert what in happened


def test_before_its_end_the_share_group_had_state(tmp_path: Path) -> None:
    """The segment cut before the tombstones: offsets of share groups are read."""
    shutil.copytree(BROKER / "__share_group_state-0", tmp_path / "__share_group_state-0")
    (path,) = (tmp_path / "__share_group_state-0").glob("*.log")
    with path.open("rb") as file:
        data = file.read()
    (partition,) = find_partitions([tmp_path])
    (segment,) = partition.segments
    with segment.open() as source:
        last = [batch.header.position for batch in read_batches(source)][-1]
    path.write_bytes(data[:last])
    groups, problems = read_groups([tmp_path])
    assert problems == []
    ((at, progress),) = groups["sharers"].share_partitions.items()
    assert at.partition == 0
    assert progress.get().start_offset == 160
    assert progress.get().batches == ()


def test_one_partition_alone_has_its_own_groups() -> None:
    parts = [BROKER / f"__consumer_offsets-{number}" for number in (0, 1)]
    found = [set(read_groups([part])[0].by_name) for part in parts]
    assert found[0].isdisjoint(found[1])
    assert found[0] | found[1] == set(read_groups([BROKER])[0].by_name)


def test_the_first_half_of_a_log_is_what_was_then() -> None:
    """Time travel: until just before its last commit, a group had the one before."""
    (last,) = [e for e in events(BROKER) if e.group == "cashiers" and e.change.topic][-1:]
    before = last.change.before
    then, _ = read_groups([BROKER], until=last.timestamp)
    assert then["cashiers"].offsets[TEA] == before
