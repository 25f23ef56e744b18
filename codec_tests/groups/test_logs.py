"""Groups from files: which are read, and what becomes of those that cannot be."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftwire.groups import GroupEvent, Groups, PartitionReplay, find_group_logs, read_groups
from kraftwire.log.batches.encoding import encode_batch
from kraftwire.log.batches.record import Record
from kraftwire.log.errors import BadRecord, CorruptBatch
from kraftwire_messages.kafka import (
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    NoOpRecord,
    TopicRecord,
)
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.records import encode_metadata_record

from codec_tests.groups.building import START, Log, commit, record
from codec_tests.log.file_mutants import flip

SEGMENT = "00000000000000000000.log"


def offsets_log(count: int = 5, number: int = 0, group: str = "g") -> Log:
    log = Log(number=number)
    for offset in range(count):
        log.put(*commit(group, "tea", offset, offset))
    return log


def committed(groups: Groups, group: str = "g") -> list[int]:
    return sorted(at.partition for at in groups[group].offsets)


def test_all_partitions_of_a_data_directory_are_read(tmp_path: Path) -> None:
    for number in range(3):
        name = f"__consumer_offsets-{number}"
        offsets_log(number=number, group=f"g{number}").write(tmp_path / name)
    offsets_log(group="elsewhere").write(tmp_path / "orders-0")
    offsets_log(group="gone").write(tmp_path / f"__consumer_offsets-3.{'0' * 32}-delete")
    groups, problems = read_groups([tmp_path])
    assert problems == []
    assert {name: group.partition for name, group in groups.by_name.items()} == {
        "g0": 0,
        "g1": 1,
        "g2": 2,
    }


@pytest.mark.parametrize("parent", ["__consumer_offsets-7", "somewhere"])
def test_a_segment_is_read_wherever_it_lies(tmp_path: Path, parent: str) -> None:
    path = offsets_log().write(tmp_path / parent)
    for named in (path, path.parent):
        groups, problems = read_groups([named])
        assert problems == []
        assert committed(groups) == [0, 1, 2, 3, 4]
        assert groups["g"].partition == (7 if parent.endswith("7") else None)
        assert groups["g"].state == "Empty"


def test_only_wanted_groups_are_kept(tmp_path: Path) -> None:
    log = offsets_log()
    log.put(*commit("other", "tea", 0, 5))
    log.put(*commit("third", "tea", 0, 5), producer=3)
    log.end(3)
    path = log.write(tmp_path / "__consumer_offsets-0")
    groups, _ = read_groups([path], wanted={"other"})
    assert [*groups.by_name] == ["other"]


def test_until_leaves_out_what_came_later(tmp_path: Path) -> None:
    path = offsets_log().write(tmp_path / "__consumer_offsets-0")
    groups, _ = read_groups([path], until=START + 2)
    assert committed(groups) == [0, 1]


def test_a_transaction_that_ended_later_was_pending(tmp_path: Path) -> None:
    log = Log()
    log.put(*commit("g", "tea", 0, 5), producer=3)
    log.end(3)
    path = log.write(tmp_path / "__consumer_offsets-0")
    groups, _ = read_groups([path], until=START + 1)
    assert (len(groups["g"].pending), len(groups["g"].offsets)) == (1, 0)


def test_segments_go_on_one_another_and_may_have_gaps(tmp_path: Path) -> None:
    directory = tmp_path / "__consumer_offsets-0"
    directory.mkdir()
    for base, offset in ((0, 1), (500, 2), (90_000, 3)):
        made = record(*commit("g", "tea", 0, offset), offset=base)
        (directory / f"{base:020}.log").write_bytes(encode_batch([made]))
    groups, problems = read_groups([directory])
    assert problems == []
    (found,) = groups["g"].offsets.values()
    assert (found.offset, found.record_offset) == (3, 90_000)


def test_names_come_from_cluster_metadata(tmp_path: Path) -> None:
    topic_id = UUID(int=9)
    log = Log()
    message = ConsumerGroupTargetAssignmentMemberValue
    part = message.TopicPartition(topic_id=topic_id, partitions=[0])
    key = ConsumerGroupTargetAssignmentMemberKey(group_id="g", member_id="m")
    log.put(key, message(topic_partitions=[part]))
    log.write(tmp_path / "__consumer_offsets-0")
    metadata = tmp_path / "__cluster_metadata-0"
    metadata.mkdir()
    values = [
        encode_metadata_record(NoOpRecord(), 0),
        encode_metadata_record(TopicRecord(name="tea", topic_id=topic_id), 0),
        encode_metadata_record(TopicRecord(name="bad"), 0)[:-3],
    ]
    records = [Record(offset, START, None, value, ()) for offset, value in enumerate(values)]
    (metadata / SEGMENT).write_bytes(encode_batch(records))
    groups, problems = read_groups([tmp_path])
    assert groups.topic_names == {topic_id: "tea"}
    (problem,) = problems
    assert isinstance(problem, BadRecord)
    assert problem.offset == 2
    assert "__cluster_metadata-0" in problem.file


def test_a_damaged_batch_is_reported_and_passed_over(tmp_path: Path) -> None:
    log = offsets_log()
    path = log.write(tmp_path / "__consumer_offsets-0")
    start = sum(map(len, log.batches[:2]))
    flip(path, start + 70)
    groups, problems = read_groups([path])
    assert committed(groups) == [0, 1, 3, 4]
    (problem,) = problems
    assert isinstance(problem, CorruptBatch)
    assert problem.position == start
    assert str(problem).startswith(f"{path}, byte {start}: corrupt")


def test_a_torn_tail_is_reported(tmp_path: Path) -> None:
    path = offsets_log().write(tmp_path / "__consumer_offsets-0")
    path.write_bytes(path.read_bytes()[:-5])
    groups, problems = read_groups([path])
    assert committed(groups) == [0, 1, 2, 3]
    assert "torn tail" in str(problems[0])


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b"\0\1"),
        (b"", b""),
        (b"\0\x63tea", b"\0\0"),  # an id that nobody knows
        (b"\0\x09\0\1g", b"\0\0"),  # one that is gone
        (b"\0\1\0\1g\0\3tea\0\0\0\0", b"\0\x63"),  # a version that nobody knows
        (b"\0\1\0\1g\0\3tea\0\0\0\0", b""),
        (b"\0\1\0\1g\0\3tea\0\0\0\0\0", None),  # a byte too many
        (b"\0\1\0\1\xff\0\3tea\0\0\0\0", None),  # no UTF-8
    ],
)
def test_a_record_that_does_not_decode_is_reported(
    tmp_path: Path, key: bytes | None, value: bytes | None
) -> None:
    directory = tmp_path / "__consumer_offsets-0"
    directory.mkdir()
    good = [record(*commit("g", "tea", at, 1), offset=at) for at in (0, 2)]
    records = [good[0], Record(1, START, key, value, ()), good[1]]
    path = directory / SEGMENT
    path.write_bytes(encode_batch(records))
    groups, problems = read_groups([path])
    assert committed(groups) == [0, 2]
    (problem,) = problems
    assert isinstance(problem, BadRecord)
    assert (problem.file, problem.offset) == (str(path), 1)
    assert str(problem).startswith(f"{path}, offset 1: ")


@given(
    st.binary(max_size=60), st.none() | st.binary(max_size=60), st.sampled_from(["group", "share"])
)
def test_any_bytes_are_read_or_refused(key: bytes, value: bytes | None, log: str) -> None:
    replay = PartitionReplay(Groups(), log, 0)
    for number in (0, 1, 2, 5, 8, 15, 19, 23):
        made = Record(0, START, bytes((0, number)) + key, value, ())
        try:
            replay.record(made)
            replay.control(made, 5)
        except KraftwireError:
            pass


@given(st.data())
def test_damaged_files_are_read_as_far_as_they_go(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    log = offsets_log(3)
    log.put(*commit("g", "tea", 0, 5), producer=3)
    log.end(3)
    whole = bytearray(b"".join(log.batches))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("groups") / SEGMENT
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole)))])
    for item in find_group_logs([path]).replay(Groups()):
        assert isinstance(item, GroupEvent | CorruptBatch | BadRecord)


def test_batches_that_grow_too_large_are_reported(tmp_path: Path) -> None:
    from kraftwire.log.batches.compression import Compression
    from kraftwire.log.batches.encoding import BatchSettings

    directory = tmp_path / "__consumer_offsets-0"
    directory.mkdir()
    records = [record(*commit("g", "tea", at, 1), offset=at) for at in range(100)]
    batch = encode_batch(records, BatchSettings(codec=Compression.GZIP))
    (directory / SEGMENT).write_bytes(batch)
    assert committed(read_groups([directory])[0]) == [*range(100)]
    groups, problems = read_groups([directory], limit=1000)
    assert groups.by_name == {}
    assert ", byte 0: " in str(problems[0])


def test_paths_without_groups_are_refused(tmp_path: Path) -> None:
    offsets_log().write(tmp_path / "orders-0")
    (tmp_path / "__consumer_offsets-0").mkdir()
    with pytest.raises(KraftwireError, match="no segment of __consumer_offsets"):
        find_group_logs([tmp_path])


def test_two_replicas_of_a_partition_are_refused(tmp_path: Path) -> None:
    for broker in ("b1", "b2"):
        offsets_log().write(tmp_path / broker / "__consumer_offsets-0")
    with pytest.raises(KraftwireError, match="twice"):
        find_group_logs([tmp_path / "b1", tmp_path / "b2"])


def test_the_bytes_that_are_read_are_counted(tmp_path: Path) -> None:
    path = offsets_log().write(tmp_path / "__consumer_offsets-0")
    logs = find_group_logs([tmp_path])
    read: list[int] = []
    for _ in logs.replay(Groups(), done=read.append):
        pass
    assert sum(read) == logs.size == path.stat().st_size
