"""Replays the logs for the commands of `groups`, and checks that named groups exist."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from difflib import get_close_matches

import click

from kraftwire.console.failures import CouldNotDoIt
from kraftwire.console.findings import Findings
from kraftwire.console.progress import progress
from kraftwire.groups.changes import GroupEvent
from kraftwire.groups.logs import GroupLogs
from kraftwire.groups.replay import Groups
from kraftwire_wire.errors import KraftwireError

group_option = click.option(
    "--group", "names", multiple=True, metavar="NAME", help="Only this group; repeatable."
)


def replay(
    logs: GroupLogs,
    into: Groups,
    until: int | None,
    findings: Findings,
    label: str,
    *,
    prints: bool = False,
) -> Iterator[GroupEvent]:
    """Apply the logs to `into` and yield the events; add unreadable records to the findings.

    `label` and `prints` are for `progress`.
    """
    with progress(logs.size, label, prints=prints) as done:
        for item in logs.replay(into, until=until, done=done):
            if isinstance(item, KraftwireError):
                findings.add(item)
            else:
                yield item


def check_groups_exist(
    names: Iterable[str], found: Collection[str], until: int | None = None
) -> None:
    """Raise `CouldNotDoIt` for names of groups that are not in the logs."""
    missing = [name for name in names if name not in found]
    if not missing:
        return
    near = get_close_matches(missing[0], found, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    when = " before that time" if until is not None else ""
    raise CouldNotDoIt(f"no group {', '.join(map(repr, missing))}{when}{hint}")
