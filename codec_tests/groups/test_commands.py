"""`kraftwire groups show` and `history` as people call them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from click.testing import Result

from kraftwire.cli.groups.group_format import ranges
from kraftwire.groups import StateBatch
from kraftwire_messages import kafka
from kraftwire_wire.records import ControlType

from codec_tests.cli.running import done, run
from codec_tests.groups.building import Log, commit
from codec_tests.groups.classic_records import KEY, assignment, member, value
from codec_tests.groups.member_records import join
from codec_tests.groups.share_records import SNAPSHOT, snapshot
from codec_tests.stored_files import BROKER

TEA = UUID(int=1)


def show(*args: str | Path) -> dict[str, dict[str, Any]]:
    printed = done("groups", "show", *map(str, args)).stdout.splitlines()
    return {group["group"]: group for group in map(json.loads, printed)}


def history(*args: str | Path) -> list[dict[str, Any]]:
    printed = done("groups", "history", *map(str, args)).stdout.splitlines()
    return [json.loads(line) for line in printed]


def table(command: str, *args: str | Path) -> Result:
    return done("groups", command, *map(str, args), "-o", "table")


# -- show ----------------------------------------------------------------------------------


def test_a_line_for_each_group_with_all_that_is_known() -> None:
    groups = show(BROKER)
    assert [*groups] == [
        "cashiers",
        "classic-drinkers",
        "new-drinkers",
        "new-stayers",
        "stayers",
        "streamers",
        "tasters",
    ]
    stayer = groups["new-stayers"]
    assert (stayer["type"], stayer["state"], stayer["epoch"]) == ("consumer", "Stable", 2)
    (has,) = stayer["members"]
    assert has["assignment"] == has["targetAssignment"]
    assert has["assignment"][0]["topic"] == "tea"
    assert len(has["assignment"][0]["topicId"]) == 22
    assert (has["memberState"], has["memberStateName"]) == (0, "Stable")
    (offset,) = groups["cashiers"]["offsets"]
    assert (offset["topic"], offset["partition"], offset["offset"]) == ("tea", 0, 6)
    assert offset["topicId"] == has["assignment"][0]["topicId"]
    assert groups["cashiers"]["pending"] == []


def test_only_what_is_asked_for() -> None:
    (group,) = show(BROKER, "--group", "stayers", "--only", "members").values()
    assert "offsets" not in group
    assert len(group["members"]) == 1
    groups = show(BROKER, "--group", "stayers", "--group", "cashiers", "--only", "offsets")
    assert [*groups] == ["cashiers", "stayers"]
    assert "members" not in groups["stayers"]
    (group,) = show(BROKER, "--group", "stayers", "--only", "groups").values()
    assert not {"members", "offsets"} & set(group)


def test_the_table() -> None:
    printed = table("show", BROKER)
    assert "7 groups" in printed.stderr
    first, second, third, fourth = printed.stdout.split("\n\n")
    assert len(first.splitlines()) == 8
    assert "consumer range" in first
    assert "(leader)" in second
    assert "2 Stable" in second
    assert third.splitlines()[1].split()[:4] == ["cashiers", "tea", "0", "6"]
    assert fourth.splitlines()[1].split()[:4] == ["tasters", "tea", "0", "20"]


def test_groups_that_are_not_there_are_an_error() -> None:
    result = run("groups", "show", BROKER, "--group", "new-stayer")
    assert result.exit_code == 2
    assert "no group 'new-stayer'; did you mean 'new-stayers'?" in result.stderr
    assert run("groups", "history", BROKER, "--group", "x").exit_code == 2


def test_paths_without_groups_are_an_error(tmp_path: Path) -> None:
    for command in ("show", "history"):
        for path in (tmp_path, tmp_path / "none", BROKER / "tea-0"):
            result = run("groups", command, path)
            assert result.exit_code == 2
            assert "Error: " in result.stderr
            assert result.stdout == ""


def test_a_log_without_records_has_no_groups(tmp_path: Path) -> None:
    directory = tmp_path / "__consumer_offsets-0"
    directory.mkdir()
    (directory / "00000000000000000000.log").touch()
    assert show(tmp_path) == {}
    printed = table("show", tmp_path)
    assert (printed.stdout, printed.stderr) == ("", "0 groups\n")


def test_pending_offsets_are_reported_apart(tmp_path: Path) -> None:
    log = Log()
    log.put(*commit("g", "tea", 0, 7))
    log.put(*commit("g", "tea", 0, 8), producer=5)
    log.write(tmp_path / "__consumer_offsets-0")
    (group,) = show(tmp_path).values()
    (offset,), (pending,) = group["offsets"], group["pending"]
    assert (offset["offset"], offset["producerId"]) == (7, None)
    assert (pending["offset"], pending["producerId"]) == (8, 5)
    assert "pending, producer 5" in table("show", tmp_path).stdout


def test_what_cannot_be_read_is_a_finding(tmp_path: Path) -> None:
    log = Log()
    log.put(KEY, value(1, member("a", assignment(tea=[0]))))
    log.put(*commit("g", "tea", 0, 8))
    path = log.write(tmp_path / "__consumer_offsets-0")
    path.write_bytes(path.read_bytes()[:-1])
    for command in ("show", "history"):
        result = run("groups", command, tmp_path)
        assert result.exit_code == 1
        assert f"{path}, byte {len(log.batches[0])}: torn tail" in result.stderr
        assert '"group":"g"' in result.stdout


def test_share_groups_have_offsets_too(tmp_path: Path) -> None:
    log = Log()
    join(log, "Share")
    message = kafka.ShareGroupStatePartitionMetadataValue
    info = message.TopicPartitionsInfo(topic_id=TEA, topic_name="tea", partitions=[2])
    at = kafka.ShareGroupStatePartitionMetadataKey(group_id="g")
    log.put(at, message(initialized_topics=[info]))
    log.write(tmp_path / "__consumer_offsets-0")
    state = Log("share")
    state.put(SNAPSHOT, snapshot(5, StateBatch(5, 9, 2, 1)))
    state.write(tmp_path / "__share_group_state-0")
    (group,) = show(tmp_path).values()
    assert (group["type"], group["state"]) == ("share", "Stable")
    assert group["topics"]["initialized"][0]["topic"] == "tea"
    (part,) = group["sharePartitions"]
    assert (part["topic"], part["partition"], part["startOffset"]) == ("tea", 2, 5)
    assert part["batches"][0]["deliveryStateName"] == "Acknowledged"
    assert "5-9 Acknowledged, 1 delivery" in table("show", tmp_path).stdout
    (event,) = history(tmp_path, "--topic", "tea", "--partition", "2")
    assert (event["log"], event["event"]) == ("__share_group_state", "share state")


def test_streams_groups_have_tasks_and_a_topology(tmp_path: Path) -> None:
    log = Log()
    join(log, "Streams")
    log.write(tmp_path / "__consumer_offsets-0")
    (group,) = show(tmp_path).values()
    (has,) = group["members"]
    task = {"subtopology": "s", "role": "active", "partitions": [0, 1]}
    assert has["assignment"] == has["targetAssignment"] == [task]
    assert group["topology"]["epoch"] == 1
    assert "active s 0-1" in table("show", tmp_path).stdout
    assert has["memberStateName"] == "Stable"
    assert "topology" in table("history", tmp_path).stdout
    (event,) = [row for row in history(tmp_path) if row["event"] == "assignment changed"]
    assert (event["type"], event["after"]["memberStateName"]) == ("streams", "Stable")


def test_ids_stand_for_names_that_nobody_knows(tmp_path: Path) -> None:
    log = Log()
    join(log, "Consumer")
    log.write(tmp_path / "__consumer_offsets-0")
    (group,) = show(tmp_path).values()
    (part,) = group["members"][0]["assignment"]
    assert (part["topic"], part["topicId"]) == (None, "AAAAAAAAAAAAAAAAAAAAAQ")
    assert "AAAAAAAAAAAAAAAAAAAAAQ 0-1" in table("show", tmp_path).stdout


def test_bytes_that_mean_nothing_are_kept(tmp_path: Path) -> None:
    log = Log()
    log.put(KEY, value(1, member("a", b"\1\2", wants=b"\3"), kind="connect"))
    log.write(tmp_path / "__consumer_offsets-0")
    (group,) = show(tmp_path).values()
    (has,) = group["members"]
    assert (has["subscription"], has["subscriptionBytes"]) == (None, "Aw==")
    assert (has["assignment"], has["assignmentBytes"]) == (None, "AQI=")
    assert "2 bytes" in table("show", tmp_path).stdout


def test_names_cannot_act_on_a_terminal(tmp_path: Path) -> None:
    log = Log()
    log.put(*commit("g\x1b[2J", "t\x1b[2Jea", 0, 1, metadata="\x1b]0;x\x07"))
    log.write(tmp_path / "__consumer_offsets-0")
    for command in ("show", "history"):
        assert "\x1b" not in table(command, tmp_path).stdout
        assert "\x1b" not in done("groups", command, tmp_path).stdout


# -- history -------------------------------------------------------------------------------


def test_what_happened_in_order(tmp_path: Path) -> None:
    log = Log()
    log.put(KEY, value(1, member("a", assignment(tea=[0, 1]))))
    log.put(*commit("g", "tea", 0, 7))
    log.put(*commit("g", "tea", 0, 8), producer=5)
    log.put(*commit("g", "tea", 0, 9), producer=6)
    log.end(6, ControlType.ABORT)
    log.end(5)
    log.put(KEY, value(2))
    log.put(*commit("g", "tea", 0, None))
    log.put(KEY, None)
    log.write(tmp_path / "__consumer_offsets-0")
    rows = history(tmp_path)
    assert [(row["offset"], row["event"]) for row in rows] == [
        (0, "generation"),
        (0, "member joined"),
        (1, "offset committed"),
        (5, "offset committed"),
        (6, "generation"),
        (6, "member left"),
        (7, "offset deleted"),
        (8, "group deleted"),
    ]
    assert (rows[3]["before"]["offset"], rows[3]["after"]["offset"]) == (7, 8)
    assert (rows[3]["after"]["recordOffset"], rows[3]["after"]["producerId"]) == (2, 5)
    assert (rows[1]["memberId"], rows[1]["before"]) == ("a", None)
    printed = table("history", tmp_path).stdout.splitlines()
    assert len(printed) == 9
    assert printed[4].endswith("tea-0  8 (was 7)")


def test_history_of_one_group_and_one_partition() -> None:
    rows = history(BROKER, "--group", "cashiers", "--topic", "tea", "--partition", "0")
    assert {row["group"] for row in rows} == {"cashiers"}
    assert [row["after"]["offset"] for row in rows] == [1, 3, 4, 6]
    assert history(BROKER, "--group", "cashiers", "--topic", "tea", "--partition", "1") == []
    last = str(rows[-1]["timestamp"])
    assert history(BROKER, "--topic", "tea", "--group", "cashiers", "--since", last) == rows[-1:]
    assert history(BROKER, "--topic", "tea", "--group", "cashiers", "--until", last) == rows[:-1]


def test_every_kind_of_event_fits_the_table() -> None:
    rows = table("history", BROKER).stdout.splitlines()
    assert len(rows) == len(history(BROKER)) + 1
    assert not any("None" in row for row in rows)


def test_a_partition_needs_its_topic() -> None:
    result = run("groups", "history", BROKER, "--partition", "1")
    assert result.exit_code == 2
    assert "--topic" in result.stderr


@pytest.mark.parametrize(
    ("numbers", "text"), [([], ""), ([3], "3"), ([0, 1, 2, 5], "0-2, 5"), ([2, 0, 1], "0-2")]
)
def test_ranges(numbers: list[int], text: str) -> None:
    assert ranges(numbers) == text
