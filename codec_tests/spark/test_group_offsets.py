"""The tables of `group_offsets` beside `kraftwire.groups`, which replays the same log."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import Row, SparkSession

from kraftwire.groups import GroupEvent, Groups
from kraftwire.groups.changes import GroupChangeKind
from kraftwire.groups.logs import find_group_logs
from kraftwire.groups.state import CommittedOffset
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.records import ControlType
from kraftwire_wire.uuids import format_uuid
from pyspark_kraftwire.jobs.group_offsets import find_log, latest, offsets
from pyspark_kraftwire.jobs.session import reason_of
from pyspark_kraftwire.jobs.tables import write_table

from codec_tests.groups.building import Log, commit
from codec_tests.spark.scripts import run_script
from codec_tests.stored_files import BROKER

pytestmark = pytest.mark.xdist_group("spark")


def replayed(path: Path) -> tuple[Groups, list[GroupEvent]]:
    groups = Groups()
    found = list(find_group_logs([path]).replay(groups))
    return groups, [event for event in found if isinstance(event, GroupEvent)]


def milliseconds(time: datetime | None) -> int | None:
    return None if time is None else round(time.replace(tzinfo=UTC).timestamp() * 1000)


def history_of(spark: SparkSession, path: Path) -> list[Row]:
    with offsets(spark, find_log((str(path),), {})) as found:
        assert found.problems == 0
        return found.history.collect()


def latest_of(spark: SparkSession, path: Path) -> list[Row]:
    with offsets(spark, find_log((str(path),), {})) as found:
        return latest(found.history).collect()


def said(group: str, topic: Any, partition: Any, offset: CommittedOffset) -> tuple[Any, ...]:
    """A committed offset, as the replay knows it."""
    return (
        group,
        topic,
        partition,
        offset.offset,
        offset.leader_epoch,
        offset.metadata,
        offset.commit_timestamp,
        offset.expire_timestamp,
        None if offset.topic_id is None else format_uuid(offset.topic_id),
        offset.record_offset,
    )


def told(row: Row) -> tuple[Any, ...]:
    return (
        row.group,
        row.topic,
        row.partition,
        row.committedOffset,
        row.leaderEpoch,
        row.metadata,
        milliseconds(row.commitTimestamp),
        milliseconds(row.expireTimestamp),
        row.topicId,
        row.logOffset,
    )


def check(spark: SparkSession, path: Path) -> None:
    """Both the history and the newest offsets are those of the replay."""
    groups, events = replayed(path)
    rows = history_of(spark, path)
    commits = [
        said(event.group, event.change.topic, event.change.partition, event.change.after)
        for event in events
        if event.change.what is GroupChangeKind.OFFSET_COMMITTED
        and isinstance(event.change.after, CommittedOffset)
    ]
    assert commits
    assert sorted(map(told, (row for row in rows if not row.deleted)), key=str) == sorted(
        commits, key=str
    )
    deletions = [
        (event.group, event.change.topic, event.change.partition, event.offset)
        for event in events
        if event.change.what is GroupChangeKind.OFFSET_DELETED
    ]
    gone = [(row.group, row.topic, row.partition, row.logOffset) for row in rows if row.deleted]
    assert sorted(gone) == sorted(deletions)
    newest = [told(row) for row in latest_of(spark, path) if not row.deleted]
    assert newest == sorted(
        said(name, at.topic, at.partition, offset)
        for name, group in groups.by_name.items()
        for at, offset in group.offsets.items()
    )


@pytest.mark.slow
def test_the_groups_of_a_real_kafka_equal_the_replay(spark: SparkSession) -> None:
    check(spark, BROKER)


def log_with_transactions() -> Log:
    """Commits in and out of transactions, one of them aborted, and tombstones."""
    log = Log()
    log.put(*commit("readers", "tea", 0, 5, metadata="first", leader_epoch=2))
    log.put(*commit("readers", "tea", 0, 7, expire_timestamp=9), producer=1)
    log.put(*commit("readers", "tea", 1, 8, leader_epoch=-1), producer=2)
    log.end(2, ControlType.ABORT)
    log.put(*commit("readers", "tea", 2, 1))
    log.end(1)
    log.put(*commit("readers", "tea", 2, None))
    log.put(*commit("others", "tea", 0, 3))
    return log


@pytest.mark.slow
def test_transactional_commits_and_deletions_equal_the_replay(
    spark: SparkSession, tmp_path: Path
) -> None:
    log = log_with_transactions()
    log.write(tmp_path / "__consumer_offsets-0")
    check(spark, tmp_path)
    rows = history_of(spark, tmp_path)
    assert (1, 8) not in {(row.partition, row.committedOffset) for row in rows}
    assert [row.deleted for row in latest_of(spark, tmp_path)] == [False, False, True]


def test_an_open_transaction_ends_a_partition_with_a_note(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = Log()
    log.put(*commit("readers", "tea", 0, 5))
    log.put(*commit("readers", "tea", 0, 6), producer=1)
    log.put(*commit("readers", "tea", 0, 7))
    log.write(tmp_path / "__consumer_offsets-0")
    assert [row.committedOffset for row in history_of(spark, tmp_path)] == [5]
    assert "__consumer_offsets-0 ends at offset 1" in capsys.readouterr().err


@pytest.mark.slow
def test_a_damaged_batch_is_counted(spark: SparkSession, tmp_path: Path) -> None:
    log = Log()
    for offset in range(3):
        log.put(*commit("readers", "tea", 0, offset))
    directory = tmp_path / "__consumer_offsets-0"
    log.write(directory)
    (segment,) = directory.glob("*.log")
    data = bytearray(segment.read_bytes())
    data[-1] ^= 1
    segment.write_bytes(data)
    with offsets(spark, find_log((str(tmp_path),), {})) as found:
        assert found.problems == 1
        assert [row.committedOffset for row in found.history.collect()] == [0, 1]


def test_a_path_without_offsets_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KraftwireError, match="no segment of __consumer_offsets"):
        find_log((str(BROKER / "tea-0"),), {})


@pytest.mark.slow
def test_the_script_writes_a_table(spark: SparkSession, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = run_script("group_offsets", BROKER, "--latest", "--out", out)
    assert done.returncode == 0, done.stderr
    assert spark.read.parquet(str(out)).collect() == latest_of(spark, BROKER)


@pytest.mark.slow
def test_an_existing_table_is_replaced_only_on_request(spark: SparkSession, tmp_path: Path) -> None:
    frame, out = spark.range(3), str(tmp_path / "out")
    write_table(frame, out, "parquet")
    with pytest.raises(AnalysisException) as caught:
        write_table(frame, out, "parquet")
    assert "already exists" in reason_of(caught.value)
    write_table(frame.limit(1), out, "parquet", overwrite=True)
    assert spark.read.parquet(out).count() == 1


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--help"], 0, "spark-submit group_offsets.py"),
        (["{tmp}", "--newest"], 2, "--newest"),
        (["{tmp}/nothing"], 2, "nothing"),
        (["{tmp}"], 2, "no file of Kafka's"),
        (["{script}"], 2, "segments end with .log"),
    ],
)
@pytest.mark.slow
def test_the_script_reports_errors_without_a_traceback(
    tmp_path: Path, arguments: list[str], code: int, said: str
) -> None:
    places = {"tmp": tmp_path, "script": __file__}
    done = run_script("group_offsets", *(text.format(**places) for text in arguments))
    assert done.returncode == code
    assert said in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
