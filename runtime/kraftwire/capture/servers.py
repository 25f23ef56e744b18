"""Client tasks, and an event loop in a thread, for the proxy and the replay server."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")

_TIMEOUT_S = 30.0


class ClientTasks:
    """The tasks that serve a server's clients, so that closing the server can end them all."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Register the current task, so that `end` cancels it."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            yield
        finally:
            self._tasks.discard(task)

    async def end(self) -> None:
        """Cancel all tasks and wait for them."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)  # let transports finish closing


class LoopThread:
    """An event loop in a thread, in which synchronous callers run a server."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)

    def start(self, first: Coroutine[Any, Any, T]) -> T:
        """Start the thread and run `first` in it; if that raises, the thread ends again."""
        self._thread.start()
        try:
            return self._run(first)
        except BaseException:
            self._stop()
            raise

    def end(self, last: Coroutine[Any, Any, None]) -> None:
        """Run `last`, then end the thread."""
        try:
            self._run(last)
        finally:
            self._stop()

    def _run(self, step: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(step, self._loop).result(_TIMEOUT_S)

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_TIMEOUT_S)
        self._loop.close()
