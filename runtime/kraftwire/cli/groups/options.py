"""What the commands of `groups` share: options, replay, groups that are not there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from difflib import get_close_matches
from typing import Any, TypeVar

import click

from kraftwire.console.failures import CouldNotDoIt
from kraftwire.console.findings import Findings
from kraftwire.console.progress import progress
from kraftwire.groups.changes import Event
from kraftwire.groups.reading import GroupLogs, Problem
from kraftwire.groups.replay import Groups

F = TypeVar("F", bound=Callable[..., Any])


def group_option(command: F) -> F:
    """The option `--group`, which can be given several times; the parameter is `wanted`."""
    return click.option(
        "--group", "wanted", multiple=True, metavar="NAME", help="Only this group; repeatable."
    )(command)


def replay(
    logs: GroupLogs,
    into: Groups,
    until: int | None,
    findings: Findings,
    label: str,
    *,
    prints: bool = False,
) -> Iterator[Event]:
    """Apply the logs to `into`; yields what happens, reports and counts what cannot be read.

    `label` and `prints` are for `progress`.
    """
    with progress(logs.size, label, prints=prints) as done:
        for item in logs.replay(into, until=until, done=done):
            if isinstance(item, Problem):
                findings.add(item)
            else:
                yield item


def check_found(wanted: Iterable[str], found: Collection[str], until: int | None = None) -> None:
    """Refuse names of groups that the logs do not have."""
    missing = [name for name in wanted if name not in found]
    if not missing:
        return
    near = get_close_matches(missing[0], found, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    when = " before that time" if until is not None else ""
    raise CouldNotDoIt(f"no group {', '.join(map(repr, missing))}{when}{hint}")
