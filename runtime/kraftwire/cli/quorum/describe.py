"""The command `quorum describe`: prints the leader, and each replica's progress.

Names are those of `kafka-metadata-quorum`, or of KIP-856 if the command is spelled that way. In
JSON they begin with a small letter.
"""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import click

from kraftwire.cli.options.connection import (
    QuorumTarget,
    format_directory_id,
    format_listener,
    quorum_options,
)
from kraftwire.console.output import output_option, print_json, print_rows, print_table, wants_json
from kraftwire.quorum.admin import Quorum, ReplicaStatus

_OTHER_NAMES = {"NodeId": "ReplicaId", "DirectoryId": "ReplicaUuid"}


@click.command("describe")
@click.option("--status", is_flag=True, help="Show the state of the quorum; the default.")
@click.option("--replication", is_flag=True, help="Show a row for each replica.")
@click.option("--human-readable", is_flag=True, help="Show how long ago a time was.")
@click.option("--kip-856", "is_kip", is_flag=True, hidden=True)
@quorum_options
@output_option
def describe(
    status: bool,
    replication: bool,
    human_readable: bool,
    is_kip: bool,
    target: QuorumTarget,
    output: str | None,
) -> None:
    """Show the leader, voters and observers of a quorum, and their progress.

    Observers are brokers, and controllers that are not voters. An offset or a time is left out
    if the leader does not know it.

    Exit codes: 0 done, 2 could not do it.

    \b
    Examples:
      kraftwire quorum describe --status --bootstrap-controller localhost:9093
      kraftwire quorum describe --replication --bootstrap-server broker:9092 -o json
    """
    if status and replication:
        raise click.UsageError("--status and --replication exclude each other")
    quorum = asyncio.run(target.describe())
    if not replication:
        _print_status(_status_of(quorum, is_kip=is_kip), as_json=wants_json(output))
        return
    now = time.time_ns() // 1_000_000 if human_readable else None
    rows = [_rename(_replica_row(one, role, now), is_kip) for one, role in _replicas_of(quorum)]
    cells = [(_json(row), list(row.values())) for row in rows]
    print_rows(output, list(rows[0]) if rows else [], cells)


def _status_of(quorum: Quorum, *, is_kip: bool) -> dict[str, Any]:
    behind, leader = quorum.furthest_behind, quorum.leader
    row: dict[str, Any] = {
        "ClusterId": quorum.cluster_id,
        "LeaderId": quorum.leader_id,
        "LeaderEpoch": quorum.leader_epoch,
        "HighWatermark": quorum.high_watermark,
        "MaxFollowerLag": None if behind is None else behind.lag,
        "MaxFollowerLagTimeMs": _lag_ms(leader, behind),
    }
    if is_kip:
        could_be = [one for one in quorum.observers if one.directory_id is not None]
        row["CurrentVoters"] = [_key(one, "uuid") for one in quorum.voters]
        row["CouldBeVoters"] = [_key(one, "uuid") for one in could_be]
    else:
        row["CurrentVoters"] = [
            {**_key(one, "directoryId"), "endpoints": [format_listener(at) for at in one.listeners]}
            for one in quorum.voters
        ]
        row["CurrentObservers"] = [_key(one, "directoryId") for one in quorum.observers]
    return row


def _lag_ms(leader: ReplicaStatus | None, behind: ReplicaStatus | None) -> int | None:
    """Return the lag of the slowest voter, in ms; None if it is unknown."""
    if leader is None or behind is None:
        return None
    if leader is behind:
        return 0
    ours, theirs = leader.last_caught_up_timestamp, behind.last_caught_up_timestamp
    return None if ours is None or theirs is None else max(ours - theirs, 0)


def _key(one: ReplicaStatus, name: str) -> dict[str, Any]:
    return {"id": one.replica_id, name: format_directory_id(one.directory_id)}


def _replicas_of(quorum: Quorum) -> list[tuple[ReplicaStatus, str]]:
    """Return all replicas with their roles, the leader first."""
    leader = quorum.leader
    found = [] if leader is None else [(leader, "Leader")]
    found += [(one, "Follower") for one in quorum.voters if one is not leader]
    return found + [(one, "Observer") for one in quorum.observers if one is not leader]


def _replica_row(one: ReplicaStatus, role: str, now: int | None) -> dict[str, Any]:
    """Return a replica as a row; with `now`, its times are relative to that."""
    return {
        "NodeId": one.replica_id,
        "DirectoryId": format_directory_id(one.directory_id),
        "LogEndOffset": one.log_end_offset,
        "Lag": one.lag,
        "LastFetchTimestamp": _time(one.last_fetch_timestamp, now),
        "LastCaughtUpTimestamp": _time(one.last_caught_up_timestamp, now),
        "Status": role,
    }


def _time(at: int | None, now: int | None) -> int | str | None:
    return at if at is None or now is None else f"{max(now - at, 0)} ms ago"


def _rename(row: dict[str, Any], is_kip: bool) -> dict[str, Any]:
    if not is_kip:
        return row
    return {_OTHER_NAMES.get(name, name): value for name, value in row.items()}


def _print_status(row: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(_json(row))
        return
    texts = [
        (name, json.dumps(value) if isinstance(value, list) else value)
        for name, value in row.items()
    ]
    print_table(("name", "value"), texts, folded=("value",))


def _json(row: dict[str, Any]) -> dict[str, Any]:
    return {name[0].lower() + name[1:]: value for name, value in row.items()}
