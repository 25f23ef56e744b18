"""The command `groups show`: prints groups at the end of their logs, or at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from kraftwire.cli.groups.group_format import (
    GroupFormat,
    batches_text,
    client_text,
    member_state,
    subscription_text,
)
from kraftwire.cli.groups.reading import check_groups_exist, group_option, replay
from kraftwire.cli.options.stored import limit_option, paths_argument, time_option
from kraftwire.console.findings import Findings
from kraftwire.console.output import (
    output_option,
    print_json,
    print_note,
    print_table,
    wants_json,
    without_empty,
)
from kraftwire.console.times import format_time
from kraftwire.groups.logs import find_group_logs
from kraftwire.groups.replay import Groups
from kraftwire.groups.state import GroupState, Member
from kraftwire_wire.errors import count_of

Row = tuple[object, ...]

_GROUPS = ("group", "type", "state", "epoch", "protocol", "members", "offsets", "pending", "in")
_MEMBERS = ("group", "member", "client", "rack", "subscription", "epoch", "assignment", "target")
_OFFSETS = ("group", "topic", "partition", "offset", "committed", "epoch", "metadata", "note")
_SHARED = ("group", "topic", "partition", "start offset", "complete", "epochs", "batches")


@click.command()
@paths_argument
@group_option
@click.option(
    "--only",
    type=click.Choice(["groups", "members", "offsets"]),
    help="Only one table, or one list in the JSON.",
)
@time_option("--until", "The groups at this time: 2026-11-21T10:00Z, or milliseconds.")
@limit_option
@output_option
def show(
    paths: tuple[Path, ...],
    names: tuple[str, ...],
    only: str | None,
    until: int | None,
    limit: int,
    output: str | None,
) -> None:
    """Print groups with members and offsets: tables on a terminal, JSON Lines when piped.

    PATH is a data directory, or partitions or segments of __consumer_offsets. If it has
    __share_group_state too, the offsets of share groups are printed; if it has
    __cluster_metadata, all topics have names. Offsets of transactions that have not ended are
    pending: consumers do not see them yet.

    Exit codes: 0 done, 1 something was damaged or unknown, 2 could not do it.

    \b
    Examples:
      kraftwire groups show /var/kafka/data
      kraftwire groups show data --group billing --only offsets
      kraftwire groups show data | jq 'select(.state == "Empty") | .group'
    """
    findings = Findings()
    logs = find_group_logs(paths, limit=limit)
    groups = Groups()
    for _ in replay(logs, groups, until, findings, "groups"):
        pass  # only the final state counts
    shown = [groups[name] for name in sorted(set(names or groups.by_name) & groups.by_name.keys())]
    group_format = GroupFormat(groups.topic_names)
    if wants_json(output):
        for group in shown:
            print_json(_json(group, group_format, only))
    else:
        _print_tables(shown, group_format, only)
    print_note(count_of(len(shown), "group"))
    check_groups_exist(names, groups.by_name, until)
    findings.exit()


def _json(group: GroupState, group_format: GroupFormat, only: str | None) -> dict[str, Any]:
    obj = group_format.group_json(group)
    if only in (None, "members"):
        obj |= group_format.members_json(group)
    if only in (None, "offsets"):
        obj |= group_format.offsets_json(group)
    return obj


def _print_tables(groups: list[GroupState], group_format: GroupFormat, only: str | None) -> None:
    tables: list[tuple[str, tuple[str, ...], Iterable[Row]]] = [
        ("groups", _GROUPS, map(_group_row, groups)),
        ("members", _MEMBERS, _member_rows(groups, group_format)),
        ("offsets", _OFFSETS, _offset_rows(groups)),
        ("offsets", _SHARED, _share_rows(groups, group_format)),
    ]
    filled = [
        (columns, found)
        for name, columns, rows in tables
        if only in (None, name) and (found := list(rows))
    ]
    for number, (columns, found) in enumerate(filled):
        if number:
            click.echo()
        print_table(*without_empty(columns, found))


def _group_row(group: GroupState) -> Row:
    classic, epochs = group.classic, group.epochs
    epoch = classic.generation if classic else epochs.epoch if epochs else None
    protocol = None
    if classic is not None:
        protocol = " ".join(filter(None, (classic.protocol_type, classic.protocol)))
    return (
        group.name,
        group.type.value,
        group.state,
        epoch,
        protocol,
        len(group.members),
        len(group.offsets) or len(group.share_partitions),
        sum(map(len, group.pending.values())) or None,
        None if group.partition is None else f"__consumer_offsets-{group.partition}",
    )


def _member_rows(groups: Iterable[GroupState], group_format: GroupFormat) -> Iterator[Row]:
    for group in groups:
        for member in group.members.values():
            yield _member_row(group, member, group_format)


def _member_row(group: GroupState, member: Member, group_format: GroupFormat) -> Row:
    info, current, target = member.info, member.current, member.target
    name, client, rack, subscription = member.id, None, None, None
    if info is not None:
        name = f"{name} ({info.instance_id})" if info.instance_id else name
        if group.classic is not None and group.classic.leader == member.id:
            name += " (leader)"
        client = client_text(info)
        rack = info.rack_id
        subscription = subscription_text(info)
    epoch = assignment = None
    if current is not None:
        if current.epoch is not None:
            state = member_state(group.type, current.state) or current.state
            epoch = f"{current.epoch} {state}"
        if current.assigned is not None:
            assignment = group_format.assignment_text(current.assigned)
        elif current.assigned_bytes is not None:
            assignment = count_of(len(current.assigned_bytes), "byte")
    differs = target is not None and (current is None or target != current.assigned)
    goal = group_format.assignment_text(target) if differs and target is not None else None
    return group.name, name, client, rack, subscription, epoch, assignment, goal


def _offset_rows(groups: Iterable[GroupState]) -> Iterator[Row]:
    for group in groups:
        found = [(at, offset, None) for at, offset in group.offsets.items()]
        waiting = [
            (at, offset, f"pending, producer {producer}")
            for at, by_producer in group.pending.items()
            for producer, offset in by_producer.items()
        ]
        for at, offset, note in sorted([*found, *waiting], key=lambda row: row[0]):
            if offset.expire_timestamp is not None:
                expires = f"expires {format_time(offset.expire_timestamp)}"
                note = f"{note}; {expires}" if note else expires
            yield (
                group.name,
                at.topic,
                at.partition,
                offset.offset,
                format_time(offset.commit_timestamp),
                offset.leader_epoch,
                offset.metadata,
                note,
            )


def _share_rows(groups: Iterable[GroupState], group_format: GroupFormat) -> Iterator[Row]:
    for group in groups:
        for at, state in sorted(group.share_partitions.items()):
            part = state.get()
            yield (
                group.name,
                group_format.topic_text(None, at.topic_id),
                at.partition,
                part.start_offset,
                part.delivery_complete_count,
                f"state {part.state_epoch}, snapshot {part.snapshot_epoch}",
                batches_text(part.batches),
            )
