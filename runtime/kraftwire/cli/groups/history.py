"""The command `groups history`: everything that happened to groups, in order."""

from __future__ import annotations

from pathlib import Path

import click

from kraftwire.cli.groups.forms import GroupForms, batches_text, client_text, subscription_text
from kraftwire.cli.groups.options import check_found, group_option, replay
from kraftwire.cli.options.stored import limit_option, paths_argument, time_option
from kraftwire.console.failures import CouldNotDoIt
from kraftwire.console.findings import Findings
from kraftwire.console.output import PiecewiseTable, output_option, print_json, wants_json
from kraftwire.console.times import format_time
from kraftwire.groups.changes import Change, Event, Part, What
from kraftwire.groups.reading import find_group_logs
from kraftwire.groups.replay import Groups
from kraftwire.groups.share_state import SharePartition
from kraftwire.groups.state import (
    Classic,
    CommittedOffset,
    Epochs,
    Member,
    ResolvedRegex,
    ShareTopics,
)

_COLUMNS = ("in", "offset", "time", "group", "event", "of", "what")
_ASSIGNED = (What.ASSIGNMENT_CHANGED, What.TARGET_CHANGED)


@click.command()
@paths_argument
@group_option
@click.option("--topic", metavar="NAME", help="Only offsets of this topic.")
@click.option("--partition", type=int, metavar="N", help="Only offsets of this partition of it.")
@time_option("--since", "The earliest time: 2026-11-21T10:00Z, or milliseconds.")
@time_option("--until", "The first time not wanted any more.")
@limit_option
@output_option
def history(
    paths: tuple[Path, ...],
    wanted: tuple[str, ...],
    topic: str | None,
    partition: int | None,
    since: int | None,
    until: int | None,
    limit: int,
    output: str | None,
) -> None:
    """Print what happened to groups: a table on a terminal, JSON Lines when piped.

    PATH is as for `kraftwire groups show`. The order is that of the log, partition after
    partition; a group lies in one of them. What was committed in a transaction happened when
    the transaction ended, and what was aborted never did. Compaction removes what is not the
    newest: of old times, expect gaps.

    Exit codes: 0 done, 1 something was damaged or unknown, 2 could not do it.

    \b
    Examples:
      kraftwire groups history data --group billing
      kraftwire groups history data --group billing --topic orders --partition 3
      kraftwire groups history data --since 2026-11-21T10:00Z -o json
    """
    if partition is not None and topic is None:
        raise CouldNotDoIt("--partition goes with --topic")
    findings = Findings()
    logs = find_group_logs(paths, limit=limit)
    groups = Groups(frozenset(wanted) if wanted else None)
    seen: set[str] = set()
    as_json = wants_json(output)
    forms = GroupForms(groups.topic_names)
    table = _Table(forms)
    for event in replay(logs, groups, until, findings, "history", prints=True):
        seen.add(event.group)
        if since is not None and event.timestamp < since:
            continue
        if topic is not None and not _is_about(event.change, topic, partition, forms):
            continue
        if as_json:
            print_json(forms.event(event))
        else:
            table.add(event)
    table.flush()
    check_found(wanted, seen, until)
    findings.exit()


def _is_about(change: Change, topic: str, partition: int | None, forms: GroupForms) -> bool:
    if change.partition is None or forms.name(change.topic, change.topic_id) != topic:
        return False
    return partition is None or change.partition == partition


class _Table:
    """Events as rows, printed in pieces."""

    def __init__(self, forms: GroupForms) -> None:
        self.forms = forms
        self._table = PiecewiseTable(
            _COLUMNS, folded=("in", "time", "group", "event", "of", "what")
        )
        self.flush = self._table.flush

    def add(self, event: Event) -> None:
        """Add an event."""
        change = event.change
        self._table.add(
            (
                _log(event),
                event.offset,
                format_time(event.timestamp),
                event.group,
                change.what.value,
                self._subject(change),
                self._what(change),
            )
        )

    def _subject(self, change: Change) -> str | None:
        if change.partition is not None:
            topic = self.forms.topic(change.topic, change.topic_id)
            return f"{topic['topic'] or topic['topicId']}-{change.partition}"
        return change.member or change.regex

    def _what(self, change: Change) -> str | None:
        """What is new, and what was before where that says more."""
        if change.what is What.GROUP_DELETED:
            return None
        before, after = (
            None if part is None else self._text(part, change.what)
            for part in (change.before, change.after)
        )
        if change.after is None:
            return None if before is None else f"was {before}"
        return after if not before or before == after else f"{after} (was {before})"

    def _text(self, part: Part, what: What) -> str | None:
        match part:
            case CommittedOffset():
                return str(part.offset)
            case Classic():
                return f"{part.generation} {part.protocol or ''}".rstrip()
            case Epochs():
                number = part.assignment_epoch if what is What.ASSIGNMENT_EPOCH else part.epoch
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

    def _member(self, member: Member, what: What) -> str | None:
        if what in _ASSIGNED:
            current = member.current
            part = member.target if what is What.TARGET_CHANGED else None
            if what is What.ASSIGNMENT_CHANGED and current is not None:
                part = current.assigned
            text = None if part is None else self.forms.assignment_text(part) or "nothing"
            if (
                what is What.ASSIGNMENT_CHANGED
                and current is not None
                and current.epoch is not None
            ):
                return f"{text}, epoch {current.epoch}"
            return text
        info = member.info
        if info is None:
            return None
        wants = subscription_text(info)
        return client_text(info) + (f" for {wants}" if wants else "")

    def _share_topics(self, topics: ShareTopics) -> str:
        parts = {
            "initializing": topics.initializing,
            "initialized": topics.initialized,
            "deleting": topics.deleting,
        }
        texts = [
            f"{name} {self.forms.assignment_text(part)}" for name, part in parts.items() if part
        ]
        return "; ".join(texts) or "none"


def _share_state(part: SharePartition) -> str:
    texts = [] if part.start_offset is None else [f"start offset {part.start_offset}"]
    texts += [batches_text(part.batches)] if part.batches else []
    return "; ".join(texts) or "not started"


def _log(event: Event) -> str:
    """The partition that an event stands in, by its directory's name."""
    number = "?" if event.log_partition is None else event.log_partition
    return f"{event.topic}-{number}"
