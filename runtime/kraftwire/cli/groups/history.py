"""The command `groups history`: prints every change of groups, in order."""

from __future__ import annotations

from pathlib import Path

import click

from kraftwire.cli.groups.group_format import (
    GroupFormat,
    batches_text,
    client_text,
    subscription_text,
)
from kraftwire.cli.groups.reading import check_groups_exist, group_option, replay
from kraftwire.cli.options.stored import limit_option, paths_argument, time_option
from kraftwire.console.failures import CouldNotDoIt
from kraftwire.console.findings import Findings
from kraftwire.console.output import PiecewiseTable, output_option, print_json, wants_json
from kraftwire.console.times import format_time
from kraftwire.groups.changes import GroupChange, GroupChangeKind, GroupEvent, GroupPart
from kraftwire.groups.logs import find_group_logs
from kraftwire.groups.replay import Groups
from kraftwire.groups.share_state import SharePartition
from kraftwire.groups.state import (
    Assignment,
    ClassicState,
    CommittedOffset,
    GroupEpochs,
    Member,
    ResolvedRegex,
    ShareTopics,
)

_COLUMNS = ("in", "offset", "time", "group", "event", "of", "what")


@click.command()
@paths_argument
@group_option
@click.option("--topic", metavar="NAME", help="Only offsets of this topic.")
@click.option("--partition", type=int, metavar="N", help="Only offsets of this partition of it.")
@time_option("--since", "The earliest time: 2026-11-21T10:00Z, or milliseconds.")
@time_option("--until", "Stop before this time.")
@limit_option
@output_option
def history(
    paths: tuple[Path, ...],
    names: tuple[str, ...],
    topic: str | None,
    partition: int | None,
    since: int | None,
    until: int | None,
    limit: int,
    output: str | None,
) -> None:
    """Print what happened to groups: a table on a terminal, JSON Lines when piped.

    PATH is as for `kraftwire groups show`. The order is that of the log, partition after
    partition; a group is in one of them. Offsets committed in a transaction appear when it
    ends, and not if it is aborted. Compaction removes all but the newest records, so expect
    gaps in the past.

    Exit codes: 0 done, 1 something was damaged or unknown, 2 could not do it.

    \b
    Examples:
      kraftwire groups history data --group billing
      kraftwire groups history data --group billing --topic orders --partition 3
      kraftwire groups history data --since 2026-11-21T10:00Z -o json
    """
    if partition is not None and topic is None:
        raise CouldNotDoIt("--partition needs --topic")
    findings = Findings()
    logs = find_group_logs(paths, limit=limit)
    groups = Groups(frozenset(names) if names else None)
    seen: set[str] = set()
    as_json = wants_json(output)
    group_format = GroupFormat(groups.topic_names)
    table = _EventTable(group_format)
    for event in replay(logs, groups, until, findings, "history", prints=True):
        seen.add(event.group)
        if since is not None and event.timestamp < since:
            continue
        if topic is not None and not _is_about(event.change, topic, partition, group_format):
            continue
        if as_json:
            print_json(group_format.event_json(event))
        else:
            table.add(event)
    table.flush()
    check_groups_exist(names, seen, until)
    findings.exit()


def _is_about(
    change: GroupChange, topic: str, partition: int | None, group_format: GroupFormat
) -> bool:
    if change.partition is None or group_format.topic_name(change.topic, change.topic_id) != topic:
        return False
    return partition is None or change.partition == partition


class _EventTable:
    """Prints events as rows, in pieces."""

    def __init__(self, group_format: GroupFormat) -> None:
        self._format = group_format
        self._table = PiecewiseTable(
            _COLUMNS, folded=("in", "time", "group", "event", "of", "what")
        )
        self.flush = self._table.flush

    def add(self, event: GroupEvent) -> None:
        change = event.change
        number = "?" if event.log_partition is None else event.log_partition
        self._table.add(
            (
                f"{event.topic}-{number}",
                event.offset,
                format_time(event.timestamp),
                event.group,
                change.what.value,
                self._subject(change),
                self._what(change),
            )
        )

    def _subject(self, change: GroupChange) -> str | None:
        if change.partition is not None:
            topic = self._format.topic_text(change.topic, change.topic_id)
            return f"{topic}-{change.partition}"
        return change.member or change.regex

    def _what(self, change: GroupChange) -> str | None:
        """Return what is new, and what it was before if that differs."""
        if change.what is GroupChangeKind.GROUP_DELETED:
            return None
        before, after = (
            None if part is None else self._text(part, change.what)
            for part in (change.before, change.after)
        )
        if change.after is None:
            return None if before is None else f"was {before}"
        return after if not before or before == after else f"{after} (was {before})"

    def _text(self, part: GroupPart, what: GroupChangeKind) -> str | None:
        match part:
            case CommittedOffset():
                return str(part.offset)
            case ClassicState():
                return f"{part.generation} {part.protocol or ''}".rstrip()
            case GroupEpochs():
                number = (
                    part.assignment_epoch
                    if what is GroupChangeKind.ASSIGNMENT_EPOCH
                    else part.epoch
                )
                return None if number is None else str(number)
            case Member():
                return self._member(part, what)
            case ResolvedRegex():
                return ", ".join(part.topics)
            case ShareTopics():
                return self._share_topics(part)
            case SharePartition():
                return _share_state(part)
            case _:
                return f"epoch {part.epoch}"

    def _member(self, member: Member, what: GroupChangeKind) -> str | None:
        current, info = member.current, member.info
        if what is GroupChangeKind.TARGET_CHANGED:
            return self._assignment(member.target)
        if what is GroupChangeKind.ASSIGNMENT_CHANGED:
            text = self._assignment(None if current is None else current.assigned)
            has_epoch = current is not None and current.epoch is not None
            return f"{text}, epoch {current.epoch}" if current and has_epoch else text
        if info is None:
            return None
        topics = subscription_text(info)
        return client_text(info) + (f" for {topics}" if topics else "")

    def _assignment(self, assignment: Assignment | None) -> str | None:
        return None if assignment is None else self._format.assignment_text(assignment) or "nothing"

    def _share_topics(self, topics: ShareTopics) -> str:
        parts = [
            (name, getattr(topics, name)) for name in ("initializing", "initialized", "deleting")
        ]
        texts = [f"{name} {self._format.assignment_text(part)}" for name, part in parts if part]
        return "; ".join(texts) or "none"


def _share_state(part: SharePartition) -> str:
    texts = [] if part.start_offset is None else [f"start offset {part.start_offset}"]
    texts += [batches_text(part.batches)] if part.batches else []
    return "; ".join(texts) or "not started"
