"""Progress bars on standard error, for work that takes more than a moment."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kraftwire.console.output import on_terminal

_LONG_WORK = 64 << 20
"""Bytes; with less, the work is done before anybody can read the bar."""


@contextmanager
def progress(total: int, label: str, *, prints: bool = False) -> Iterator[Callable[[int], None]]:
    """Show a bar while standard error is a terminal; yield a function that adds bytes done.

    `total` is in bytes. Commands that print meanwhile pass `prints`: a bar would break up their
    lines if standard output is a terminal too.
    """
    hidden = total < _LONG_WORK or (prints and on_terminal())
    if hidden or sys.stderr is None or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield lambda done: bar.advance(task, done)
