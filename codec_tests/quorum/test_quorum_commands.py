"""`kraftwire quorum`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kraftwire.cli.quorum.group import as_command
from kraftwire.log.small_files.properties import MetaProperties, encode_meta_properties
from kraftwire_messages.kafka import AddRaftVoterRequest, RemoveRaftVoterRequest
from kraftwire_wire.numbers import ErrorCode
from kraftwire_wire.uuids import format_uuid

from codec_tests.cli.running import done, run
from codec_tests.quorum.quorums import DIRECTORIES, Node, running

IDS = [format_uuid(one) for one in DIRECTORIES]


def rows(*arguments: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done("quorum", *arguments).stdout.splitlines()]


def test_the_status_is_one_object() -> None:
    with running([Node()]) as (server,):
        (row,) = rows("describe", "--status", "--bootstrap-controller", server)
    assert row == {
        "clusterId": "the-cluster",
        "leaderId": 1,
        "leaderEpoch": 7,
        "highWatermark": 95,
        "maxFollowerLag": None,
        "maxFollowerLagTimeMs": None,
        "currentVoters": [
            {
                "id": number,
                "directoryId": IDS[number - 1],
                "endpoints": [f"CONTROLLER://host{number}:{9090 + number}"],
            }
            for number in (1, 2, 3)
        ],
        "currentObservers": [{"id": 3, "directoryId": IDS[3]}, {"id": 9, "directoryId": None}],
    }


def test_replication_is_a_row_for_each_replica() -> None:
    with running([Node()]) as (server,):
        found = rows("describe", "--replication", "--bootstrap-server", server)
    assert [(row["nodeId"], row["status"]) for row in found] == [
        (1, "Leader"),
        (2, "Follower"),
        (3, "Follower"),
        (3, "Observer"),
        (9, "Observer"),
    ]
    assert found[1] == {
        "nodeId": 2,
        "directoryId": IDS[1],
        "logEndOffset": 90,
        "lag": 10,
        "lastFetchTimestamp": 4400,
        "lastCaughtUpTimestamp": 4400,
        "status": "Follower",
    }


def test_tables_have_kafkas_names() -> None:
    with running([Node()]) as (server,):
        where = ("--bootstrap-controller", server, "-o", "table")
        status = done("quorum", "describe", *where).stdout
        replication = done("quorum", "describe", "--replication", "--human-readable", *where).stdout
    assert "LeaderEpoch" in status
    assert '"CONTROLLER://host2:9092"' in status
    head, *_ = replication.splitlines()
    assert head.split()[:3] == ["NodeId", "DirectoryId", "LogEndOffset"]
    assert " ms ago" in replication


def test_the_spelling_of_kip_856_shows_uuids_and_who_could_be_a_voter() -> None:
    with running([Node()]) as (server,):
        (status,) = rows("--bootstrap-server", server, "--describe")
        replication = rows("--describe", "replication", "--bootstrap-server", server)
    assert status["currentVoters"][0] == {"id": 1, "uuid": IDS[0]}
    assert status["couldBeVoters"] == [{"id": 3, "uuid": IDS[3]}]
    assert (replication[0]["replicaId"], replication[0]["replicaUuid"]) == (1, IDS[0])


def test_the_spelling_of_kip_856_adds_and_removes() -> None:
    node = Node()
    with running([node]) as (server,):
        key = ("--replicaId", "3", "--replicaUuid", IDS[3])
        (added,) = rows("--bootstrap-server", server, "--add-voter", *key)
        (removed,) = rows("--remove-voter", *key, "--bootstrap-server", server)
    assert added["done"] == "added"
    assert added["endpoints"] == ["CONTROLLER://host3:9093"]  # that of the voter it replaces
    assert removed == {"done": "removed", "controllerId": 3, "directoryId": IDS[3]}
    assert node.asked_for(AddRaftVoterRequest) == node.asked_for(RemoveRaftVoterRequest) == 1


def test_options_before_a_command_are_moved_behind_it() -> None:
    assert as_command(["--bootstrap-server", "a:1", "describe", "--status"]) == [
        "describe",
        "--bootstrap-server",
        "a:1",
        "--status",
    ]
    assert as_command(["--bootstrap-server=a:1", "--describe", "--dry-run", "-o", "json"]) == [
        "describe",
        "--kip-856",
        "--bootstrap-server=a:1",
        "--dry-run",
        "-o",
        "json",
    ]
    assert as_command(["describe", "--describe"]) == ["describe", "--describe"]
    assert as_command(["--help"]) == ["--help"]
    assert as_command([]) == []


def test_two_commands_are_one_too_many() -> None:
    result = run("quorum", "--add-voter", "--remove-voter")
    assert result.exit_code == 2
    assert "--remove-voter is a second command" in result.stderr


def test_a_controller_is_added_by_its_ids_and_its_listener() -> None:
    node = Node()
    with running([node]) as (server,):
        (row,) = rows(
            "add-controller",
            *("--bootstrap-controller", server, "--controller-id", "4"),
            *("--directory-id", IDS[3], "--listener", "CONTROLLER://[::1]:9094"),
        )
    assert row["endpoints"] == ["CONTROLLER://[::1]:9094"]
    (asked,) = node.asked
    assert isinstance(asked, AddRaftVoterRequest)
    assert (asked.voter_id, asked.voter_directory_id) == (4, DIRECTORIES[3])
    assert (asked.listeners[0].host, asked.listeners[0].port) == ("::1", 9094)


def server_properties(directory: Path, port: int = 9095) -> Path:
    data = directory / "data"
    data.mkdir()
    file = directory / "server.properties"
    file.write_text(
        "process.roles=controller\nnode.id=5\ncontroller.listener.names=CONTROLLER\n"
        f"listeners=CONTROLLER://localhost:{port}\nlog.dirs={data}\n"
        "controller.quorum.bootstrap.servers=localhost:9093\n"
    )
    return file


@pytest.mark.parametrize("option", ["--config", "--command-config"])
def test_a_controller_is_added_by_its_settings(tmp_path: Path, option: str) -> None:
    config, node = server_properties(tmp_path), Node()
    meta = MetaProperties(1, "c", 5, IDS[3])
    (tmp_path / "data" / "meta.properties").write_bytes(encode_meta_properties(meta))
    with running([node]) as (server,):
        where = ("--bootstrap-controller", server)
        (row,) = rows(*where, option, str(config), "add-controller")
    assert row == {
        "done": "added",
        "controllerId": 5,
        "directoryId": IDS[3],
        "endpoints": ["CONTROLLER://localhost:9095"],
    }


def test_a_controller_that_is_not_formatted_is_told(tmp_path: Path) -> None:
    config = server_properties(tmp_path)
    result = run("quorum", "add-controller", "--bootstrap-controller", "a:1", "-c", str(config))
    assert result.exit_code == 2
    assert "kraftwire storage format" in result.stderr


def test_a_controller_without_a_port_is_told(tmp_path: Path) -> None:
    config = server_properties(tmp_path, port=0)
    result = run("quorum", "add-controller", "--bootstrap-controller", "a:1", "-c", str(config))
    assert result.exit_code == 2
    assert "--listener" in result.stderr


def test_a_dry_run_changes_nothing_and_finds_what_is_in_the_way() -> None:
    node = Node()
    with running([node]) as (server,):
        where = ("--bootstrap-controller", server, "--dry-run")
        add = ("quorum", "add-controller", *where, "--listener", "CONTROLLER://h:1")
        remove = ("quorum", "remove-controller", *where)
        ids = ("--controller-id", "{}", "--controller-directory-id", "{}")

        def with_ids(number: int, directory: str) -> list[str]:
            return [ids[0], str(number), ids[2], directory]

        assert "is a voter with" in run(*add, *with_ids(3, IDS[3])).stderr
        assert "is not an observer" in run(*add, *with_ids(8, IDS[3])).stderr
        assert run(*add, *with_ids(8, IDS[3])).exit_code == 1
        assert "there is no voter 3" in run(*remove, *with_ids(3, IDS[3])).stderr
        result = done(*remove, *with_ids(3, IDS[2]))
    assert json.loads(result.stdout)["done"] == "would be removed"
    assert not node.asked_for(AddRaftVoterRequest)
    assert not node.asked_for(RemoveRaftVoterRequest)


def test_what_the_quorum_refuses_is_told() -> None:
    with running([Node(error=ErrorCode.VOTER_NOT_FOUND)]) as (server,):
        result = run(
            *("quorum", "remove-controller", "--bootstrap-controller", server),
            *("--controller-id", "3", "--controller-directory-id", IDS[3]),
        )
    assert result.exit_code == 2
    assert "127 VOTER_NOT_FOUND" in result.stderr


def test_nobody_there_is_told() -> None:
    with running([Node()]) as (server,):
        pass
    result = run("quorum", "describe", "--bootstrap-controller", server)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: no leader was found: {server}: ")


def test_several_servers_are_asked() -> None:
    with running([Node(leads=False), Node()]) as servers:
        assert rows("describe", "--bootstrap-controller", ",".join(servers))
        first, second = servers
        twice = ("--bootstrap-controller", first, "--bootstrap-controller", second)
        assert rows("describe", *twice)


BAD = {
    "neither was given": ("describe",),
    "both were given": ("describe", "--bootstrap-server", "a:1", "--bootstrap-controller", "a:1"),
    "is not an address": ("describe", "--bootstrap-server", "nowhere"),
    "exclude each other": ("describe", "--status", "--replication", "--bootstrap-server", "a:1"),
    "is not an id": ("remove-controller", "--controller-id", "1", "--directory-id", "x"),
    "is not a listener": ("add-controller", "--listener", "host:1"),
    "identify the controller": ("add-controller", "--bootstrap-server", "a:1"),
    "No such file": ("describe", "--bootstrap-server", "a:1", "--command-config", "/nowhere"),
}


@pytest.mark.parametrize(("reason", "arguments"), BAD.items(), ids=BAD)
def test_arguments_that_cannot_be_are_told(reason: str, arguments: tuple[str, ...]) -> None:
    result = run("quorum", *arguments)
    assert result.exit_code == 2
    assert reason in result.stderr


def test_settings_of_the_connection_are_read(tmp_path: Path) -> None:
    config = tmp_path / "client.properties"
    config.write_text("security.protocol=SSL\nssl.truststore.location=\\\n  /nowhere.pem\n")
    where = ("--bootstrap-server", "127.0.0.1:1", "--command-config", str(config))
    result = run("quorum", "describe", *where)
    assert result.exit_code == 2
    assert "/nowhere.pem" in result.stderr
