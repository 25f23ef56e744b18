"""Stops commands at SIGINT and SIGTERM."""

from __future__ import annotations

import asyncio
import signal

from kraftwire.console.failures import EXIT_INTERRUPTED


def stop_event(*, force_on_second: bool = False) -> asyncio.Event:
    """Return an event that SIGINT and SIGTERM set, in the running loop.

    With `force_on_second`, a second signal ends the process immediately.
    """
    stopped = asyncio.Event()

    def stop() -> None:
        if force_on_second and stopped.is_set():
            raise SystemExit(EXIT_INTERRUPTED)
        stopped.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop)
    return stopped
