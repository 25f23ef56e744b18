"""The tables of `metadata_history` beside `kraftwire.metadata`, which replays the same log."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kraftwire.metadata.entities.entity import EntityKind
from kraftwire.metadata.history import History, HistoryStep
from kraftwire.metadata.state.names import RECOVERY_STATES
from kraftwire_messages import kafka
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.message import Message
from pyspark_kraftwire.jobs.cluster_history.history import history
from pyspark_kraftwire.jobs.cluster_history.replay import find_log
from pyspark_kraftwire.jobs.cluster_history.tables import TABLES

from codec_tests.metadata import metadata_logs as logs
from codec_tests.metadata.random_records import RandomRecords
from codec_tests.spark.scripts import run_script
from codec_tests.stored_files import CONTROLLER

pytestmark = pytest.mark.xdist_group("spark")

Rows = list[dict[str, Any]]


def tables(spark: SparkSession, path: Path, *names: str) -> dict[str, Rows]:
    """The rows of some tables; of all where none is named."""
    with history(spark, find_log((str(path),), {})) as told:
        return {
            name: [row.asDict(recursive=True) for row in told.table(name).collect()]
            for name in names or TABLES
        }


def steps(path: Path) -> list[HistoryStep]:
    """What the replay says; records that do not fit do nothing."""
    return list(History(path, report=lambda _: None))


def changes(found: Iterable[HistoryStep], kind: EntityKind) -> list[tuple[int, Any]]:
    """What changed of a kind: offsets with the states then, None where one was removed."""
    return [
        (step.offset, change) for step in found for change in step.changes if change.kind is kind
    ]


def expected_partitions(
    found: Iterable[HistoryStep], fields: tuple[str, ...]
) -> list[tuple[Any, ...]]:
    """The changes of partitions in some fields: offset, id and number, the fields then."""
    states = {name: number for number, name in RECOVERY_STATES.items()}
    rows = []
    for offset, change in changes(found, EntityKind.PARTITION):
        state = change.after or change.before
        where = offset, state["topicId"], state["partition"]
        if change.after is None:
            rows.append((*where, *(None for _ in fields)))
        elif change.before is None or set(fields) & set(change.changed):
            after = change.after | {
                "leaderRecoveryState": states[change.after["leaderRecoveryState"]]
            }
            rows.append((*where, *(after[name] for name in fields)))
    return sorted(rows, key=lambda row: row[:3])


def told_partitions(rows: Rows, fields: tuple[str, ...]) -> list[tuple[Any, ...]]:
    found = [
        (row["offset"], row["topicId"], row["partition"], *(row[name] for name in fields))
        for row in rows
    ]
    return sorted(found, key=lambda row: row[:3])


ASSIGNMENT = ("replicas", "addingReplicas", "removingReplicas", "directories")
LEADERSHIP = (
    "leader",
    "leaderEpoch",
    "isr",
    "eligibleLeaderReplicas",
    "lastKnownElr",
    "leaderRecoveryState",
)


def check_partitions(found: list[HistoryStep], told: dict[str, Rows]) -> None:
    assert told_partitions(told["partitions"], ASSIGNMENT) == expected_partitions(found, ASSIGNMENT)
    assert told_partitions(told["leaders"], LEADERSHIP) == expected_partitions(found, LEADERSHIP)


def check_topics(found: list[HistoryStep], told: dict[str, Rows]) -> None:
    created = {
        (offset, change.after["name"], change.after["topicId"])
        for offset, change in changes(found, EntityKind.TOPIC)
        if change.before is None
    }
    deleted = {
        (offset, change.before["topicId"])
        for offset, change in changes(found, EntityKind.TOPIC)
        if change.after is None
    }
    rows = told["topics"]
    assert {(row["createdOffset"], row["topic"], row["topicId"]) for row in rows} == created
    ends = {(r["deletedOffset"], r["topicId"]) for r in rows if r["deletedOffset"] is not None}
    assert ends == deleted


def check_brokers(found: list[HistoryStep], told: dict[str, Rows]) -> None:
    """What changed must be told; events that changed nothing may be told too."""
    rows = {(row["offset"], row["brokerId"]): row for row in told["brokers"]}
    expected = changes(found, EntityKind.BROKER)
    assert expected
    for offset, change in expected:
        state = change.after or change.before
        row = rows.pop((offset, state["id"]))
        if change.after is None:
            assert row["event"] == "unregistered"
            continue
        assert row["brokerEpoch"] == state["epoch"]
        for name in ("incarnationId", "fenced", "inControlledShutdown", "rack"):
            assert row[name] == state[name]
        assert sorted(row["logDirs"]) == sorted(state["logDirs"])
        assert row["cordonedLogDirs"] == state["cordonedLogDirs"]
        points = [(point["name"], point["host"], point["port"]) for point in row["endPoints"]]
        told_points = [
            (point["name"], point["host"], point["port"]) for point in state["endpoints"]
        ]
        assert sorted(points) == sorted(told_points)
    about = {(step.offset, ref.identity) for step in found for ref in step.refs}
    assert rows.keys() <= about
    assert {row["event"] for row in rows.values()} <= {
        "changed",
        "registered",
        "fenced",
        "unfenced",
    }


@pytest.mark.slow
def test_the_history_of_a_real_cluster_equals_the_replay(spark: SparkSession) -> None:
    found, told = steps(CONTROLLER), tables(spark, CONTROLLER)
    check_topics(found, told)
    check_partitions(found, told)
    check_brokers(found, told)
    assert [row["deletedOffset"] for row in told["topics"] if row["topic"] == "short-lived"] == [60]
    (epoch,) = told["leader_epochs"]
    assert (epoch["offset"], epoch["leaderEpoch"], epoch["leaderId"]) == (0, 1, 1)
    assert (epoch["voterIds"], epoch["grantingVoterIds"]) == ([1], [1])
    ((_, change),) = changes(found, EntityKind.VOTER)
    (voter,) = told["voters"]
    assert (voter["voterId"], voter["directoryId"]) == (1, change.after["directoryId"])
    assert voter["endPoints"][0]["port"] == change.after["endpoints"][0]["port"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [3, 11])
def test_the_history_of_random_records_equals_the_replay(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    logs.write_log(tmp_path, RandomRecords(seed).take(500))
    found, told = steps(tmp_path), tables(
        spark, tmp_path, "topics", "partitions", "leaders", "brokers"
    )
    check_partitions(found, told)
    check_brokers(found, told)


BEGIN = kafka.BeginTransactionRecord(name="several")
END, ABORT = kafka.EndTransactionRecord(), kafka.AbortTransactionRecord(reason="no")
MESSAGES: list[Message] = [
    logs.topic("tea", logs.TEA),
    logs.partition(),
    BEGIN,
    logs.moved(2),
    logs.topic("never"),
    ABORT,
    BEGIN,
    logs.moved(3),
    logs.broker(),
    END,
    BEGIN,
    logs.moved(1),  # dropped: another begins
    BEGIN,
    logs.moved(2),
    END,
    END,  # without a beginning
    logs.moved(3),
    BEGIN,
    logs.topic("cup", logs.CUP),  # never ends
]


@pytest.mark.slow
def test_aborted_and_unfinished_transactions_do_not_count(
    spark: SparkSession, tmp_path: Path
) -> None:
    logs.write_log(tmp_path, MESSAGES)
    found, told = steps(tmp_path), tables(spark, tmp_path)
    check_topics(found, told)
    check_partitions(found, told)
    assert [row["leader"] for row in told["leaders"]] == [1, 3, 2, 3]
    assert [row["event"] for row in told["brokers"]] == ["registered"]


def test_a_log_without_its_start_is_replayed_from_a_snapshot(
    spark: SparkSession, tmp_path: Path
) -> None:
    logs.write_log(tmp_path, [logs.moved(3), logs.moved(2), logs.moved(3)], base=10)
    logs.write_snapshot(tmp_path, 11, [logs.topic(), logs.partition(leader=3)])
    told = tables(spark, tmp_path, "topics", "leaders")
    assert [(row["offset"], row["leader"]) for row in told["leaders"]] == [
        (None, 3),
        (11, 2),
        (12, 3),
    ]
    (topic,) = told["topics"]
    assert (topic["topic"], topic["createdOffset"]) == ("tea", None)


def test_damage_is_counted_and_the_rest_is_replayed(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = logs.write_log(tmp_path, [logs.topic(), logs.partition(), logs.moved(2), logs.moved(3)])
    data = bytearray(path.read_bytes())
    data[len(data) // 2 + 70] ^= 1
    path.write_bytes(data)
    with history(spark, find_log((str(tmp_path),), {})) as told:
        damage, hole = capsys.readouterr().err.splitlines()
        assert "the CRC does not match" in damage
        assert "offsets 2 to 2 are missing" in hole
        assert told.problems == 2
        assert [row.topic for row in told.table("topics").collect()] == ["tea"]


def test_a_path_without_a_metadata_log_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tea-0").mkdir()
    (tmp_path / "tea-0" / "00000000000000000000.log").touch()
    with pytest.raises(KraftwireError, match="no segment of __cluster_metadata"):
        find_log((str(tmp_path),), {})
    snapshot = logs.write_snapshot(tmp_path, 5, [logs.topic()])
    with pytest.raises(KraftwireError, match="a snapshot has no history"):
        find_log((str(snapshot),), {})


@pytest.mark.slow
def test_the_script_writes_a_table(spark: SparkSession, tmp_path: Path) -> None:
    done = run_script("metadata_history", CONTROLLER, "--table", "brokers", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    frame = spark.read.parquet(str(tmp_path / "brokers"))
    written = [row.asDict(recursive=True) for row in frame.collect()]
    (rows,) = tables(spark, CONTROLLER, "brokers").values()
    assert sorted(written, key=str) == sorted(rows, key=str)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--help"], 0, "spark-submit metadata_history.py"),
        (["--tables", "topics"], 2, "--tables"),
        (["{tmp}/nothing", "--table", "topics"], 2, "nothing"),
        (["{tmp}", "--table", "topics"], 2, "no file of Kafka's"),
        (["{tmp}"], 2, "one to print with --table"),
    ],
)
@pytest.mark.slow
def test_the_script_reports_errors_without_a_traceback(
    tmp_path: Path, arguments: list[str], code: int, said: str
) -> None:
    done = run_script("metadata_history", *(text.format(tmp=tmp_path) for text in arguments))
    assert done.returncode == code
    assert said in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_ending_offsets_end_the_history(spark: SparkSession, tmp_path: Path) -> None:
    logs.write_log(tmp_path, [logs.topic(), logs.partition(), logs.moved(2), logs.moved(3)])
    with history(spark, find_log((str(tmp_path),), {"endingOffsets": "3"})) as told:
        assert [row.leader for row in told.table("leaders").collect()] == [1, 2]


@pytest.mark.parametrize("name", ["startingOffsets", "topics", "isolation"])
def test_options_that_exclude_records_are_refused(tmp_path: Path, name: str) -> None:
    logs.write_log(tmp_path, [logs.topic()])
    with pytest.raises(KraftwireError, match=f"option {name.lower()}: leave it out"):
        find_log((str(tmp_path),), {name: "1"})
