"""Following logs while they grow, without Spark: every record once, in the order of its log."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from pyarrow import fs

from kraftwire.log.small_files.indexes import OffsetEntry, encode_offset_index
from kraftwire.log.sources.source import FileSource
from kraftwire_wire.errors import KraftwireError
from pyspark_kraftwire.split import LostError
from pyspark_kraftwire.streaming import listing
from pyspark_kraftwire.streaming.offsets import StreamOffset, parse_stream_offset

from codec_tests.spark.growing import FollowingStream, GrowingLog, Seen, records_of


@pytest.mark.parametrize("index_interval", [None, 0, 100, 4096])
def test_rolled_segments_are_read(tmp_path: Path, index_interval: int | None) -> None:
    log = GrowingLog(tmp_path, "orders-0")
    stream = FollowingStream(tmp_path, maxRecordsPerTrigger=4)
    for _ in range(4):
        log.append(2, 3, 1, 2)
        log.roll(index_interval=index_interval)
    seen: list[Seen] = []
    while rows := stream.trigger():
        assert len(rows) <= 4
        seen += rows
        stream.restart()
    assert seen == log.records


def test_a_stream_resumes_at_any_offset(tmp_path: Path) -> None:
    log = GrowingLog(tmp_path, "orders-0", base=5)
    for counts in ((3, 4), (1, 1, 6), (2,)):
        log.append(*counts)
        log.roll(index_interval=0)
    log.append(2, 2)
    for begin in range(5, log.next + 1):
        stream = FollowingStream(tmp_path, startingOffsets=begin)
        assert stream.trigger() == [one for one in log.records if one[2] >= begin]
        kept = FollowingStream(tmp_path)
        kept.offset = {"next": {"orders": {"0": begin}}}
        assert kept.trigger() == [one for one in log.records if one[2] >= begin]


@pytest.mark.parametrize("index_interval", [None, 0, 4096])
def test_any_two_offsets_give_the_records_between_them(
    tmp_path: Path, index_interval: int | None
) -> None:
    log = GrowingLog(tmp_path, "orders-0", base=3)
    ends = [log.next]
    for counts in ((3, 1, 2), (1, 4), (2, 2)):
        for count in counts:
            log.append(count)
            ends.append(log.next)
        log.roll(index_interval=index_interval)
    for begin in ends:
        for end in ends[ends.index(begin) :]:
            stream = FollowingStream(tmp_path)
            stream.offset = {"next": {"orders": {"0": begin}}}
            found = stream.table({"next": {"orders": {"0": end}}})
            assert records_of(found) == [one for one in log.records if begin <= one[2] < end]


def test_an_index_that_points_too_far_loses_nothing(tmp_path: Path) -> None:
    log = GrowingLog(tmp_path, "orders-0")
    log.append(2, 4)
    position = log.active.stat().st_size
    log.append(4)
    log.roll()
    entry = encode_offset_index([OffsetEntry(7, position)], 0)  # of the batch from 6 to 9
    log.segment(0).with_suffix(".index").write_bytes(entry)
    stream = FollowingStream(tmp_path)
    stream.offset = {"next": {"orders": {"0": 0}}}
    assert len(records_of(stream.table({"next": {"orders": {"0": 8}}}))) == 6


def test_many_batches_are_read_in_one_trigger(tmp_path: Path) -> None:
    log = GrowingLog(tmp_path, "orders-0")
    log.append(*[1] * 600)
    stream = FollowingStream(tmp_path, maxRecordsPerTrigger=550)
    assert [len(stream.trigger()) for _ in range(3)] == [550, 50, 0]


def test_changed_directories_are_listed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = GrowingLog(tmp_path, "orders-0")
    log.append(1)
    stream = FollowingStream(tmp_path)
    stream.trigger()
    stamp = log.directory.stat().st_mtime_ns
    log.roll()
    log.append(1)
    os.utime(log.directory, ns=(stamp, stamp))  # as if in the same tick of the clock
    assert stream.trigger() == log.records[1:]
    for directory in (tmp_path, log.directory):
        os.utime(directory, (1, 1))
    stream.trigger()
    lists: list[object] = []
    monkeypatch.setattr(listing, "requested_partitions", lists.append)
    log.append(2)
    assert stream.trigger() == log.records[2:]
    assert lists == []


def test_segments_deleted_after_they_were_read_are_no_loss(tmp_path: Path) -> None:
    log = GrowingLog(tmp_path, "orders-0")
    stream = FollowingStream(tmp_path)
    seen: list[Seen] = []
    for _ in range(3):
        log.append(2, 2)
        log.roll()
        seen += stream.trigger()
        log.retire()
        stream.restart()
    assert seen == log.records


def test_a_segment_that_is_marked_for_deletion_is_still_read(tmp_path: Path) -> None:
    log = GrowingLog(tmp_path, "orders-0")
    log.append(2, 2)
    log.roll()
    log.append(1)
    stream = FollowingStream(tmp_path)
    tasks = stream.tasks(stream.offer())
    log.retire(keep_file=True)
    assert records_of(stream.table_of(tasks)) == log.records


def test_a_segment_deleted_before_its_task_runs_is_an_error(tmp_path: Path) -> None:
    log = GrowingLog(tmp_path, "orders-0")
    log.append(2, 2)
    log.roll()
    stream = FollowingStream(tmp_path)
    tasks = stream.tasks(stream.offer())
    log.retire()
    with pytest.raises(LostError, match="deleted while the query ran"):
        stream.table_of(tasks)


def test_a_segment_compacted_before_its_task_runs_is_an_error(tmp_path: Path) -> None:
    log = GrowingLog(tmp_path, "orders-0")
    first = log.batch(2, size=50)
    log.write(first)
    log.append(2, 2)
    log.roll()
    stream = FollowingStream(tmp_path, startingOffsets=2)
    tasks = stream.tasks(stream.offer())
    path = log.segment(0)
    path.write_bytes(path.read_bytes()[len(first) :])
    with pytest.raises(KraftwireError, match="compacted or cut while"):
        stream.table_of(tasks)
    stream.restart()
    assert stream.trigger() == log.records[2:]


def test_offsets_removed_by_compaction_are_skipped(tmp_path: Path) -> None:
    log = GrowingLog(tmp_path, "orders-0")
    log.append(2, 2)
    stream = FollowingStream(tmp_path)
    seen = stream.trigger()
    log.append(1, 3)
    log.roll()
    log.append(2)
    path = log.segment(0)
    sizes = []
    with FileSource(path) as source:
        position = 0
        while position < source.size:
            length = int.from_bytes(source.read_at(position + 8, 4)) + 12
            sizes.append((position, position + length))
            position += length
    data = path.read_bytes()
    # The batches with the offsets 2 and 3, and 4: those around the stream's place.
    path.write_bytes(data[: sizes[0][1]] + data[sizes[3][0] :])
    seen += stream.trigger()
    assert seen == [one for one in log.records if one[2] != 4]


def test_a_partition_waits_while_its_segments_are_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = GrowingLog(tmp_path, "orders-0")
    other = GrowingLog(tmp_path, "orders-1")
    log.append(2)
    log.roll()
    log.append(2)
    stream = FollowingStream(tmp_path, startingOffsets=1)
    other.append(2)
    assert len(stream.trigger()) == 4
    log.append(3)
    other.append(1)
    first = log.segment(0)
    swap = first.rename(first.with_name(f"{first.name}.swap"))
    assert stream.trigger() == other.records[2:]
    swap.rename(first)
    assert stream.trigger() == log.records[4:]
    first.rename(swap)
    monkeypatch.setattr(listing, "_PATIENCE", 0)
    with pytest.raises(KraftwireError, match=r"orders-0: .* left \.swap segments"):
        FollowingStream(tmp_path).trigger()


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_logs_in_a_store_are_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, isolation: str
) -> None:
    store = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    monkeypatch.setattr(fs, "S3FileSystem", lambda **_: store)
    log = GrowingLog(tmp_path, "bucket/kafka/orders-0")
    log.topic = "orders"
    stream = FollowingStream("s3://bucket/kafka", isolation=isolation, maxRecordsPerTrigger=3)
    seen: list[Seen] = []
    for _ in range(3):
        log.append(2, 1, 3)
        torn = log.batch(1)
        log.write(torn[:-1])
        seen += stream.trigger()
        seen += stream.trigger()
        assert seen == log.records[:-1]
        log.write(torn[-1:])
        seen += stream.trigger()
        log.roll()
        log.append(1)
        seen += stream.trigger()
        log.roll()
        stream.restart()
    assert seen == log.records


def test_latest_starts_at_the_end_also_after_a_crash(tmp_path: Path) -> None:
    log = GrowingLog(tmp_path, "orders-0")
    log.append(4)
    stream = FollowingStream(tmp_path, startingOffsets="latest")
    end = stream.offer()  # is written to the checkpoint; then the process dies
    log.append(3)
    stream.restart()
    assert records_of(stream.table(end)) == []
    stream.offset = end
    assert stream.trigger() == log.records[4:]


def test_the_first_batch_is_the_same_if_repeated(tmp_path: Path) -> None:
    log = GrowingLog(tmp_path, "orders-0")
    log.append(2)
    log.roll()
    log.append(2)
    stream = FollowingStream(tmp_path)
    end = stream.offer()
    assert end["first"] == {"orders": {"0": 0}}
    log.append(5)
    stream.restart()
    assert records_of(stream.table(end)) == log.records[:4]
    log.retire()
    with pytest.raises(KraftwireError, match="offsets 0 to 1 were deleted"):
        stream.table(end)


def test_new_topics_are_read_from_their_start(tmp_path: Path) -> None:
    first = GrowingLog(tmp_path, "orders-0")
    first.append(2)
    stream = FollowingStream(tmp_path, startingOffsets="latest")
    assert stream.trigger() == []
    later = GrowingLog(tmp_path, "with-dashes-and.dots-7", base=3)
    later.append(2)
    end = stream.offer()
    assert end["first"] == {"with-dashes-and.dots": {"7": 3}}
    stream.restart()
    assert records_of(stream.table(end)) == later.records
    stream.offset = end
    later.append(1)
    assert stream.trigger() == later.records[2:]


def test_a_stream_waits_for_an_empty_directory(tmp_path: Path) -> None:
    stream = FollowingStream(tmp_path, startingOffsets="latest")
    assert stream.trigger() == []
    log = GrowingLog(tmp_path, "orders-0")
    log.append(2)
    assert stream.trigger() == log.records
    with pytest.raises(FileNotFoundError, match="absent"):
        FollowingStream(tmp_path / "absent").trigger()


@pytest.mark.parametrize(
    ("offsets", "expected"),
    [
        ('{"orders": {"0": 2, "1": -1}}', [("orders", 0, 2), ("orders", 0, 3), ("orders", 2, 0)]),
        ("3", [("orders", 0, 3)]),
        ("latest", []),
    ],
)
def test_a_stream_starts_at_the_starting_offsets(
    tmp_path: Path, offsets: str, expected: list[tuple[str, int, int]]
) -> None:
    logs = [GrowingLog(tmp_path, f"orders-{number}") for number in range(3)]
    for log, count in zip(logs, (4, 3, 1), strict=True):
        log.append(count)
    stream = FollowingStream(tmp_path, startingOffsets=offsets, failOnDataLoss="false")
    assert [row[:3] for row in stream.trigger()] == expected


def test_unsupported_options_and_paths_are_refused(tmp_path: Path) -> None:
    log = GrowingLog(tmp_path, "orders-0")
    log.append(2)
    with pytest.raises(KraftwireError, match="endingOffsets: a stream has no end"):
        FollowingStream(tmp_path, endingOffsets=5)
    with pytest.raises(KraftwireError, match=r"ends at offset 2.*startingOffsets"):
        FollowingStream(tmp_path, startingOffsets=3).trigger()
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / log.active.name).write_bytes(log.active.read_bytes())
    with pytest.raises(KraftwireError, match="named after partitions, like orders-0"):
        FollowingStream(plain).trigger()
    for stored in ({"logOffset": 3}, {"next": {"orders": 3}}, {"next": {"orders": {"a": 3}}}):
        with pytest.raises(KraftwireError, match="checkpoint"):
            parse_stream_offset(stored)


def test_timestamps_filter_records(tmp_path: Path) -> None:
    log = GrowingLog(tmp_path, "orders-0")
    log.append(4, 4)
    stream = FollowingStream(tmp_path, startingTimestamp=1001, endingTimestamp=1003)
    assert [row[2] for row in stream.trigger()] == [1, 2, 5, 6]
    assert stream.offset["next"] == {"orders": {"0": 8}}


def test_records_appended_after_the_end_was_fixed_are_not_read(tmp_path: Path) -> None:
    log = GrowingLog(tmp_path, "orders-0")
    log.append(2, 2)
    stream = FollowingStream(tmp_path, maxRecordsPerTrigger=1)
    stream.progress.fix_end()
    log.append(3)
    GrowingLog(tmp_path, "orders-1").append(1)
    assert stream.all() == log.records[:4]
    stream.restart()
    assert len(stream.all()) == 4


def test_offsets_survive_json() -> None:
    offset = StreamOffset({("b-1", 2): 3, ("b", 10): 4, ("b", 9): 1 << 62}, {("b", 9): 0})
    assert parse_stream_offset(json.loads(json.dumps(offset.to_json()))) == offset
    assert parse_stream_offset({}) is None
    assert parse_stream_offset(StreamOffset().to_json()) == StreamOffset()


def test_a_stream_works_without_the_start_of_a_trigger(tmp_path: Path) -> None:
    log = GrowingLog(tmp_path, "orders-0")
    log.append(2)
    stream = FollowingStream(tmp_path)
    seen: list[Seen] = []
    for _ in range(3):
        end = stream.progress.log_ends().to_json()
        seen += records_of(stream.table(end))
        stream.offset = end
        log.append(1)
        stream.restart()
        log.roll()
    assert seen == log.records[:-1]
