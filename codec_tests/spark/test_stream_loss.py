"""Streams over logs that lose what was not read, and files that go while they are read."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kraftwire.log.directories.partition import Partition
from kraftwire_wire.errors import KraftwireError
from pyspark_kraftwire.options import Options
from pyspark_kraftwire.planning.plan import requested_partitions
from pyspark_kraftwire.streaming import listing
from pyspark_kraftwire.streaming.listing import Listing
from pyspark_kraftwire.streaming.offsets import Name

from codec_tests.spark.growing import FollowingStream, GrowingLog, records_of


def test_deleted_unread_offsets_are_named_in_the_error(tmp_path: Path) -> None:
    log = GrowingLog(tmp_path, "orders-0")
    log.append(2)
    stream = FollowingStream(tmp_path)
    stream.trigger()
    log.append(3)
    log.roll()
    log.append(4)
    log.retire()
    message = r"orders-0: offsets 2 to 4 were deleted .* failOnDataLoss=false continues at 5"
    with pytest.raises(KraftwireError, match=message):
        stream.trigger()
    with pytest.raises(KraftwireError, match=message):
        stream.tasks({"next": {"orders": {"0": 9}}})
    lenient = FollowingStream(tmp_path, failOnDataLoss="false")
    lenient.offset = stream.offset
    assert lenient.trigger() == log.records[5:]


def test_a_log_that_ends_before_the_stream_is_an_error(tmp_path: Path) -> None:
    log = GrowingLog(tmp_path, "orders-0")
    log.append(2, 2)
    stream = FollowingStream(tmp_path)
    stream.trigger()
    log.cut(log.active.stat().st_size // 2)
    with pytest.raises(KraftwireError, match="ends at offset 2, but the stream is at 4"):
        stream.trigger()
    log.next = 2
    log.append(1)
    lenient = FollowingStream(tmp_path, failOnDataLoss="false")
    lenient.offset = stream.offset
    assert lenient.trigger() == []
    log.append(1, 3)
    assert [row[2] for row in lenient.trigger()] == [4, 5, 6]


def test_a_log_truncated_within_a_trigger_is_an_error(tmp_path: Path) -> None:
    log = GrowingLog(tmp_path, "orders-0")
    log.append(2, 2)
    stream = FollowingStream(tmp_path)
    end = stream.offer()
    log.cut(log.active.stat().st_size // 2)
    with pytest.raises(KraftwireError, match="offsets 2 to 3 are gone: the log was truncated"):
        stream.tasks(end)
    lenient = FollowingStream(tmp_path, failOnDataLoss="false")
    assert records_of(lenient.table(end)) == log.records[:2]


def test_a_deleted_partition_stays_in_the_offset(tmp_path: Path) -> None:
    log, other = GrowingLog(tmp_path, "orders-0"), GrowingLog(tmp_path, "orders-1")
    log.append(2)
    other.append(3)
    stream = FollowingStream(tmp_path)
    stream.trigger()
    away = log.directory.rename(tmp_path.parent / f"{tmp_path.name}-away")
    other.append(1)
    assert stream.trigger() == other.records[3:]
    assert stream.offset["next"] == {"orders": {"0": 2, "1": 4}}
    stream.restart()
    away.rename(log.directory)
    log.append(1)
    assert stream.trigger() == log.records[2:]


def test_a_replaced_file_is_scanned_again(tmp_path: Path) -> None:
    log = GrowingLog(tmp_path, "orders-0")
    log.append(2, 2)
    stream = FollowingStream(tmp_path)
    stream.trigger()
    path = log.active
    path.unlink()
    log.next, log.records = 0, []
    log.append(1, 1, 1, 1, 1)  # the same offsets at other places
    assert stream.trigger() == log.records[4:]


def test_a_stream_without_the_start_of_a_trigger_never_goes_back(tmp_path: Path) -> None:
    log, other = GrowingLog(tmp_path, "orders-0"), GrowingLog(tmp_path, "orders-1")
    log.append(2, 2)
    other.append(1)
    stream = FollowingStream(tmp_path)
    end = stream.progress.log_ends().to_json()
    assert len(records_of(stream.table(end))) == 5
    stream.offset = end
    away = log.directory.rename(tmp_path.parent / f"{tmp_path.name}-away")
    assert stream.progress.log_ends().to_json() == end
    away.rename(log.directory)
    log.cut(log.active.stat().st_size // 2)
    with pytest.raises(KraftwireError, match="ends at offset 2, but the stream is at 4"):
        stream.table(stream.progress.log_ends().to_json())


def having_listed_before(stream: FollowingStream, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the next listing be what it is now, as where files go right behind it."""
    before = stream.progress._listing.partitions()
    left = [before]
    real = Listing.partitions

    def partitions(self: Listing) -> dict[Name, Partition]:
        return left.pop() if left else real(self)

    monkeypatch.setattr(Listing, "partitions", partitions)


def test_a_partition_deleted_after_the_listing_is_left_for_the_next_trigger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, other = GrowingLog(tmp_path, "orders-0"), GrowingLog(tmp_path, "orders-1")
    for one in (log, other):
        one.append(1)
    stream = FollowingStream(tmp_path)
    stream.trigger()
    for one in (log, other):
        one.append(1)
    having_listed_before(stream, monkeypatch)
    shutil.rmtree(log.directory)
    assert stream.trigger() == other.records[1:]
    assert stream.offset["next"] == {"orders": {"0": 1, "1": 2}}


@pytest.mark.parametrize("options", [{}, {"maxRecordsPerTrigger": 10}])
def test_a_segment_deleted_after_the_listing_is_reported_as_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, object]
) -> None:
    log = GrowingLog(tmp_path, "orders-0")
    log.append(3)
    log.roll()
    log.append(1)
    stream = FollowingStream(tmp_path, **options)
    if not options:
        end = stream.offer()
    having_listed_before(stream, monkeypatch)
    log.retire()
    if options:
        end = stream.offer()  # nothing is taken in
        assert end["next"] == {"orders": {"0": 0}}
        stream.offset = end
        end = {"next": {"orders": {"0": 4}}}
    with pytest.raises(KraftwireError, match="offsets 0 to 2 were deleted"):
        stream.tasks(end)


def test_a_directory_deleted_during_the_listing_is_listed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = GrowingLog(tmp_path, "orders-0")
    log.append(1)
    failures = [FileNotFoundError("gone")]

    def requested(options: Options) -> list[Partition]:
        if failures:
            raise failures.pop()
        return requested_partitions(options)

    monkeypatch.setattr(listing, "requested_partitions", requested)
    assert FollowingStream(tmp_path).trigger() == log.records
