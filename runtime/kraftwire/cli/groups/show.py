"""The command `groups show`: groups as their logs leave them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from kraftwire.cli.groups.forms import (
    GroupForms,
    batches_text,
    client_text,
    member_state,
    subscription_text,
)
from kraftwire.cli.groups.options import check_found, group_option, replay
from kraftwire.cli.options.stored import limit_option, paths_argument, time_option
from kraftwire.console.findings import Findings
from kraftwire.console.output import (
    output_option,
    print_json,
    print_table,
    wants_json,
    without_empty,
)
from kraftwire.console.times import format_time
from kraftwire.groups.reading import find_group_logs
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
    help="One table, or one list in the JSON, instead of all.",
)
@time_option("--until", "Groups as they were at a time: 2026-11-21T10:00Z, or milliseconds.")
@limit_option
@output_option
def show(
    paths: tuple[Path, ...],
    wanted: tuple[str, ...],
    only: str | None,
    until: int | None,
    limit: int,
    output: str | None,
) -> None:
    """Print groups with members and offsets: tables on a terminal, JSON Lines when piped.

    PATH is a data directory, or partitions or segments of __consumer_offsets. Where
    __share_group_state lies below it too, the offsets of share groups are printed; where
    __cluster_metadata does, all topics have names. Offsets of transactions that have not
    ended are pending: consumers do not see them yet.

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
        pass  # what counts is how the groups are in the end
    names = sorted(set(wanted or groups.by_name) & groups.by_name.keys())
    shown = [groups[name] for name in names]
    forms = GroupForms(groups.topic_names)
    if wants_json(output):
        for group in shown:
            print_json(_json(group, forms, only))
    else:
        _print_tables(shown, forms, only)
    click.echo(count_of(len(shown), "group"), err=True)
    check_found(wanted, groups.by_name, until)
    findings.exit()


def _json(group: GroupState, forms: GroupForms, only: str | None) -> dict[str, Any]:
    obj = forms.group(group)
    if only in (None, "members"):
        obj |= forms.members(group)
    if only in (None, "offsets"):
        obj |= forms.offsets(group)
    return obj


def _print_tables(groups: list[GroupState], forms: GroupForms, only: str | None) -> None:
    tables: dict[str, list[tuple[tuple[str, ...], Iterable[Row]]]] = {
        "groups": [(_GROUPS, map(_group_row, groups))],
        "members": [(_MEMBERS, _member_rows(groups, forms))],
        "offsets": [(_OFFSETS, _offset_rows(groups)), (_SHARED, _shared_rows(groups, forms))],
    }
    first = True
    for name, parts in tables.items():
        if only not in (None, name):
            continue
        for columns, rows in parts:
            filled = list(rows)
            if not filled:
                continue
            if not first:
                click.echo()
            first = False
            print_table(*without_empty(columns, filled))


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


def _member_rows(groups: Iterable[GroupState], forms: GroupForms) -> Iterator[Row]:
    for group in groups:
        for member in group.members.values():
            yield _member_row(group, member, forms)


def _member_row(group: GroupState, member: Member, forms: GroupForms) -> Row:
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
            assignment = forms.assignment_text(current.assigned)
        elif current.assigned_bytes is not None:
            assignment = count_of(len(current.assigned_bytes), "byte")
    differs = target is not None and (current is None or target != current.assigned)
    wanted = forms.assignment_text(target) if differs and target is not None else None
    return group.name, name, client, rack, subscription, epoch, assignment, wanted


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


def _shared_rows(groups: Iterable[GroupState], forms: GroupForms) -> Iterator[Row]:
    for group in groups:
        for at, state in sorted(group.share_partitions.items()):
            topic = forms.topic(None, at.topic_id)
            part = state.get()
            yield (
                group.name,
                topic["topic"] or topic["topicId"],
                at.partition,
                part.start_offset,
                part.delivery_complete_count,
                f"state {part.state_epoch}, snapshot {part.snapshot_epoch}",
                batches_text(part.batches),
            )
