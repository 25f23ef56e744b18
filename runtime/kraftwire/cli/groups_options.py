"""What the commands of `groups` share: options, and the names of groups that are not there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from difflib import get_close_matches
from typing import Any, TypeVar

import click

from kraftwire.cli.failures import CouldNotDoIt

F = TypeVar("F", bound=Callable[..., Any])


def group_option(command: F) -> F:
    """The option `--group`, which can be given several times; the parameter is `wanted`."""
    return click.option(
        "--group", "wanted", multiple=True, metavar="NAME", help="Only this group; repeatable."
    )(command)


def check_found(wanted: Iterable[str], found: Collection[str], until: int | None = None) -> None:
    """Refuse names of groups that the logs do not have."""
    missing = [name for name in wanted if name not in found]
    if not missing:
        return
    near = get_close_matches(missing[0], found, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    when = " before that time" if until is not None else ""
    raise CouldNotDoIt(f"no group {', '.join(map(repr, missing))}{when}{hint}")
