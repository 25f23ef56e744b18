"""`kraftwire metadata`: what it prints, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from kraftwire_messages.kafka import BeginTransactionRecord, NoOpRecord, UserScramCredentialRecord

from codec_tests.cli import running
from codec_tests.log.file_mutants import flip
from codec_tests.metadata.metadata_logs import (
    CUP,
    broker,
    moved,
    partition,
    setting,
    topic,
    write_log,
    write_snapshot,
)
from codec_tests.stored_files import BROKER, CONTROLLER

MESSAGES = [topic(), partition(), broker(), setting("a", "1"), NoOpRecord(), moved(2)]


def run(*args: object) -> Result:
    return running.run("metadata", *args)


def lines(*args: object, exit_code: int = 0) -> list[dict[str, Any]]:
    result = run(*args)
    assert result.exit_code == exit_code, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def failed(*args: object, exit_code: int = 2) -> str:
    result = run(*args)
    assert result.exit_code == exit_code
    assert not result.stdout
    return result.stderr


@pytest.fixture
def data(tmp_path: Path) -> Path:
    write_log(tmp_path, MESSAGES)
    (tmp_path / "meta.properties").write_text("version=1\ncluster.id=abc\nnode.id=3\n")
    return tmp_path


def test_show_prints_an_object_for_each_thing(data: Path) -> None:
    image, *things = lines("show", data)
    assert image == {
        "kind": "image",
        "clusterId": "abc",
        "nodeId": 3,
        "offset": 6,
        "epoch": 3,
        "timestamp": 1_700_000_000_005,
        "leader": None,
        "snapshot": None,
    }
    assert [thing["kind"] for thing in things] == ["broker", "topic", "partition", "config"]
    assert things[2]["leader"] == 2


def test_show_goes_back_in_time(data: Path) -> None:
    image, found, part = lines("show", data, "--offset", 2)
    assert image["offset"] == 2
    assert (found["name"], found["partitions"], part["leader"]) == ("tea", 1, 1)


def test_show_picks_sections_and_topics(data: Path) -> None:
    only = lines("show", data, "--only", "topics", "--only", "brokers")
    assert [thing["kind"] for thing in only] == ["image", "broker", "topic"]
    about = lines("show", data, "--topic", "tea")
    assert [thing["kind"] for thing in about] == ["image", "topic", "partition", "config"]
    assert "no topic 'cup' at offset 6" in failed("show", data, "--topic", "cup")


def test_show_prints_tables(data: Path) -> None:
    output = run("show", data, "-o", "table").stdout
    assert output.startswith("cluster abc, node 3, offset 6, epoch 3, time 2023-11-14")
    assert "partitions (1)\ntopic  partition  leader  leaderEpoch  replicas  ISR\n" in output
    assert "acls" not in output
    assert "acls (0)" in run("show", data, "-o", "table", "--only", "acls").stdout


def test_show_prints_trees(data: Path) -> None:
    rows = run("show", data, "-o", "tree").stdout.splitlines()
    at = rows.index("  topics")
    assert rows[at + 1] == "    tea"
    assert rows[at + 5 : at + 8] == ["      tea-0", "        topic: tea", "        partition: 0"]


def test_secrets_are_shown_when_asked_for(tmp_path: Path) -> None:
    credential = UserScramCredentialRecord(name="ann", mechanism=1, salt=b"hidden")
    write_log(tmp_path, [credential, setting("db.password", "hidden")])
    for command in (("show",), ("history",), ("diff", "--from-offset", 0)):
        for form in ("json", "table"):
            args = (*command, tmp_path, "-o", form)
            assert "hidden" not in run(*args).stdout
            assert "aGlkZGVu" not in run(*args).stdout
            assert "hidden" in run(*args, "--show-secrets").stdout
    assert "aGlkZGVu" in run("show", tmp_path, "-o", "table", "--show-secrets").stdout


def test_an_open_transaction_is_said(tmp_path: Path) -> None:
    write_log(tmp_path, [topic(), BeginTransactionRecord(name="t"), partition()])
    result = run("show", tmp_path)
    assert result.exit_code == 0
    assert "not applied: 1 record of the transaction 't' that begins at offset 1" in result.stderr
    assert "has not ended" in run("history", tmp_path).stderr


def test_damage_is_a_finding_and_the_rest_is_printed(data: Path) -> None:
    log = data / "__cluster_metadata-0" / "00000000000000000000.log"
    flip(log, -1)
    for command in (("show",), ("history",), ("diff", "--from-offset", 5)):
        result = run(*command, data, "-o", "json")
        assert result.exit_code == 1
        assert f"{log}, byte" in result.stderr
    assert len(lines("show", data, exit_code=1)) == 5


def test_a_gap_is_reported(tmp_path: Path) -> None:
    write_snapshot(tmp_path, 2, MESSAGES[:2])
    write_log(tmp_path, MESSAGES, base=4)
    assert "ends at offset 2, and the log starts only at 4" in failed("show", tmp_path)


def test_what_cannot_be_done_is_one_line(data: Path) -> None:
    empty = data / "empty"
    empty.mkdir()
    assert "does not exist" in failed("show", data / "nothing")
    assert "no file of Kafka's" in failed("show", empty)
    assert "neither __cluster_metadata-0 nor" in failed("show", data / "meta.properties")
    assert "the log ends at 6" in failed("show", data, "--offset", 7)
    assert "give B" in failed("diff", data)
    assert "--partition needs --topic" in failed("history", data, "--partition", 1)
    assert "the log ends at 6" in failed("history", data, "--from-offset", 7)
    assert "no record matches" in failed("history", data, "--topic", "cup", exit_code=0)


def test_diff_of_two_offsets(data: Path) -> None:
    (change,) = lines("diff", data, "--from-offset", 5, exit_code=1)
    assert change == {
        "change": "changed",
        "kind": "partition",
        "entity": "tea-0",
        "before": {"leader": 1, "leaderEpoch": 0, "partitionEpoch": 0},
        "after": {"leader": 2, "leaderEpoch": 1, "partitionEpoch": 1},
    }
    added = lines("diff", data, "--from-offset", 2, "--to-offset", 4, exit_code=1)
    assert [(row["change"], row["kind"], row["before"]) for row in added] == [
        ("added", "broker", None),
        ("added", "config", None),
    ]
    result = run("diff", data, "--from-offset", 4, "--to-offset", 5)
    assert (result.exit_code, result.stdout) == (0, "")
    assert "offsets 4 and 5: equal" in result.stderr


def test_diff_of_two_nodes(data: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    write_log(other, [*MESSAGES, topic("cup", CUP)])
    table = run("diff", data, other, "-o", "table")
    assert table.exit_code == 1
    assert table.stdout.splitlines()[1].split()[:3] == ["added", "topic", "cup"]
    assert lines("diff", data, other, "--only", "brokers") == []
    assert lines("diff", data, other, "--topic", "tea") == []
    (other / "meta.properties").write_text("version=1\ncluster.id=xyz\n")
    assert "different clusters: abc and xyz" in run("diff", data, other).stderr


def test_history_hides_no_ops(data: Path) -> None:
    result = run("history", data)
    assert [json.loads(row)["offset"] for row in result.stdout.splitlines()] == [0, 1, 2, 3, 5]
    assert "not shown: 1 no-op record" in result.stderr
    assert [row["offset"] for row in lines("history", data, "--no-ops")] == list(range(6))


def test_history_of_a_partition(data: Path) -> None:
    rows = lines("history", data, "--topic", "tea", "--partition", 0)
    assert [(row["offset"], row["partitions"][0]["leaderEpoch"]) for row in rows] == [
        (1, 0),
        (5, 1),
    ]
    table = run("history", data, "--topic", "tea", "-o", "table").stdout.splitlines()
    assert table[0].split("  ")[0] == "offset"
    assert [row.split()[0] for row in table[1:]] == ["0", "1", "3", "5"]
    assert table[-1].endswith("leader, leaderEpoch, partitionEpoch")


def test_history_of_a_broker(data: Path) -> None:
    (row,) = lines("history", data, "--broker", 1)
    assert row["type"] == "RegisterBrokerRecord"


def test_history_without_a_beginning_says_so(tmp_path: Path) -> None:
    write_log(tmp_path, [moved(2)], base=4)
    assert "the state before offset 4 is missing" in run("history", tmp_path).stderr
    write_snapshot(tmp_path, 4, [topic(), partition()])
    assert "starts at offset 4: no older state" in run("history", tmp_path).stderr


def test_names_cannot_reach_the_terminal_raw(tmp_path: Path) -> None:
    write_log(tmp_path, [topic("tea\x1b[31m"), partition(), setting("a", "\x07\n", "t\x1b")])
    for args in (("show", "-o", "table"), ("show", "-o", "tree"), ("history", "-o", "table")):
        result = run(*args, tmp_path)
        assert "\x1b" not in result.stdout
        assert "\x07" not in result.stdout


@pytest.mark.parametrize("form", ["json", "table", "tree"])
def test_a_real_controller_is_shown(form: str) -> None:
    result = run("show", CONTROLLER, "-o", form)
    assert result.exit_code == 0
    assert not result.stderr
    assert "temperatures" in result.stdout


def test_a_real_controller_and_broker_are_equal() -> None:
    assert lines("diff", CONTROLLER, BROKER) == []
